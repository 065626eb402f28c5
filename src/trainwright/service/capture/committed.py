"""The code as it was committed: what git would check out, whatever the files on disk are by now."""

import subprocess
import tarfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from trainwright.core.errors import SpecError
from trainwright.core.fingerprint import CodeState
from trainwright.ports.content import ContentStore
from trainwright.service.capture.code import capture_code
from trainwright.service.capture.repository import find_top

_GIT = ("git", "-c", "safe.directory=*", "-c", "core.fsmonitor=false")


def export_commit(
    folder: Path, content: ContentStore, environ: Mapping[str, str], target: Path
) -> tuple[Path, CodeState]:
    """Write the commit that is checked out around ``folder``; return the same folder in ``target``, and what it is.

    Submodules are not part of a commit and are left out.

    Raises:
        SpecError: there is no repository, no commit in it, or no git; or the code cannot be captured.
        BackendError: as ``ContentStore.put_files``.
    """
    folder = folder.resolve()
    top = find_top(folder)
    if top is None:
        raise SpecError("TW2207", f"{folder} is in no git repository", remedy="write --with-code WORKTREE")
    clean = {name: value for name, value in environ.items() if not name.startswith("GIT_")}
    commit = _ask(top, clean, "rev-parse", "HEAD").decode().strip()
    packed = target.with_suffix(".tar")
    packed.write_bytes(_ask(top, clean, "archive", "--format=tar", commit))
    with tarfile.open(packed) as archive:
        archive.extractall(target, filter="data")
    packed.unlink()
    inside = target / folder.relative_to(top)
    if not inside.is_dir():
        raise SpecError("TW2207", f"{folder} is not in the commit {commit[:12]}", remedy="commit it first")
    state = capture_code(target, content, clean)
    return inside, replace(state, folder=folder.relative_to(top).as_posix(), commit=commit, untracked=())


def _ask(top: Path, environ: Mapping[str, str], *arguments: str) -> bytes:
    try:
        done = subprocess.run(  # noqa: S603 - our own arguments
            (*_GIT, "-C", str(top), *arguments), env=dict(environ), capture_output=True, check=False
        )
    except OSError as error:
        raise SpecError("TW2204", f"git cannot be run: {error.strerror}", remedy="install git") from error
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        remedy = "commit first, or write --with-code WORKTREE"
        raise SpecError("TW2207", f"git cannot give the commit: {said[-1] if said else '?'}", remedy=remedy)
    return done.stdout
