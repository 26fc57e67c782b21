"""The simulator: a strict Messages API server on this machine, for the real SDK over real HTTP.

    with start() as simulator:
        client = anthropic.Anthropic(api_key="any", base_url=simulator.base_url)

A request passes through: a fault, if one is armed; its headers and its JSON; the rules; the
context edits that it asks for; the scenario; the prompt cache; and goes out as JSON or as a stream.
Nothing is kept of a conversation. No id is random and no message holds a time, so the same request
gets the same answer. Message batches are kept, and end on the simulator's clock.

Headers of a request: ``agentlab-scenario`` plays that scenario, ``agentlab-speed`` paces the stream
(tokens a second). Headers of an answer: ``agentlab-simulator`` always, ``agentlab-rule`` when a
rule was broken (see `rules`).
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType

import uvicorn
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from agentlab.clock import Clock, RealClock, VirtualClock
from agentlab.simulator.batch_endpoints import BatchDesk
from agentlab.simulator.batches import Batches
from agentlab.simulator.endpoints import Core, Endpoint
from agentlab.simulator.faults import Fault, Faults, load_faults
from agentlab.simulator.log import Log
from agentlab.simulator.wire import MAX_BATCH_BYTES, TRANSPORT

START_TIMEOUT_S = 20.0
KEEP_ALIVE_S = 600  # learners think between two cells; the SDK keeps its connection
FaultSource = Faults | Iterable[Fault] | str | Path | None


class SimulatorApp(Starlette):
    """The ASGI application. ``core`` holds log, faults, clock and the switches."""

    def __init__(self, core: Core) -> None:
        self.core = core
        messages = Endpoint(core, core.create_message)
        count = Endpoint(core, core.count_tokens)
        listing = Endpoint(core, core.list_models)
        single = Endpoint(core, core.get_model)
        desk = BatchDesk(core)
        batches = "/v1/messages/batches"
        create = Endpoint(core, desk.create, MAX_BATCH_BYTES)
        super().__init__(
            routes=[
                Route("/v1/messages", messages, methods=["POST"]),
                Route("/v1/messages/count_tokens", count, methods=["POST"]),
                Route(batches, create, methods=["POST"]),
                Route(batches, Endpoint(core, desk.list_all), methods=["GET"]),
                Route(batches + "/{batch_id}", Endpoint(core, desk.retrieve), methods=["GET"]),
                Route(batches + "/{batch_id}", Endpoint(core, desk.delete), methods=["DELETE"]),
                Route(
                    batches + "/{batch_id}/cancel", Endpoint(core, desk.cancel), methods=["POST"]
                ),
                Route(
                    batches + "/{batch_id}/results", Endpoint(core, desk.results), methods=["GET"]
                ),
                Route("/v1/models", listing, methods=["GET"]),
                Route("/v1/models/{model_id}", single, methods=["GET"]),
            ],
            exception_handlers={404: core.not_found, 405: core.wrong_method},
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # uvicorn's send is a method of the object that holds the connection; what wraps send
        # further in hides it, and faults need it.
        scope[TRANSPORT] = getattr(getattr(send, "__self__", None), "transport", None)
        await super().__call__(scope, receive, send)


def make_app(
    *,
    validate: bool = True,
    faults: FaultSource = None,
    speed: float = 0.0,
    clock: Clock | None = None,
) -> SimulatorApp:
    """The application, for a server of your own. Arguments as for `start`; real time by default."""
    return SimulatorApp(Core(validate, _faults(faults), speed, clock or RealClock()))


class Simulator:
    """A running simulator. Close it with `close`, or use it in a ``with``."""

    def __init__(self, app: SimulatorApp, listener: socket.socket) -> None:
        self.app = app
        self.port: int = listener.getsockname()[1]
        self.base_url = f"http://127.0.0.1:{self.port}"
        config = uvicorn.Config(
            app,
            access_log=False,
            date_header=False,
            lifespan="off",
            log_level="critical",
            server_header=False,
            timeout_graceful_shutdown=1,
            timeout_keep_alive=KEEP_ALIVE_S,
            ws="none",
        )
        self._listener = listener
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._run, name="agentlab-simulator", daemon=True)
        self._started = threading.Event()
        self._thread.start()
        self._wait_until_started()

    def __repr__(self) -> str:
        return f"<simulator at {self.base_url}, {len(self.log)} requests>"

    def __enter__(self) -> Simulator:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def log(self) -> Log:
        """What came in and what went out."""
        return self.app.core.log

    @property
    def faults(self) -> Faults:
        """What goes wrong on purpose."""
        return self.app.core.faults

    @property
    def batches(self) -> Batches:
        """The message batches; its ``seconds`` say how long the next ones take."""
        return self.app.core.batches

    @property
    def clock(self) -> Clock:
        """The time by which cached prompts grow old and batches end."""
        return self.app.core.clock

    @property
    def running(self) -> bool:
        """Whether the server still answers."""
        return self._thread.is_alive()

    def close(self) -> None:
        """Stop the server; open streams end after a second. Safe to call twice."""
        self._server.should_exit = True
        self._thread.join(timeout=5)
        self._listener.close()

    def _run(self) -> None:
        self._server.run(sockets=[self._listener])

    def _wait_until_started(self) -> None:
        waited = 0.0
        while not self._server.started:
            if not self._thread.is_alive() or waited > START_TIMEOUT_S:
                self._listener.close()
                raise RuntimeError(f"the simulator did not start on port {self.port}")
            self._thread.join(timeout=0.005)
            waited += 0.005


def start(
    port: int = 0,
    *,
    validate: bool = True,
    faults: FaultSource = None,
    speed: float = 0.0,
    clock: Clock | None = None,
) -> Simulator:
    """Start a simulator in a thread of its own, on 127.0.0.1.

    Args:
        port: 0 takes a free one. Raises OSError if the port is in use.
        validate: whether requests are checked; if not, nearly anything gets an answer.
        faults: what goes wrong: faults, or a file of them (see `load_faults`).
        speed: tokens a second at which streams are really paced; 0 sends them at once.
        clock: the time for cache and batches; by default one that only moves when told to.
    """
    app = SimulatorApp(Core(validate, _faults(faults), speed, clock or VirtualClock()))
    # With the protocol named, asyncio switches Nagle's algorithm off; without, answers take 40 ms.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name != "nt":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
    except OSError:
        listener.close()
        raise
    return Simulator(app, listener)


_lock = threading.Lock()
_shared: tuple[int, Simulator] | None = None  # with the process that it runs in


def shared() -> Simulator:
    """The simulator of this process, started when it is first asked for.

    Its speed is taken from the environment variable AGENTLAB_SPEED.
    """
    global _shared
    with _lock:
        if _shared is None or _shared[0] != os.getpid() or not _shared[1].running:
            speed = 0.0
            with contextlib.suppress(ValueError):
                speed = float(os.environ.get("AGENTLAB_SPEED") or 0)
            _shared = os.getpid(), start(speed=speed)
        return _shared[1]


def _faults(source: FaultSource) -> Faults:
    if isinstance(source, Faults):
        return source
    if isinstance(source, str | Path):
        return Faults(load_faults(source))
    return Faults(source or ())
