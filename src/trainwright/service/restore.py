"""A run in a folder: its code, its data, what to install, and its records, so that it can be made again elsewhere."""

import shutil
from pathlib import Path

from trainwright.core.errors import BackendError, ConflictError
from trainwright.core.ids import Digest
from trainwright.service.context import Context
from trainwright.service.originals import CODE, DATA, LOCKS, RECORD, record_text
from trainwright.service.readme import readme, requirements
from trainwright.service.reproduce import Reproduction


def restore(context: Context, found: Reproduction, target: Path) -> Path:
    """Write the code and data of a run into a new folder, whole or not at all; starts nothing.

    Args:
        context: of the project.
        found: a run of which nothing is lost.
        target: does not exist yet, or is an empty folder.

    Returns:
        The folder in which its pipeline file is.

    Raises:
        ConflictError: there is something at ``target``.
        NotFoundError: something that the run needs is gone.
        BackendError: it cannot be written.
    """
    original = found.original
    found.prepared(context)  # refuses what is lost
    if target.is_symlink() or target.is_file() or (target.is_dir() and any(target.iterdir())):
        remedy = "name a folder that does not exist, or an empty one"
        raise ConflictError("TW5201", f"{target} exists already", why="restoring never overwrites", remedy=remedy)
    draft = target.absolute().with_name(f".{target.absolute().name}.{context.ids.new()}.part")
    try:
        draft.mkdir(parents=True)
        context.content.export(original.fingerprint.code.tree, draft / CODE)
        pinned = {entry.name: entry.content.digest for entry in original.plan.data}
        data = {name: _lay_out(context, digest, draft, f"{DATA}/{name}") for name, digest in pinned.items()}
        known = original.fingerprint.environment.locks
        kept = {name: lock.lock for name, lock in known.items() if lock.lock is not None}
        locks = {name: _lay_out(context, digest, draft, f"{LOCKS}/{name}") for name, digest in kept.items()}
        files = tuple(path for path, _, _ in context.content.entries(original.fingerprint.code.tree))
        (draft / RECORD).write_text(record_text(original, data, locks, files), encoding="utf-8")
        (draft / "requirements.txt").write_text(requirements(original.fingerprint.environment), encoding="utf-8")
        (draft / "README.md").write_text(readme(found, data), encoding="utf-8")
        draft.rename(target.absolute())
    except OSError as error:
        remedy = "free space, or name another folder"
        raise BackendError("TW2110", f"{target} cannot be written: {error.strerror}", remedy=remedy) from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return target / CODE / original.fingerprint.code.folder


def _lay_out(context: Context, digest: Digest, draft: Path, place: str) -> str:
    """Write stored content below ``place``; return the path of the file or folder: the name of a file is part of it."""
    (draft / place).parent.mkdir(exist_ok=True)
    written = context.content.export(digest, draft / place)
    if written.is_dir():
        return place
    beside = written.rename(draft / ".beside")
    written.mkdir()
    file = context.content.entries(digest)[0][0]
    beside.rename(written / file)
    return f"{place}/{file}"
