"""Three bugs to have on purpose: a harness that does not find them proves nothing.

``lease``: the guarded update of a run ignores whose it is. ``mark``: an act is marked done before it is done.
``publish``: what should be there whole or not at all is written in its place.
"""

import os
from datetime import datetime
from typing import Any

BUGS = {"lease": "freeze", "mark": "engine", "publish": "runner"}
"""Bug → the kind of rounds that must find it."""


def into_engine(bug: str) -> None:
    """Put a bug into this process, when it belongs into an engine."""
    if bug == "lease":
        _ignore_the_lease()
    if bug == "mark":
        _mark_first()


def into_runner(bug: str) -> None:
    """Put a bug into this process, when it belongs into a runner."""
    if bug == "publish":
        _publish_in_place()


def _ignore_the_lease() -> None:
    from trainwright.store.database import Rows

    write = Rows.write

    def unguarded(self: Rows, sql: str, values: Any) -> int:
        return write(self, sql.replace(" AND revision = :revision AND lease_owner = :owner", ""), values)

    Rows.write = unguarded  # type: ignore[method-assign]


def _mark_first() -> None:
    from trainwright.engine.engine import Engine
    from trainwright.store import journal

    perform = Engine._perform

    def marked_first(self: Engine, run_id: Any) -> None:
        held = self._held.get(run_id)
        now: datetime = self._world.clock.now()
        if held is not None and held.open:
            with self._world.database.writing() as rows:
                journal.mark_done(rows, [item.seq for item in held.open], now)
        perform(self, run_id)

    Engine._perform = marked_first  # type: ignore[method-assign]


def _publish_in_place() -> None:
    from trainwright.runtime import atomic, blobs, staging

    def in_place(path: str, data: bytes, flags: int) -> None:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | flags, 0o644)
        atomic.write_all(fd, data)
        os.close(fd)

    def replace(path: str, data: bytes) -> None:
        in_place(path, data, os.O_TRUNC)

    def create(path: str, data: bytes, *, durable: bool = True) -> bool:
        try:
            in_place(path, data, os.O_EXCL)
        except FileExistsError:
            return False
        return True

    def complete(draft: str, path: str, data: bytes) -> bool:
        return create(path, data)

    class Unstaged(staging.Staging):
        def _copy(self, fd: int, source: bytes, size: int) -> tuple[int, str]:
            from hashlib import sha256

            data = os.read(fd, blobs.CHUNK)
            digits = sha256(data).hexdigest()
            if not blobs.has(self._root, digits, len(data)):
                name = blobs.blob(self._root, digits)
                blobs.make_folders(name.rpartition("/")[0])
                in_place(name, data, os.O_TRUNC)
            return len(data), digits

    atomic.replace, atomic.create, atomic.complete = replace, create, complete
    staging.Staging = Unstaged  # type: ignore[misc]
