"""The command line: ``agentlab lab | demo | run | range | ratchet | serve | replay | doctor``.

Every command loads what it needs when it runs, so that ``agentlab --help`` is quick. Bad input gets
one line that says what to do. Exit codes: 0 fine, 1 the run failed or was stopped, 2 bad usage.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from contextlib import aclosing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

if TYPE_CHECKING:
    from agentlab.agent import Agent

READING_SPEED = 120.0  # tokens per second

app = typer.Typer(
    help="Learn how an agent harness works by building one. Everything runs offline.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """The entry point: no traceback for an error that a user can mend."""
    try:
        app(prog_name="agentlab")
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        fail(f"{where}{error.strerror or error}")
    except Exception as error:
        if not type(error).__module__.startswith("agentlab."):
            raise
        fail(str(error))  # errors that agentlab defines are written for the reader


def fail(message: str, code: int = 2) -> NoReturn:
    """Print one line to standard error and stop."""
    typer.echo(f"agentlab: {message}", err=True)
    sys.exit(code)


def _version(wanted: bool) -> None:
    if wanted:
        from agentlab import __version__

        typer.echo(f"agentlab {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


@app.command()
def lab(
    folder: Annotated[
        Path | None,
        typer.Argument(metavar="DIR", help="The working copy [default: ./agentlab-course]."),
    ] = None,
    reset: Annotated[
        str | None,
        typer.Option(metavar="NN", help="Restore chapter NN; yours is kept under a new name."),
    ] = None,
    in_place: Annotated[
        bool, typer.Option("--in-place", help="Edit the checkout's own notebooks (maintainers).")
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Execute chapter 00 without a browser, then stop.")
    ] = False,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Print the address, open nothing.")
    ] = False,
    port: Annotated[
        int | None, typer.Option(min=1, max=65535, help="The port to listen on.")
    ] = None,
) -> None:
    """Open the course in JupyterLab, on chapter 00.

    You work in a copy, made on the first run. Later runs add chapters that are new and never
    write over yours.

    \b
    Examples:
      agentlab lab                     work in ./agentlab-course
      agentlab lab ~/course            work in another folder
      agentlab lab --reset 02          get a fresh chapter 02, keep yours beside it
      agentlab lab --check             does chapter 00 run on this machine?
    """
    from agentlab import lab as course

    if port is not None:
        course.require_free(port)
    if check:
        if folder or reset or in_place or no_browser or port:
            fail("--check runs alone, on a temporary copy: leave DIR and the other options out.")
        raise typer.Exit(0 if course.check(typer.echo) else 1)
    if in_place:
        if folder or reset:
            fail("--in-place edits the checkout itself: leave DIR and --reset out.")
        return _open(course.checkout_notebooks(), port, no_browser)
    folder = folder or course.FOLDER
    if reset is not None:
        chapter, backup = course.reset(folder, reset)
        kept = f" Your version: {backup.name}" if backup else ""
        typer.echo(f"{chapter} is as it came.{kept}")
        typer.echo("If it is open in JupyterLab: File > Reload Notebook from Disk.")
        return None
    copied = course.prepare(folder)
    if copied.added:
        typer.echo(f"Added to {folder}: {', '.join(copied.added)}")
    if copied.kept:
        typer.echo(f"Kept as you left them: {', '.join(copied.kept)} (--reset NN restores one)")
    return _open(folder, port, no_browser)


def _open(folder: Path, port: int | None, no_browser: bool) -> None:
    from agentlab import lab as course

    typer.echo(f"JupyterLab starts in {folder}. Ctrl-C in this window stops it.")
    course.serve(folder, port=port, browser=not no_browser)
    typer.echo(f"Stopped. Your work is in {folder}")


@app.command()
def demo(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Leave out for the list.")
    ] = None,
    speed: Annotated[
        float | None,
        typer.Option(min=0, help="Tokens per second; 0: at once [default: 120 in a terminal]."),
    ] = None,
) -> None:
    """Play one component in the terminal, with the simulated model.

    \b
    Examples:
      agentlab demo                    the list
      agentlab demo loop               play one
      agentlab demo loop --speed 40    slower
    """
    from agentlab import demos
    from agentlab.providers import connect

    if name is None:
        for title, chapter, about in demos.listed():
            typer.echo(f"{title:<10}  chapter {chapter}  {about}")
        typer.echo("Play one: agentlab demo NAME")
        return
    chosen = demos.find(name)
    endpoint = connect("simulator", speed=_speed(speed))
    typer.echo(f"{name}: {chosen.about}")
    with chosen.folder() as folder:
        agent = chosen.agent(endpoint, folder)
        try:
            finished = all([asyncio.run(_play(agent, task)) for task in chosen.tasks])
        except KeyboardInterrupt:
            fail("stopped.", 1)
    raise typer.Exit(0 if finished else 1)


@app.command()
def run(
    task: Annotated[
        str | None, typer.Argument(metavar="TASK", help="What to do, in quotes.")
    ] = None,
    workspace: Annotated[
        Path, typer.Option(metavar="DIR", help="The folder that the agent works in.")
    ] = Path(),
    scenario: Annotated[
        str | None, typer.Option(metavar="NAME", help="Let the simulated model play this scenario.")
    ] = None,
    endpoint: Annotated[
        str | None, typer.Option(help="simulator, anthropic, or a URL [default: simulator].")
    ] = None,
    model: Annotated[str | None, typer.Option(help="The model's name.")] = None,
    budget: Annotated[
        float | None, typer.Option(metavar="DOLLARS", help="Stop there [default: 0.50].")
    ] = None,
    max_turns: Annotated[int, typer.Option(min=1, help="Turns at most.")] = 25,
    resume: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Go on with the run of a transcript.")
    ] = None,
    autopilot: Annotated[
        bool, typer.Option("--autopilot", help="Go on until the model says the task is complete.")
    ] = False,
    mode: Annotated[
        str | None,
        typer.Option(help="default, accept_edits, plan (changes nothing) or bypass."),
    ] = None,
    trust: Annotated[
        bool, typer.Option("--trust", help="Use what the folder's own settings allow, and hooks.")
    ] = False,
) -> None:
    """Give an agent a task in a folder. You are asked before it changes or runs anything.

    What needs no question, or is never allowed, stands in the folder's .agentlab/settings.json and
    in yours (~/.agentlab/settings.json); where nobody can be asked, the answer is no.

    Every event is written to a transcript in ./agentlab-runs (if that cannot be written: in the
    folder for application data). Nothing is spent unless you ask for the endpoint anthropic.

    \b
    Examples:
      agentlab run "What is 17 * 23?"
      agentlab run "List the files here" --workspace notes
      agentlab run "What would you change?" --mode plan
      agentlab run --resume agentlab-runs/2026-11-30T09-17-00.jsonl "And the second one?"
      agentlab run "Summarise notes.md" --endpoint anthropic --budget 0.10
      agentlab run "Hello" --endpoint http://localhost:11434 --model qwen3
    """
    from agentlab import runs
    from agentlab.providers import connect

    if not (task or "").strip() and resume is None:
        fail('say what to do: agentlab run "TASK"')
    if budget is not None and budget <= 0:
        fail("a budget is a positive number of dollars: --budget 0.10")
    if not workspace.is_dir():
        fail(f"there is no folder {workspace}. Name one that exists: --workspace DIR")
    speed = _speed(None)
    chosen = connect(endpoint, model=model, budget_usd=budget, speed=speed, scenario=scenario)
    if mode is not None and mode not in runs.MODES:
        fail(f"there is no mode {mode!r}; there are: {', '.join(runs.MODES)}")
    agent, path = runs.agent(
        chosen, workspace, resume=resume, max_turns=max_turns, autopilot=autopilot, model=model,
        mode=mode, trust=trust,
    )  # fmt: skip
    try:
        finished = asyncio.run(_play(agent, task or runs.GO_ON))
    except KeyboardInterrupt:
        finished = False
        typer.echo("Stopped.", err=True)
    typer.echo(f"Transcript: {path}", err=True)
    if not finished:
        typer.echo(f"To go on: agentlab run --resume {path}", err=True)
    raise typer.Exit(0 if finished else 1)


async def _play(agent: Agent, task: str) -> bool:
    from agentlab.views.terminal import play

    async with aclosing(agent.run(task)) as events:
        return bool((await play(events)).ok)


def _speed(given: float | None) -> float | None:
    """A pace that can be read along with, where somebody reads along."""
    if given is None and "AGENTLAB_SPEED" not in os.environ and sys.stdout.isatty():
        return READING_SPEED
    return given


@app.command("range")
def attack_range(
    kind: Annotated[
        list[str] | None, typer.Option(metavar="KIND", help="Only this kind; may be repeated.")
    ] = None,
    file: Annotated[
        str | None,
        typer.Option(metavar="FILE:FUNCTION", help="Your matcher [default: what ships]."),
    ] = None,
) -> None:
    """Score a permission check on the attack range: what it misses, where it cries wolf.

    A matcher is a function: matcher(command, rules), asked about shell commands, or
    matcher(tool, input, rules), asked about everything. It answers "allow", "ask" or "deny".
    The exit code is 0 if everything critical was stopped, else 1.

    \b
    Examples:
      agentlab range                            the permissions that ship
      agentlab range --kind chain --kind path   only these kinds
      agentlab range --file my_matcher.py:decide
    """
    from rich.console import Console

    from agentlab.range_ import from_file, load, packaged
    from agentlab.range_.terminal import run, show

    kinds = kind or None
    load(kinds)
    matcher = packaged if file is None else from_file(file)
    console = Console(highlight=False)
    try:
        scored = run(matcher, kinds, console)
    except KeyboardInterrupt:
        fail("stopped.", 1)
    show(scored, console)
    raise typer.Exit(1 if scored.critical else 0)


@app.command()
def ratchet(
    workspace: Annotated[
        Path, typer.Argument(metavar="DIR", help="The project, with its hooks and failures.")
    ] = Path(),
) -> None:
    """Make the failures of a project again, with each hook off, and name hooks that catch nothing.

    The log is .agentlab/failures.jsonl. Only Write and Edit are really run, in throw-away copies;
    the hooks run for real. Exit code 1: a failure would happen again.

    \b
    Examples:
      agentlab ratchet
      agentlab ratchet ~/project
    """
    from agentlab.ratchet import replay as replay_failures

    if not workspace.is_dir():
        fail(f"there is no folder {workspace}")
    try:
        replayed = asyncio.run(replay_failures(workspace))
    except ValueError as error:
        fail(str(error))
    typer.echo(str(replayed))
    raise typer.Exit(1 if replayed.missed else 0)


@app.command()
def serve(
    port: Annotated[int, typer.Option(min=1, max=65535, help="The port to listen on.")] = 8765,
    no_validate: Annotated[
        bool, typer.Option("--no-validate", help="Take requests that the real API would refuse.")
    ] = False,
    faults: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Faults to inject, as JSON.")
    ] = None,
    speed: Annotated[
        float, typer.Option(min=0, help="Tokens per second of a stream; 0: as fast as it can.")
    ] = 0.0,
) -> None:
    """Run the simulator alone, for any client of the Messages API.

    \b
    Examples:
      agentlab serve
      agentlab serve --port 9000 --speed 80
      agentlab serve --faults faults.json

    faults.json, for instance: [{"kind": "status", "status": 529, "calls": [1, 2]}]
    """
    from agentlab import lab as course
    from agentlab import simulator
    from agentlab.clock import RealClock
    from agentlab.simulator.faults import load_faults

    course.require_free(port)
    played = load_faults(faults) if faults else None
    server = simulator.start(
        port, validate=not no_validate, faults=played, speed=speed, clock=RealClock()
    )
    with server:
        typer.echo(f"A simulated model answers at {server.base_url} (Ctrl-C stops it).")
        typer.echo("Point any client of the Messages API there, for example:")
        typer.echo(f"  export ANTHROPIC_BASE_URL={server.base_url} ANTHROPIC_API_KEY=simulated")
        with suppress(KeyboardInterrupt):
            while True:
                time.sleep(3600)
    typer.echo("Stopped.")


@app.command()
def replay(file: Annotated[Path, typer.Argument(metavar="FILE", help="A transcript.")]) -> None:
    """Show a transcript, turn by turn.

    A last line that was torn by a crash is skipped and reported.

    \b
    Example:
      agentlab replay agentlab-runs/2026-11-30T09-17-00.jsonl
    """
    from agentlab.transcript import load
    from agentlab.views import terminal

    loaded = load(file)
    for warning in loaded.warnings:
        typer.echo(f"agentlab: {warning}", err=True)
    terminal.replay(loaded.events)


@app.command()
def doctor() -> None:
    """Look whether everything works here, and say how to mend what does not.

    \b
    Example:
      agentlab doctor
    """
    from agentlab.doctor import examine

    failed = 0
    for finding in examine():
        typer.echo(f"{finding.status:<4}  {finding.subject:<10}  {finding.found}")
        if finding.mend:
            typer.echo(f"      to mend: {finding.mend}")
        failed += finding.status == "fail"
    typer.echo(f"{failed} to mend." if failed else "Everything that the course needs works.")
    raise typer.Exit(1 if failed else 0)
