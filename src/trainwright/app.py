"""The composition root: the clock, identifiers, randomness, plugins and the database come together here only."""

import contextlib
import fcntl
import gc
import logging
import os
import secrets
import stat
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from trainwright.core.cache import CacheMode
from trainwright.core.errors import BackendError, ConflictError, NotFoundError
from trainwright.core.ids import Digest, ProjectName
from trainwright.core.scalar import Plain
from trainwright.plugins.backends.local.backend import LocalBackend
from trainwright.plugins.backends.local.inventory import Inventory, choose
from trainwright.plugins.backends.local.settings import LocalSettings
from trainwright.plugins.installed import InstalledSources
from trainwright.plugins.stores.local import LocalContent
from trainwright.runtime import identity
from trainwright.service.context import Context
from trainwright.service.values import read_value
from trainwright.settings import Settings, read_settings
from trainwright.store import runs
from trainwright.store.database import Database
from trainwright.store.migrate import open_database
from trainwright.store.sources import Sources

if TYPE_CHECKING:
    from trainwright.core.node import Node
    from trainwright.engine.engine import Engine
    from trainwright.engine.forecast import Foresight
    from trainwright.engine.memory import Memory
    from trainwright.ports.release import ReleasePlugin
    from trainwright.service.exporting import Outgoing
    from trainwright.service.submit import Prepared

_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"

LOG_FILE = "engine.log"
"""In the state folder: what engines note, and what a background engine prints."""

RELEASE_PATIENCE_S = 10.0
"""How long a release waits for another one to the same target."""


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """Return the present instant in UTC."""
        return datetime.now(UTC)

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)


class RandomIds:
    """Identifiers that nobody can guess and nobody meets twice: 36^10 of them."""

    def new(self) -> str:
        """Return ten random lower-case letters and digits."""
        return "".join(secrets.choice(_LETTERS) for _ in range(10))


@dataclass(frozen=True)  # without slots: what is asked for seldom is made when it is
class App:
    """One process's view of one project."""

    settings: Settings
    context: Context
    database: Database
    inventory: Inventory | None = None  # pretended nodes; None = the real machine
    elsewhere: str = ""  # what the project's unfinished work is on, when this process asked for something else

    @cached_property
    def memory(self) -> "Memory":
        """Return the step cache of the project, as this process uses it."""
        from trainwright.engine.memory import Memory

        return Memory(self.database, self.context.content, self.context.sources_of_code, self.context.project)

    def foresee(self, prepared: "Prepared", cache: CacheMode) -> dict[str, "Foresight"]:
        """Return what each step of a run would do, were it submitted now: run, or be answered from memory.

        Raises:
            SpecError: the code tree is too large or not readable as a whole.
            BackendError: the code cannot be stored, or the database cannot be used.
        """
        from trainwright.core.job import CodeTree
        from trainwright.engine.forecast import Forecast
        from trainwright.engine.memory import Ground
        from trainwright.plan.cachekey import environment_parts
        from trainwright.service.submit import draft_run, take_fingerprint

        context = self.context
        fingerprint = take_fingerprint(context, prepared)
        code = CodeTree(fingerprint.code.tree, fingerprint.code.folder)
        ground = Ground(prepared.plan, code, environment_parts(fingerprint.environment))
        view = draft_run(context, prepared, fingerprint, cache)
        forecast = Forecast(self.database, self.memory, self._read_value, context.project)
        return forecast.foresee(ground, view, context.clock.now())

    @cached_property
    def outgoing(self) -> "tuple[Outgoing, ...]":
        """Return what sends events to each configured destination; raises SpecError when one is no target."""
        if not self.settings.exports:
            return ()
        from trainwright.service.exporting import open_way  # 30 ms that nobody pays who sends nothing

        return tuple(open_way(self.context, destination) for destination in self.settings.exports)

    def _read_value(self, digest: Digest) -> Plain:
        return read_value(self.context.content, digest)

    def engine(self) -> "Engine":
        """Return an engine that this process hosts; from here on garbage is collected again, but not what is there."""
        from trainwright.engine.engine import Engine, World  # commands that only read need none
        from trainwright.lifecycle.turn import Chance

        if self.settings.exports:
            start_exporting(self)
        gc.freeze()
        gc.enable()
        world = World(
            database=self.database,
            backend=self.context.backend,
            clock=self.context.clock,
            read_value=self._read_value,
            chance=lambda: Chance(secrets.randbelow(1000) / 1000, lambda: secrets.token_hex(16)),
            project=self.context.project,
            owner=identity.of_process(os.getpid()),
            owner_is_gone=identity.is_gone,
            memory=self.memory,
        )
        return Engine(world)


