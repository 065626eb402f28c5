"""Attempts as processes of this machine, each under a runner that outlives whoever started it.

All that is known of an attempt is in its folder ``<root>/<run>/<step>/<number>/``, so any process can ask: ``job.json``
is the order, ``runner.json`` says who carries it out, ``result.json`` is the end.
"""

import contextlib
import os
import signal
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import trainwright
from trainwright.core.codec import canonical_json
from trainwright.core.errors import BackendError, TransientBackendError
from trainwright.core.ids import AttemptId
from trainwright.core.job import JobSpec
from trainwright.core.node import Node
from trainwright.core.scalar import Plain
from trainwright.plugins.backends.local import machine, record
from trainwright.plugins.backends.local.apart import start_apart
from trainwright.plugins.backends.local.ledger import Lease, Ledger
from trainwright.plugins.backends.local.settings import LocalSettings
from trainwright.plugins.backends.local.warm import WarmStart
from trainwright.plugins.backends.local.watching import Watching
from trainwright.ports.backend import Backend, Ended, Observation, Running, SupportsFiles, SupportsPreemption
from trainwright.runtime import atomic, bundle, marks, supervisor, tree

_TRIES = 5
_IN_FLIGHT_S = 10.0
"""How long a runner may take to appear before it is started again."""

_COMING_UP_S = 0.2
"""How long after its start a supervisor may take to listen."""

_POLL_S = 0.02
_KILL_S = 1.0


