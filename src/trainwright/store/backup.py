"""A copy of the database while others write to it, and how to go back to one."""

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from trainwright.core.errors import BackendError, ConflictError
from trainwright.store.database import connect


def back_up(path: Path, target: Path) -> int:
    """Write a consistent copy of the database at ``path`` to the new file ``target``; return its bytes.

    Whole or not at all; readers and writers go on meanwhile.

    Raises:
        ConflictError: ``target`` exists.
        BackendError: it cannot be written, or the database cannot be read.
    """
    if os.path.lexists(target):
        raise ConflictError("TW5201", f"{target} exists already", remedy="name a file that does not exist")
    draft = target.with_name(f".{target.name}.part")
    try:
        draft.unlink(missing_ok=True)
        with closing(connect(path)) as source, closing(connect(draft)) as copy:
            source.backup(copy)
            copy.execute("PRAGMA journal_mode = DELETE")  # one file that needs no other
        with draft.open("rb") as file:
            os.fsync(file.fileno())
        draft.rename(target)
        return target.stat().st_size
    except (OSError, sqlite3.Error) as error:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
        raise BackendError(
            "TW6206",
            f"the database cannot be backed up: {error}",
            where=str(target),
            remedy="check free space and permissions of that folder; a damaged database: tw doctor",
        ) from error


def how_to_restore(path: Path) -> str:
    """Return what to type to go back to the newest backup beside the database at ``path``."""
    kept = sorted(path.parent.glob(f"{path.stem}.before-*.db"), key=lambda p: p.stat().st_mtime)
    source = str(kept[-1]) if kept else "BACKUP"
    where = "" if kept else "there is no backup beside it; with one of tw doctor --backup: "
    return (
        f"{where}end every tw, keep the damaged file (mv {path} {path}.damaged), then:"
        f" rm -f {path}-wal {path}-shm; cp {source} {path}"
    )