def open_app(here: Path | None = None, environ: Mapping[str, str] | None = None) -> App:
    """Open the project that belongs to the working directory; creates its state folder on first use.

    Raises:
        BackendError: the state folder cannot be used.
    """
    here = here or Path.cwd()
    environ = dict(os.environ) if environ is None else environ
    settings = read_settings(environ, here)
    _make_home(settings.home)
    _log_to(settings.home / LOG_FILE)
    clock = SystemClock()
    project = ProjectName(settings.project)
    database = open_database(settings.home / "state.db", project, clock.now())
    content_root = settings.home / "content"
    inventory, elsewhere = choose(
        settings.home / f"inventory-{quote(settings.project, safe='')}.json",
        settings.inventory,
        lambda: _is_busy(database, project),
        _read_inventory,
    )
    content = LocalContent(content_root, settings.copy_limit, strict=settings.strict)
    context = Context(
        database=database,
        content=content,
        backend=LocalBackend(
            LocalSettings(
                root=settings.home / "runs",
                content_root=content_root,
                python=sys.executable,
                path=(str(Path(sys.executable).parent),),
                inventory=inventory,
                sockets=_private(settings.sockets),
                ledger=settings.ledger,
                home=settings.home,
                project=settings.project,
                warm=settings.warm,
                environments=settings.environments,
                strict=settings.strict,
            )
        ),
        clock=clock,
        ids=RandomIds(),
        project=project,
        actor=settings.actor,
        sources=InstalledSources(),
        environ=environ,
        here=here,
        sources_of_code=Sources(database, content, clock),
        home=settings.home,
        environments=settings.environments,
        warm=settings.warm,
    )
    return App(settings, context, database, inventory, elsewhere)


def _is_busy(database: Database, project: ProjectName) -> bool:
    with database.reading() as rows:
        return bool(runs.unfinished(rows, project))


def _read_inventory(text: str, file: str) -> "tuple[Node, ...]":
    from trainwright.plugins.backends.local import machine
    from trainwright.spec.inventory import load  # 100 ms that nobody pays who pretends nothing, or what is known

    return load(text, file, machine.node())


def nodes_of(app: App, inventory: str = "") -> "tuple[Node, ...]":
    """Return the nodes that the project runs on, or those that a file pretends; nothing runs on these.

    Raises:
        NotFoundError: there is no such file.
        SpecError: it is no inventory.
    """
    if not inventory:
        return app.context.backend.nodes()
    try:
        text = (app.context.here / inventory).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise NotFoundError("TW4004", f"there is no file {inventory}") from None
    return _read_inventory(text, inventory)


def only_engine(app: App, patience_s: float = 0.0) -> contextlib.AbstractContextManager[bool]:
    """Hold the place of the project's background engine; gives False when another process has it.

    Args:
        app: of the project.
        patience_s: how long to wait for the place: the engine that has it may be just about to leave, having seen
            everything but what was submitted this moment.
    """
    return _only(app.settings.home / "engine.lock", patience_s)


def only_watcher(app: App, patience_s: float = 0.0) -> contextlib.AbstractContextManager[bool]:
    """Hold the place of who watches over the project's triggers; gives False when another process has it."""
    return _only(app.settings.home / f"watch-{quote(app.settings.project, safe='')}.lock", patience_s)


@contextlib.contextmanager
def only_releaser(app: App, target: str) -> Iterator[None]:
    """Hold a release target, so that a release which is under way there is nobody's but ours.

    Raises:
        ConflictError: another process has had it for longer than ``RELEASE_PATIENCE_S``.
    """
    path = app.settings.home / f"release-{quote(f'{app.settings.project}-{target}', safe='')}.lock"
    with _only(path, RELEASE_PATIENCE_S) as ours:
        if not ours:
            remedy = f"wait for it, then repeat; see: tw release ls {target}"
            raise ConflictError("TW5701", f"another process releases to {target}", remedy=remedy)
        yield


