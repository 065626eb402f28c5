"""Files that git LFS keeps elsewhere: what a clone without them holds in their place is a pointer of three lines."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from trainwright.core.fingerprint import CodeState

ATTRIBUTES = ".gitattributes"
_SIGN = b"version https://git-lfs.github.com/spec/"
_FILTER = b"filter=lfs"
_LONGEST = 1024
"""Bytes of a pointer, as its specification says."""

_NAMED = 3


def find_pointers(top: Path, sizes: Mapping[str, int]) -> tuple[str, ...]:
    """Return the files that are only pointers, sorted; those that git LFS has filled are ordinary files.

    Nothing is read where no ``.gitattributes`` among the files speaks of git LFS.

    Args:
        top: of the code.
        sizes: relative path → bytes of each file.
    """
    rules = (path for path in sizes if path.rpartition("/")[2] == ATTRIBUTES)
    if not any(_FILTER in _head(top / path, -1) for path in rules):
        return ()
    small = (path for path, size in sizes.items() if len(_SIGN) < size < _LONGEST)
    return tuple(sorted(path for path in small if _head(top / path, len(_SIGN)) == _SIGN))


def lacks_of(code: CodeState) -> list[str]:
    """Return a sentence for each kind of thing that the captured code does not have."""
    return [lack for lack, _ in _lacks(code)]


def warnings_of(code: CodeState) -> list[str]:
    """Return what the captured code does not have, each with a remedy."""
    return [f"{lack}, and so the run has it{remedy}" for lack, remedy in _lacks(code)]


def _lacks(code: CodeState) -> Iterator[tuple[str, str]]:
    absent = [path for path, submodule in code.submodules.items() if submodule.absent]
    for paths, one, several, remedy in (
        (
            code.pointers,
            "is only a pointer of git LFS",
            "are only pointers of git LFS",
            "; bring the bytes: git lfs pull",
        ),
        (
            absent,
            "is a submodule that is not checked out",
            "are submodules that are not checked out",
            "; bring it: git submodule update --init",
        ),
        (code.dangling, "is a link that leads nowhere", "are links that lead nowhere", ""),
    ):
        if paths:
            yield f"{_some(paths)} {one if len(paths) == 1 else several}", remedy


def _some(paths: Iterable[str]) -> str:
    known = list(paths)
    return ", ".join(known[:_NAMED]) + (f" and {len(known) - _NAMED} more" if len(known) > _NAMED else "")


def _head(path: Path, length: int) -> bytes:
    """Return the first bytes of a file; none of one that cannot be read, which storing it will say."""
    try:
        with path.open("rb") as file:
            return file.read(length)
    except OSError:
        return b""
