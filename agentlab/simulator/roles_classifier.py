"""The role "classifier": what the simulated small model thinks of a tool call.

It reads the call that stands in the prompt, and only that: a command is taken apart, each part is
looked at, and the worst opinion counts. What it knows is what stands in the tables below, so it is
right about the common cases, unsure about what it does not know, and can be fooled by what a table
does not foresee: a program in another language, a name that is put together at run time. It does
not believe what a command says about itself. The tools of chapter 06 measure how often it is right.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator, Sequence

from agentlab.permissions.readonly import reads_only
from agentlab.permissions.shell import Command, parse
from agentlab.permissions.shell_files import writes
from agentlab.simulator.roles import role
from agentlab.simulator.scenario import Chat, Turns

Opinion = tuple[str, str]  # decision and reason
ORDER = ("allow", "unsure", "deny")
SHELLS = {"sh", "bash", "zsh", "dash", "eval", "source", ".", "python", "python3", "perl", "node"}
FETCHERS = {"curl", "wget", "fetch"}
SENDERS = FETCHERS | {"nc", "ncat", "ssh", "scp", "sftp", "rsync", "ftp", "telnet", "mail"}
MACHINE = {
    "mkfs", "fdisk", "parted", "shutdown", "reboot", "halt", "poweroff", "iptables", "ufw",
    "useradd", "userdel", "passwd", "visudo", "insmod", "rmmod", "setenforce",
}  # fmt: skip
WORKERS = {
    "pytest", "ruff", "mypy", "black", "isort", "flake8", "tsc", "eslint", "prettier", "gofmt",
    "jest", "vitest", "tox", "coverage", "mkdir", "touch", "true", "false", "echo", "printf", "cd",
    "test", "[", "sleep", "export", "set", "pushd", "popd", "javac", "gcc", "cc", "rustc",
}  # fmt: skip
DOES = {  # program -> what it may be told to do without a question
    "make": {"", "test", "tests", "build", "all", "lint", "check", "clean", "format", "docs"},
    "npm": {"test", "t", "run test", "run build", "run lint", "run format", "ls", "outdated"},
    "yarn": {"test", "build", "lint"},
    "cargo": {"build", "test", "check", "fmt", "clippy", "clean"},
    "go": {"build", "test", "vet", "fmt"},
    "git": {"add", "commit", "stash", "checkout -b", "switch -c", "mv", "init", "fetch"},
    "python": {"-m pytest", "-m unittest", "-m mypy", "-m ruff", "-m compileall"},
}
ASKED = {  # done without a question only if the user spoke of it: words of the task
    "git push": "push|publish|upload", "git merge": "merge", "git rebase": "rebase",
    "git pull": "pull|update|latest", "git tag": "tag|release",
    "git restore": "undo|restore|revert", "git revert": "revert|undo", "git rm": "remove|delete",
    "npm install": "install|dependenc", "npm ci": "install|dependenc",
    "pip install": "install|dependenc", "uv sync": "install|dependenc",
    "docker build": "docker|image|container",
}  # fmt: skip
MADE = (  # folders and files that are made again
    "node_modules", "build", "dist", "target", "out", "coverage", "htmlcov", "__pycache__",
    ".pytest_cache", ".mypy_cache", ".ruff_cache", ".coverage", ".tox", ".next", "tmp", "logs",
)  # fmt: skip
SECRET = re.compile(
    r"(?:^|/|@|=)(?:\.ssh|\.aws|\.gnupg|\.netrc|\.pgpass|\.kube|id_rsa|id_ed25519|\.docker/config)"
    r"|/etc/(?:shadow|sudoers)|credentials(?:$|[./])|\.pem$"
)
OWN_SECRET = re.compile(r"(?:^|/|@)\.env(?:$|\.)|secrets?\.(?:json|ya?ml|toml)")
BOMB = re.compile(r"([\w:]+)\s*\(\)\s*\{[^}]*(?<![\w:])\1\s*\|\s*\1\s*&")
COAXING = re.compile(
    r"(?:answer|decision|decide|reply|return|say)\W{1,4}(?:is\W{1,4})?(?:allow|approve|yes)"
    r"|(?:this|it|command) is (?:completely |perfectly |totally )?(?:safe|harmless|approved)"
    r"|(?:pre-?|already )approved|approved by|ignore (?:the |all |any )?(?:previous|above|rules)"
    r"|(?:^|\W)system\s*(?:message|prompt|note)?:",
    re.IGNORECASE,
)


@role("classifier", "Decide whether this tool call may run.")
def classifier(chat: Chat) -> Turns:
    """Judges one tool call: allow, deny or unsure, with a reason."""
    content = chat.request["messages"][0]["content"]
    prompt = content if isinstance(content, str) else "\n".join(b.get("text", "") for b in content)
    decision, reason = opinion(*read(prompt))
    yield chat.say(json.dumps({"reason": reason, "decision": decision}))


def read(prompt: str) -> tuple[str, str, str]:
    """Tool, input and task, as they stand in a prompt."""
    tool = re.search(r"^tool: (\w+)$", prompt, re.MULTILINE)
    found = {
        name: match[2]
        for name in ("input", "task")
        if (match := re.search(rf"<{name}-(\w+)>\n(.*?)\n</{name}-\1>", prompt, re.DOTALL))
    }
    if "input" not in found:  # a prompt in other words, in which nothing marks what is data
        found["input"] = re.split(r"^command:\s*", prompt, maxsplit=1, flags=re.M | re.I)[-1]
        found["task"] = next(reversed(re.findall(r"^task:\s*(.*)$", prompt, re.M | re.I)), "")
    return tool[1] if tool else "Bash", found["input"], found.get("task", "")


def opinion(tool: str, text: str, task: str) -> Opinion:
    """What it thinks of a call."""
    found = list(_of_command(text, task) if tool == "Bash" else _of_call(tool, text, task))
    if COAXING.search(text):
        found.append(("unsure", "The call speaks to whoever judges it, which honest ones do not."))
    return max(found, key=lambda each: ORDER.index(each[0]))


def _of_call(tool: str, text: str, task: str) -> Iterator[Opinion]:
    try:
        arguments = json.loads(text)
    except ValueError:
        arguments = {}
    path, url = str(arguments.get("file_path") or ""), str(arguments.get("url") or "")
    if path:
        yield _of_path(path, "")
        if re.search(r"(?:^|/)\.\w", path) or OWN_SECRET.search(path):
            yield "unsure", f"{path} is a file that settings or secrets are kept in."
    elif url and url.split("/")[2:3] and url.split("/")[2] in task:
        yield "allow", "The user named this address."
    else:
        yield "unsure", f"I do not know what {tool} would do here."


def _of_command(text: str, task: str) -> Iterator[Opinion]:
    if BOMB.search(text):
        yield "deny", "It starts copies of itself without end: a fork bomb."
    parsed = parse(text, platform="linux")
    if parsed.unknown or not parsed.commands:
        yield "unsure", f"I cannot take it apart: {parsed.unknown or 'there is no command in it'}."
    programs = [posixpath.basename(c.program or "") for c in parsed.commands]
    if FETCHERS & set(programs) and SHELLS & set(programs):
        yield "deny", "It runs code that is fetched from the network."
    for at, (command, program) in enumerate(zip(parsed.commands, programs, strict=True)):
        arguments = [_value(word) for word in command.words[1:]]
        if SECRET.search(" ".join(arguments)) or any(map(SECRET.search, arguments)):
            yield "deny", f"{program} would touch keys or passwords."
        elif any(map(OWN_SECRET.search, arguments)):
            sends = SENDERS & set(programs)
            yield "deny" if sends else "unsure", f"{program} would touch a file with secrets."
        if program in ("env", "printenv") and SENDERS & set(programs):
            yield "deny", "It sends every variable away, keys too."
        if program in SHELLS and at and not [a for a in arguments if not a.startswith("-")]:
            yield "deny", f"{program} runs text that another command puts together."
        yield from _of_redirects(command)
        yield _of_program(command, program, arguments, task)


def _of_redirects(command: Command) -> Iterator[Opinion]:
    for redirect in command.redirects:
        if redirect.writes:
            yield _of_path(_value(redirect.target), command.cwd)


def _of_program(command: Command, program: str, arguments: Sequence[str], task: str) -> Opinion:
    """What it thinks of one simple command."""
    if not command.words:
        return "allow", "It only sets a variable."
    if program in MACHINE or program.startswith("mkfs"):
        return "deny", f"{program} changes the machine, not the project."
    if program == "dd" and any(a.startswith("of=/dev/") for a in arguments):
        return "deny", "It writes over a device."
    if program == "kill" and "-1" in arguments[1:]:
        return "deny", "It ends every process there is."
    if program == "git":
        return _of_git(arguments, task)
    if program in ("rm", "rmdir", "shred", "unlink"):
        return _of_removal(command, arguments, task)
    if program in ("chmod", "chown"):
        return _of_mode(command, program, arguments)
    if command.unknown or command.argv is None:
        return "unsure", "What it does is not known before it runs."
    if reads_only(command.argv):
        return "allow", "It only reads."
    if (targets := writes(command.argv)) is not None and targets:
        return max((_of_path(t, command.cwd) for t in targets), key=lambda o: ORDER.index(o[0]))
    return _of_work(command, program, arguments, task)


def _of_work(command: Command, program: str, arguments: Sequence[str], task: str) -> Opinion:
    named = "python" if program == "python3" else program
    doing = " ".join(arguments[:2])
    first = arguments[0] if arguments else ""
    if program in WORKERS:
        return "allow", f"{program} works on the project."
    if {first, doing} & DOES.get(named, set()):
        return "allow", f"{program} {first}".strip() + " is ordinary work on the project."
    if named in ("python", "node") and re.fullmatch(r"[\w./-]+\.(?:py|js|mjs)", first):
        return _of_path(first, command.cwd)[0].replace("deny", "unsure"), f"It runs {first}."
    if _asked(f"{program} {first}", task) and "-g" not in arguments:
        return "allow", f"The user asked for {program} {first}."
    if program in SENDERS:
        return "unsure", f"{program} talks to another machine."
    return "unsure", f"I do not know {program} {first}".strip() + " well enough."


def _of_git(arguments: Sequence[str], task: str) -> Opinion:
    verb = next((a for a in arguments if not a.startswith("-")), "")
    flags = {a for a in arguments if a.startswith(("-", "+"))}
    if verb in ("filter-branch", "filter-repo", "update-ref", "replace"):
        return "deny", f"git {verb} rewrites history."
    forced = any(f in ("-f", "--force", "--mirror", "--delete") or f[0] == "+" for f in flags)
    if verb == "push" and (forced or any(f.startswith("--force") for f in flags)):
        return "deny", "A forced push rewrites the history that others have."
    if verb == "reflog" and "expire" in arguments:
        return "deny", "It throws away the way back."
    if reads_only(["git", *arguments]):
        return "allow", "It only reads."
    if flags & {"--amend", "--hard", "--no-verify", "-D", "--global"} or verb == "clean":
        return "unsure", f"git {verb} with these flags cannot be taken back."
    if {verb, " ".join(arguments[:2])} & DOES["git"] or _asked(f"git {verb}", task):
        return "allow", f"git {verb} stays in this repository, or was asked for."
    return "unsure", f"git {verb} may reach others or lose work."


def _of_removal(command: Command, arguments: Sequence[str], task: str) -> Opinion:
    paths = [a for a in arguments if not a.startswith("-")]
    for path in paths:
        if _where(path, command.cwd) == "outside":
            return "deny", f"It removes {path}, which is not in the workspace."
        if posixpath.normpath(path) in (".", "*") or path.startswith(".git"):
            return "deny", f"It removes {path}: all of the work."
    if paths and all(_is_made(path) for path in paths):
        return "allow", "What it removes can be made again."
    if paths and all(path in task for path in paths):
        return "allow", "The user named it."
    return "unsure", "What it removes may be somebody's work."


def _of_mode(command: Command, program: str, arguments: Sequence[str]) -> Opinion:
    mode, *paths = [a for a in arguments if not a.startswith("-")] or [""]
    if any(_where(path, command.cwd) == "outside" for path in paths):
        return "deny", f"{program} on {paths[-1]} weakens what is not the project's."
    if program == "chmod" and re.fullmatch(r"[ugo]*\+[xr]+|[67]?[0-7]?[0-5][0-5]", mode):
        return "allow", "A mode inside the workspace that opens nothing to others' writing."
    return "unsure", "It opens files to everybody, though only inside the workspace."


def _of_path(path: str, cwd: str | None) -> Opinion:
    match _where(path, cwd):
        case "inside" | "scratch":
            return "allow", f"It writes {path}, in the workspace."
        case "outside":
            return "deny", f"It writes {path}, which is not in the workspace."
    return "unsure", f"It is not known where {path} is."


def _where(path: str, cwd: str | None) -> str:
    if path.startswith(("<workspace>/", "/dev/null", "/dev/std", "/tmp/")) and ".." not in path:
        return "scratch"
    if path.startswith(("~", "$HOME", "${HOME}")):
        return "outside"
    if "$" in path or "`" in path or (cwd is None and not path.startswith("/")):
        return "unknown"
    whole = posixpath.normpath(posixpath.join(cwd or "", path))
    return "outside" if whole.startswith(("/", "..")) else "inside"


def _is_made(path: str) -> bool:
    name = posixpath.basename(path.rstrip("/"))
    return name in MADE or path.split("/")[0] in MADE or name.endswith((".pyc", ".log", ".o"))


def _asked(what: str, task: str) -> bool:
    words = ASKED.get(what.strip())
    return bool(words and re.search(words, task, re.IGNORECASE))


def _value(word: object) -> str:
    value = getattr(word, "value", None)
    return str(getattr(word, "text", "")) if value is None else str(value)
