"""What lies below a path: how much it is, and how it goes. Links are never followed."""

from __future__ import annotations

import os
import shutil

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


class Tally:
    """So many things of so many bytes together.

    Attributes:
        count: things.
        size_bytes: as their sizes say; a hole in a file counts.
    """

    __slots__ = ("count", "size_bytes")

    def __init__(self) -> None:
        self.count = 0
        self.size_bytes = 0

    def add(self, size_bytes: int) -> None:
        """Count one more."""
        self.count += 1
        self.size_bytes += size_bytes


def size_of(path: str) -> int:
    """Return the bytes of a file, or of all files below a folder; what is gone or not ours to read counts nothing."""
    if not _is_folder(path):
        return _size(path)
    return sum(_size(os.path.join(folder, name)) for folder, _, names in os.walk(path) for name in names)


def remove(path: str) -> bool:
    """Remove a file, a link, or a folder with everything in it, read-only folders too; tell whether it is gone."""
    if _is_folder(path):
        for folder in _folders(path):
            _open_up(folder)
        shutil.rmtree(path, ignore_errors=True)
    else:
        try:
            os.unlink(path)
        except OSError:
            return not os.path.lexists(path)
    return not os.path.lexists(path)


def names(folder: str) -> list[str]:
    """Return the names in a folder, sorted; none when there is no such folder."""
    try:
        return sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []


def changed_at(path: str) -> float:
    """Return the mtime in seconds since the epoch; infinite when nothing is there, so that it is never old."""
    try:
        return os.lstat(path).st_mtime
    except OSError:
        return float("inf")


def _folders(top: str) -> Iterator[str]:
    """Yield the folders from ``top`` on, each before its own are looked for."""
    todo = [top]
    while todo:
        folder = todo.pop()
        yield folder
        try:
            todo += [item.path for item in list(os.scandir(folder)) if item.is_dir(follow_symlinks=False)]
        except OSError:
            continue


def _size(path: str) -> int:
    try:
        return os.lstat(path).st_size
    except OSError:
        return 0


def _open_up(folder: str) -> None:
    try:
        os.chmod(folder, 0o700)
    except OSError:
        return


def _is_folder(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)
