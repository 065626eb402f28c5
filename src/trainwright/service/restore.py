"""A run in a folder: its code, its data, what to install, and its records, so that it can be made again elsewhere."""

import shutil
from pathlib import Path

from trainwright.core.errors import BackendError, ConflictError
from trainwright.core.ids import Digest
from trainwright.service.context import Context
from trainwright.service.originals import CODE, DATA, RECORD, record_text
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
        data = {entry.name: _lay_out(context, entry.content.digest, draft, entry.name) for entry in original.plan.data}
        files = tuple(path for path, _, _ in context.content.entries(original.fingerprint.code.tree))
        (draft / RECORD).write_text(record_text(original, data, files), encoding="utf-8")
        (draft / "requirements.txt").write_text(requirements(original.fingerprint.environment), encoding="utf-8")
        (draft / "README.md").write_text(readme(found, data), encoding="utf-8")
        draft.rename(target.absolute())
    except OSError as error:
        remedy = "free space, or name another folder"
        raise BackendError("TW2110", f"{target} cannot be written: {error.strerror}", remedy=remedy) from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return target / CODE / original.fingerprint.code.folder


def _lay_out(context: Context, digest: Digest, draft: Path, name: str) -> str:
    """Write pinned data to ``data/name``; return the path of the file or folder, whose name belongs to a file."""
    (draft / DATA).mkdir(exist_ok=True)
    written = context.content.export(digest, draft / DATA / name)
    if written.is_dir():
        return f"{DATA}/{name}"
    beside = written.rename(draft / f".{name}")
    written.mkdir()
    file = context.content.entries(digest)[0][0]
    beside.rename(written / file)
    return f"{DATA}/{name}/{file}"