def release_plugins() -> "Mapping[str, ReleasePlugin]":
    """Return every installed release plugin by its type."""
    from importlib.metadata import entry_points

    return {point.name: point.load()() for point in entry_points(group="trainwright.releases")}


@contextlib.contextmanager
def _only(path: Path, patience_s: float) -> Iterator[bool]:
    with path.open("w") as lock:
        deadline = time.monotonic() + patience_s
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    yield False
                    return
                time.sleep(0.05)
            else:
                yield True
                return


def only_exporter(app: App, patience_s: float = 0.0) -> contextlib.AbstractContextManager[bool]:
    """Hold the place of who sends the project's events to other systems; gives False when another process has it."""
    return _only(app.settings.home / f"export-{quote(app.settings.project, safe='')}.lock", patience_s)


@contextlib.contextmanager
def session(inventory: str = "") -> Iterator[App]:
    """Open the project of the working directory; afterwards see to it that what is unfinished, or unsent, goes on.

    Args:
        inventory: file of pretended nodes; empty = as TW_INVENTORY says.
    """
    app = open_app(environ={**os.environ, "TW_INVENTORY": inventory} if inventory else None)
    try:
        for outgoing in app.outgoing:
            outgoing.begin()
        yield app
        ensure_engine(app)
        if any(outgoing.backlog() and not outgoing.pause_s() for outgoing in app.outgoing):
            start_exporting(app)
    finally:
        app.database.close()


def ensure_engine(app: App) -> None:
    """Start a background engine when there is unfinished work that no living engine holds."""
    with app.database.reading() as rows:
        heads = runs.unfinished(rows, app.context.project)
    now = app.context.clock.now()
    if any(not _is_held(head, now) for head in heads):
        with only_engine(app) as nobody_there:
            pass
        if nobody_there:
            start_background_engine(app)


def _is_held(head: runs.Head, now: datetime) -> bool:
    owner, until = head.lease_owner, head.lease_expires_at
    return owner is not None and until is not None and until > now and not identity.is_gone(owner)


def start_background_engine(app: App) -> int:
    """Start an engine of this project that goes on until nothing is left to do; return its pid."""
    return _start_in_background(app, "engine")


def start_exporting(app: App) -> None:
    """Start a process that sends events to other systems until nothing is left to tell, unless there is one."""
    with only_exporter(app) as nobody_there:
        pass
    if nobody_there:
        _start_in_background(app, "exporter")


def _start_in_background(app: App, command: str) -> int:
    log = app.settings.home / LOG_FILE
    places = {f"TW_{d.exporter.upper()}": d.target for d in app.settings.exports}  # as they hold in any folder
    places |= {"TW_HOME": str(app.settings.home), "TW_PROJECT": app.settings.project}
    environ = {k: v for k, v in app.context.environ.items() if k != "TW_INVENTORY"}  # it is in the state folder
    with log.open("ab") as output:
        process = subprocess.Popen(  # noqa: S603 - our own command
            [sys.executable, "-m", "trainwright.cli.main", command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd=app.settings.home,
            env={**environ, **places},
            start_new_session=True,
        )
    return process.pid


def _private(folder: Path) -> Path | None:
    """Return the folder when it is ours alone, made when absent; None when it is not: then nothing listens there."""
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        facts = folder.lstat()
        if stat.S_ISDIR(facts.st_mode) and facts.st_uid == os.getuid() and not facts.st_mode & 0o077:
            return folder
    return None


def _log_to(path: Path) -> None:
    """Send what engines note to a file: a terminal is for the person's own business, and a full disk breaks nothing."""
    logger = logging.getLogger("trainwright")
    logging.raiseExceptions = False
    for old in logger.handlers[:]:
        logger.removeHandler(old)
        old.close()
    handler = logging.FileHandler(path, encoding="utf-8", delay=True)
    handler.setFormatter(logging.Formatter("%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s"))
    logger.addHandler(handler)
    logger.setLevel(logging.WARNING)


def _make_home(home: Path) -> None:
    try:
        home.mkdir(parents=True, exist_ok=True)
        ignore = home / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n", encoding="utf-8")
    except OSError as error:
        raise BackendError(
            "TW6205",
            f"the state folder cannot be made: {error.strerror}",
            where=str(home),
            remedy="set TW_HOME to a folder that you may write",
        ) from error
