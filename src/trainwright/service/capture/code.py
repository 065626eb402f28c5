"""Capture the code that runs: the files as they are now, whatever was committed."""

import os
import stat
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from trainwright.core.errors import SpecError
from trainwright.core.fingerprint import CodeState
from trainwright.ports.content import ContentStore
from trainwright.service.capture.folder import read_folder
from trainwright.service.capture.links import follow_links
from trainwright.service.capture.omissions import (
    IGNORE_FILE,
    own_state,
    read_rules,
    without_clutter,
    without_ignored,
)
from trainwright.service.capture.pointers import find_pointers
from trainwright.service.capture.repository import Listing, find_top, read_repository


@dataclass(frozen=True, slots=True)
class SizeLimit:
    """How much code may travel with a run.

    Attributes:
        size_bytes: 200 MB hold any source tree; beyond it there is data among the code.
        files: as many as are hashed in about a second.
    """

    size_bytes: int = 200_000_000
    files: int = 20_000


_DEFAULT_LIMIT = SizeLimit()


def capture_code(
    folder: Path, content: ContentStore, environ: Mapping[str, str], *, limit: SizeLimit = _DEFAULT_LIMIT
) -> CodeState:
    """Store the code around a pipeline and say what it is; blocks for the reading of every file.

    Inside a git work tree that is the tree from its top, submodules included: tracked files as they are on disk and
    untracked ones that are not ignored. Elsewhere, and where there is no git program, it is ``folder``. What never
    travels is said in ``omissions``.

    Args:
        folder: of the pipeline file.
        content: keeps the tree.
        environ: of the caller; git is found by its ``PATH``, ``GIT_…`` is ignored.
        limit: refuses trees beyond it before anything is stored.

    Raises:
        SpecError: TW2201 too large; TW2202 a link leads elsewhere; TW2203 something is not readable; TW2204 git cannot
            read the repository; TW2205 a name is not UTF-8; TW2206 a line of a ``.twignore`` is no pattern.
        BackendError: as ``ContentStore.put_files``.
    """
    folder = folder.resolve()
    top, listing = _list(folder, environ, limit)
    sizes, dangling = _measure(top, sorted({*listing.tracked, *listing.untracked}))
    _check_size(top, sizes, limit)
    tree = content.put_files(top, tuple(sorted(sizes))).digest
    return CodeState(
        tree=tree,
        folder=folder.relative_to(top).as_posix(),
        commit=listing.commit,
        branch=listing.branch,
        dirty=bool(listing.modified),
        modified=tuple(sorted(listing.modified)),
        untracked=tuple(path for path in sorted(listing.untracked) if path in sizes),
        submodules=listing.submodules,
        shallow=listing.shallow,
        pointers=find_pointers(top, sizes),
        dangling=dangling,
    )


def _list(folder: Path, environ: Mapping[str, str], limit: SizeLimit) -> tuple[Path, Listing]:
    top = find_top(folder)
    listing = read_repository(top, environ) if top else None
    if top and listing:
        listing = _reduce(top, listing)
        inside = folder.relative_to(top).as_posix() + "/"
        # A folder that the repository ignores is not part of it, and without it nothing would run.
        if folder == top or any(path.startswith(inside) for path in (*listing.tracked, *listing.untracked)):
            return top, listing
    return folder, Listing(tracked=read_folder(folder, limit.files))


def _reduce(top: Path, listing: Listing) -> Listing:
    tracked, untracked = own_state(listing.tracked), without_clutter(listing.untracked)
    present = sorted(
        (path for path in (*tracked, *untracked) if _is_ignore_file(path)), key=lambda p: (p.count("/"), p)
    )
    rules = tuple(rule for path in present if (top / path).is_file() for rule in read_rules(top, path))
    return replace(
        listing,
        tracked=without_ignored(rules, tracked),
        untracked=without_ignored(rules, untracked),
        modified=own_state(listing.modified),
    )


def _is_ignore_file(path: str) -> bool:
    return path.rpartition("/")[2] == IGNORE_FILE


def _measure(top: Path, paths: list[str]) -> tuple[dict[str, int], tuple[str, ...]]:
    """Return bytes of each file that is there now, and links that lead nowhere.

    Tracked files may be gone, or be folders by now.
    """
    sizes = {}
    links = []
    for path in paths:
        try:
            found = os.lstat(f"{top}/{path}")
        except (FileNotFoundError, NotADirectoryError):
            continue
        if stat.S_ISREG(found.st_mode):
            _check_name(path)
            sizes[path] = found.st_size
        elif stat.S_ISLNK(found.st_mode):
            _check_name(path)
            links.append(path)
    return follow_links(top, sizes, tuple(links)) if links else (sizes, ())


def _check_name(path: str) -> None:
    try:
        path.encode()
    except UnicodeEncodeError as error:
        name = os.fsencode(path).decode(errors="replace")
        remedy = "rename it, or list its folder in .twignore"
        raise SpecError("TW2205", f"the name of {name!r} is not valid UTF-8", remedy=remedy) from error


def _check_size(top: Path, sizes: Mapping[str, int], limit: SizeLimit) -> None:
    total = sum(sizes.values())
    if total <= limit.size_bytes and len(sizes) <= limit.files:
        return
    if total > limit.size_bytes:
        largest = sorted(sizes, key=lambda path: (-sizes[path], path))[:3]
        culprits = ", ".join(f"{path} ({_megabytes(sizes[path])})" for path in largest)
        message = (
            f"the code in {top} is {_megabytes(total)}, more than {_megabytes(limit.size_bytes)}; largest: {culprits}"
        )
    else:
        folders = Counter(path.rpartition("/")[0] or "." for path in sizes)
        largest = sorted(folders, key=lambda folder: (-folders[folder], folder))[:3]
        culprits = ", ".join(f"{folder}/ ({folders[folder]:,} files)" for folder in largest)
        message = f"the code in {top} has more than {limit.files:,} files; fullest folders: {culprits}"
    raise SpecError(
        "TW2201",
        message,
        where=str(top),
        why="a copy of the code is kept for every run that differs; data is kept once, as a dataset",
        remedy="list them in .twignore (or .gitignore when git does not track them), or declare them under `data:`",
        details={"size_bytes": total, "files": len(sizes)},
    )


def _megabytes(size_bytes: int) -> str:
    return f"{size_bytes / 1e6:,.1f} MB"