class LocalBackend:
    """See ``ports.backend.Backend``."""

    name = "local"

    def __init__(self, settings: LocalSettings) -> None:
        """Prepare; nothing is read or written yet."""
        self._settings = settings
        self._root = settings.root.absolute()
        self._content_root = settings.content_root.absolute()
        books = settings.books()
        self._ledger = None if books is None else Ledger(books, str(self._root))
        self._bundle = self._library = ""
        self._node: Node | None = None
        self._launched_at = -_IN_FLIGHT_S
        self._identity = tree.identity(os.getpid())
        self._environment = {k: v for k, v in os.environb.items() if not k.startswith(b"TW_")}
        self._watching = Watching()
        self._folders: dict[AttemptId, Path] = {}
        self._began: dict[AttemptId, datetime] = {}
        self._children: dict[AttemptId, int] = {}  # runners this very process started, to be reaped
        self._warm = WarmStart(settings, self._environment, self._adopt)

    def folder(self, attempt: AttemptId) -> Path:
        """Return the folder of an attempt.

        Raises:
            BackendError: the name would lead out of the root.
        """
        known = self._folders.get(attempt)
        if known is not None:
            return known
        names = attempt.split("/")
        if len(names) != 3 or any(n.startswith(".") or not n or "\0" in n for n in names):  # noqa: PLR2004 - run/step/number
            raise BackendError("TW6302", f"{attempt!r} does not name an attempt", remedy="name it run/step/number")
        self._folders[attempt] = folder = self._root.joinpath(*names)
        return folder

    def nodes(self) -> tuple[Node, ...]:
        """See ``Backend.nodes``."""
        nodes = self._own_nodes()
        return nodes if self._ledger is None else self._ledger.without_others(nodes)

    def start(self, job: JobSpec) -> None:
        """See ``Backend.start``."""
        folder = str(self.folder(job.attempt))
        try:
            order = {
                "format": 1,
                "job": job,
                "store": str(self._content_root),
                "path": self._settings.path,
                "library": self._front(),
                "checkpoints": f"{os.path.dirname(folder)}/checkpoints",  # noqa: PTH120 - texts: a start for each step
                "engine": self._engine(),
                "environments": None if self._settings.environments is None else str(self._settings.environments),
                **({"strict": True} if self._settings.strict else {}),
                **({"pretended": True} if self._settings.inventory else {}),
            }
            make_folder(folder)
            self._take_room(job, folder)
            text = canonical_json(order).encode()
            if not atomic.write_new(f"{folder}/job.json", text) and not self._order(folder):
                atomic.replace(f"{folder}/job.json", text)  # a power cut took the bytes of the first
            is_taken = os.path.exists(f"{folder}/runner.json")  # noqa: PTH110 - as above
            if not is_taken and not self._start_warm(job, folder):
                self._spawn(job.attempt, folder)
        except OSError as error:
            raise BackendError(
                "TW6301",
                f"{job.attempt} cannot be started: {error.strerror}: {error.filename or folder}",
                remedy="check the disk, its permissions and the interpreter",
            ) from error

    def _engine(self) -> Mapping[str, object] | None:
        """Return how the runner calls an engine back to life, see ``runtime.revive``."""
        home = self._settings.home
        if home is None:
            return None
        return {
            "identity": self._identity,
            "argv": (self._settings.python, "-m", "trainwright.cli.main", "engine"),
            "env": self._settings.variables(),
            "lock": str(home / "engine.lock"),
            "log": str(home / "engine.log"),
        }

    def _own_nodes(self) -> tuple[Node, ...]:
        """Return the machine, or the nodes that are pretended, with nothing taken."""
        if self._settings.inventory is not None:
            return self._settings.inventory.nodes()
        if self._node is None:  # asking NVML takes as long as a scheduling round
            self._node = machine.node()
        return (self._node,)

    def _take_room(self, job: JobSpec, folder: str) -> None:
        """Enter the attempt in the machine's ledger.

        Raises:
            TransientBackendError: another project took the room since the scheduler looked.
        """
        if self._ledger is None or os.path.exists(f"{folder}/runner.json"):  # noqa: PTH110 - as in start
            return
        label = f"{job.pipeline}/{job.step} in {self._root.parent}"
        lease = Lease(str(self._root), folder, label, job.resources, job.devices, time.time(), job.places)
        in_the_way = self._ledger.take(lease, self._own_nodes())
        if in_the_way:
            raise TransientBackendError(
                "TW6305",
                f"{job.attempt} waits: its room was taken by {', '.join(in_the_way)}",
                remedy="it starts when they end",
            )

    def observe(self, attempt: AttemptId) -> Observation:
        """See ``Backend.observe``."""
        folder = self.folder(attempt)
        try:
            return self._observe(attempt, folder)
        except OSError as error:
            raise TransientBackendError(
                "TW6306",
                f"{attempt} cannot be looked after: {error.strerror}: {error.filename or folder}",
                remedy="make room on the disk or mend its permissions; it is looked at again by itself",
            ) from error

    def _observe(self, attempt: AttemptId, folder: Path) -> Observation:
        ended = record.result(folder, attempt)
        if ended is not None:
            self._watching.drop(attempt)
            self._reap()
            return ended
        if self._watching.is_running(attempt):
            return self._running(attempt, folder)
        if not (folder / "job.json").exists():
            return None
        runner = record.runner(folder)
        if runner is None:
            return self._await_runner(attempt, folder) if self._order(str(folder)) else None
        if tree.is_alive(runner):
            self._watch(attempt, runner)
            return self._running(attempt, folder)
        self._watching.drop(attempt)
        # between our two looks it may have written its result and left
        return record.result(folder, attempt) or self._give_up(attempt, folder, runner)

    def stop(self, attempt: AttemptId, why: str) -> None:
        """See ``Backend.stop``."""
        folder = self.folder(attempt)
        if (folder / "result.json").exists():
            return
        try:
            folder.mkdir(parents=True, exist_ok=True)
            atomic.create(str(folder / "stop"), why.encode())
        except OSError as error:
            raise BackendError(
                "TW6304", f"{attempt} cannot be told to stop: {error.strerror}: {folder}", remedy="check the disk"
            ) from error

    def preempt(self, attempt: AttemptId, why: str, grace_s: float) -> None:
        """See ``SupportsPreemption.preempt``."""
        folder = self.folder(attempt)
        if (folder / "result.json").exists():
            return
        try:
            folder.mkdir(parents=True, exist_ok=True)
            atomic.create(str(folder / marks.PREEMPT), atomic.encode({"why": why, "grace_s": grace_s}))
        except OSError as error:
            raise BackendError(
                "TW6307", f"{attempt} cannot be given notice: {error.strerror}: {folder}", remedy="check the disk"
            ) from error

    def wait(self, attempts: Sequence[AttemptId], seconds: float) -> None:
        """See ``Backend.wait``."""
        deadline = time.monotonic() + seconds
        while True:
            in_flight = [attempt for attempt in attempts if not self._is_watched(attempt)]
            left_s = max(deadline - time.monotonic(), 0.0)
            if any(os.path.exists(f"{self.folder(a)}/result.json") for a in in_flight):  # noqa: PTH110 - as in start
                return
            if self._watching.wait(attempts, min(left_s, _POLL_S) if in_flight else left_s) or left_s == 0.0:
                return

    def _is_watched(self, attempt: AttemptId) -> bool:
        """Tell whether the runner of an attempt is under watch, after looking for it."""
        if not self._watching.has(attempt):
            runner = record.runner(self.folder(attempt))
            if runner is not None and tree.is_alive(runner):
                self._watch(attempt, runner)
        return self._watching.has(attempt)

    def _running(self, attempt: AttemptId, folder: Path) -> Running:
        since = self._since(attempt, folder)
        saved_at = record.saved_at(folder)
        return Running(attempt, since, saved_at if saved_at is not None and saved_at >= since else None)

    def _watch(self, attempt: AttemptId, runner: Mapping[str, Plain]) -> None:
        self._watching.add(attempt, int(str(runner["pid"])), stays=bool(runner.get("stays")))

    def _since(self, attempt: AttemptId, folder: Path) -> datetime:
        """Return when the command of a running attempt began; looked up until it is known."""
        known = self._began.get(attempt)
        if known is None:
            known = record.started_at(folder)
            if (folder / "started.json").exists():
                self._began[attempt] = known
        return known

    def _start_warm(self, job: JobSpec, folder: str) -> bool:
        """Have a runner of the warm interpreter that the job asks for take it; tell whether one did."""
        connection = self._warm.runner(job, folder, self._front()) if job.warm else None
        if connection is not None:
            self._watching.adopt(job.attempt, connection)
        return connection is not None

    def _adopt(self, pid: int) -> None:
        """Reap a process of ours that serves others when it ends."""
        self._children[AttemptId(f"supervisor {pid}")] = pid

    def _spawn(self, attempt: AttemptId, folder: str) -> None:
        """Have a runner started, apart from this process: forked by the supervisor, or else a fresh interpreter."""
        library = self._build()
        socket = self._socket(library)
        connection = None if socket is None else self._ask(socket, folder)
        if connection is not None:
            self._watching.adopt(attempt, connection)
            return
        self._reap()
        self._children[attempt] = pid = self._detached([library, "run", folder], f"{folder}/runner.log")
        self._watching.add(attempt, pid)
        if socket is not None:
            self._launch(socket)

    def _ask(self, socket: str, folder: str) -> int | None:
        """Ask the supervisor for a runner; when it is just coming up, that is worth as long as a start without it."""
        connection = supervisor.request(socket, folder, self._environment)
        while connection is None and time.monotonic() - self._launched_at < _COMING_UP_S:
            time.sleep(_COMING_UP_S / 50)
            connection = supervisor.request(socket, folder, self._environment)
        return connection

    def warm_up(self) -> None:
        """Have a supervisor ready by the time of the first start; harmless when one serves already."""
        library = self._build()
        socket = self._socket(library)
        if socket is not None and not supervisor.is_listening(socket):
            self._launch(socket)

    def _launch(self, socket: str) -> None:
        """Start a supervisor, unless we just did; whoever comes second leaves at once."""
        now = time.monotonic()
        if now - self._launched_at < _IN_FLIGHT_S:
            return
        self._launched_at = now
        own = bundle.build(os.path.dirname(socket), trainwright.__version__)  # noqa: PTH120 - texts, as in start
        self._adopt(self._detached([own, "supervise", socket], f"{socket.removesuffix('.sock')}.log"))

    def _detached(self, words: list[str], log: str) -> int:
        """Start the runtime in a session of its own; return its pid."""
        argv = (self._settings.python, "-I", "-S", "-B", "-c", bundle.BEGIN, *words)
        return start_apart(argv, self._environment, log)

    def _socket(self, library: str) -> str | None:
        """Return where the supervisor of this version of the runtime listens."""
        sockets = self._settings.sockets
        return None if sockets is None else str(sockets / Path(library).with_suffix(".sock").name)

    def _build(self) -> str:
        """Return the bundle of the runtime; built once a version, looked up once a process."""
        if not self._bundle:
            self._bundle = bundle.build(str(self._root / ".runtime"), trainwright.__version__)
        return self._bundle

    def _front(self) -> str:
        """Return the folder that goes on the ``PYTHONPATH`` of commands; looked up once a process."""
        if not self._library:
            self._library = bundle.front(self._build(), trainwright.__version__)
        return self._library

    def _order(self, folder: str) -> dict[str, Plain]:
        """Return the order of an attempt; empty when a power cut took it."""
        return record.read(f"{folder}/job.json") or {}

    def _reap(self) -> None:
        """Collect runners of ours that have ended."""
        for attempt, pid in list(self._children.items()):
            try:
                gone, _ = os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                gone = pid
            if gone:
                self._children.pop(attempt, None)

    def _await_runner(self, attempt: AttemptId, folder: Path) -> Observation:
        """Deal with an order that nobody has taken yet: wait, start another runner, or give up for good.

        A first start leaves no note but the order itself; each later one adds to ``spawned``.
        """
        spawned = folder / "spawned"
        again = spawned.exists()
        tries = 1 + (spawned.stat().st_size if again else 0)
        since = (spawned if again else folder / "job.json").stat().st_mtime
        died = self._watching.has(attempt) and not self._watching.is_running(attempt)
        if died or time.time() - since > _IN_FLIGHT_S:
            self._watching.drop(attempt)
            if tries < _TRIES:
                atomic.append(str(spawned), b".")
                self._spawn(attempt, str(folder))
            elif atomic.create(str(folder / "runner.json"), atomic.encode({"pid": None})):
                return self._conclude(attempt, folder, "not-started", f"no runner came up; see {folder}/runner.log")
        return Running(attempt, record.started_at(folder))

    def _give_up(self, attempt: AttemptId, folder: Path, runner: Mapping[str, Plain]) -> Observation:
        """Declare an attempt lost whose runner died, once none of its processes is left."""
        mark = b"TW_ATTEMPT_DIR=" + os.fsencode(folder)
        deadline = time.monotonic() + _KILL_S
        while True:
            strays = list(tree.marked(mark))
            if not strays:
                break
            for pid in strays:
                tree.send(pid, signal.SIGKILL)
            if time.monotonic() > deadline:  # stuck in the kernel: not over yet
                return Running(attempt, record.started_at(folder))
            time.sleep(_POLL_S)
        return self._conclude(attempt, folder, "lost", f"its runner (pid {runner.get('pid')}) died without a result")

    def _conclude(self, attempt: AttemptId, folder: Path, cause: str, message: str) -> Ended | None:
        """Write a result in the place of the runner, unless it did; return what is written.

        None when the order is lost too: then nothing is known of the attempt any more.
        """
        facts = record.substitute(folder, cause, message, datetime.now(UTC))
        if facts is None:
            return None
        path = str(folder / "result.json")
        if not atomic.create(path, atomic.encode(facts)) and record.read(str(folder / "result.json")) is None:
            atomic.replace(path, atomic.encode(facts))  # of a dead runner, and broken: whoever comes first mends it
        return record.result(folder, attempt)


def make_folder(path: str) -> None:
    """Make a folder, and those above it; harmless to repeat. Most often only the one above is missing."""
    for place in (os.path.dirname(path), path):  # noqa: PTH120 - texts, as in start
        with contextlib.suppress(FileExistsError):
            try:
                os.mkdir(place)  # noqa: PTH102 - as above
            except FileNotFoundError:
                os.makedirs(place, exist_ok=True)  # noqa: PTH103 - as above


_: tuple[type[Backend], type[SupportsFiles], type[SupportsPreemption]] = (LocalBackend, LocalBackend, LocalBackend)
