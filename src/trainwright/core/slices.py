"""A slice of a dataset: which of its files an address takes after ``#``. Pure.

``#split=train`` takes the files below folders called ``split=train``, as Hive and its followers write partitions. For
the key ``split``, a dataset without such folders is asked for a folder, or a file but for its endings, called ``train``
at its top. ``#path=images/**/*.png`` takes files by a pattern. Terms are joined by ``&``: all keys must hold, and a key
that is there twice takes both values. A slice has one text, whatever it was written as.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

PATH = "path"
"""The key of a pattern."""

SPLIT = "split"
"""The key that also knows folders and files at the top."""

_KEY = re.compile(r"[^\s/=&#*?\[\]]+")


@dataclass(frozen=True, slots=True)
class Slice:
    """What an address takes of a dataset.

    Attributes:
        terms: key and value, sorted, each once; never empty.
    """

    terms: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        """Return its one text, as it stands after ``#``."""
        return "&".join(f"{key}={value}" for key, value in self.terms)


def split(address: str) -> tuple[str, str]:
    """Return an address without its slice, and the text of the slice; empty without ``#``.

    Raises:
        ValueError: nothing stands after ``#``.
    """
    whole, mark, text = address.partition("#")
    if mark and not text:
        raise ValueError("nothing stands after #")
    return whole, text


def parse(text: str) -> Slice:
    """Return the slice behind ``KEY=VALUE[&KEY=VALUE]``.

    Raises:
        ValueError: it is not of that form.
    """
    return Slice(tuple(sorted({_term(part) for part in text.split("&")})))


def select(wanted: Slice, paths: Collection[str]) -> list[str]:
    """Return the paths that a slice takes, in their order."""
    by_key: dict[str, list[str]] = {}
    for key, value in wanted.terms:
        by_key.setdefault(key, []).append(value)
    left = list(paths)
    for key, values in by_key.items():
        at_top = key == SPLIT and not any(_values(SPLIT, paths))
        left = [path for path in left if any(_takes(key, value, path, at_top=at_top) for value in values)]
    return left


def choices(paths: Iterable[str]) -> tuple[str, ...]:
    """Return what a dataset with these files could be sliced by, sorted: ``split=train``, ``day=2026-05-03``."""
    found: set[str] = set()
    top: set[str] = set()
    for path in paths:
        found.update(name for name in path.split("/")[:-1] if _is_partition(name))
        top.add(_at_top(path))
    if not any(name.startswith(f"{SPLIT}=") for name in found):
        found.update(f"{SPLIT}={name}" for name in top if _KEY.fullmatch(name) and not _is_partition(name))
    return tuple(sorted(found))


def _term(part: str) -> tuple[str, str]:
    key, mark, value = part.partition("=")
    if not mark or not _KEY.fullmatch(key) or not value:
        raise ValueError(f"{part!r} is not KEY=VALUE")
    return key, _pattern(value) if key == PATH else value


def _pattern(text: str) -> str:
    """Return the one text of a pattern: a folder stands for all it holds."""
    names = [name for name in text.split("/") if name not in {"", "."}]
    while len(names) > 1 and names[-1] == "**":
        names.pop()
    if not names or ".." in names:
        raise ValueError(f"{text!r} is no pattern of files inside the dataset")
    return "/".join(names)


def _takes(key: str, value: str, path: str, *, at_top: bool) -> bool:
    if key == PATH:
        return _matches(path.split("/"), value.split("/"))
    if at_top:
        return _at_top(path) == value
    return f"{key}={value}" in path.split("/")[:-1]


def _at_top(path: str) -> str:
    """Return the first folder of a path, or the name of a file at the top up to its first dot."""
    first, slash, _ = path.partition("/")
    return first if slash else first.partition(".")[0]


def _is_partition(name: str) -> bool:
    key, mark, value = name.partition("=")
    return bool(mark and value and _KEY.fullmatch(key))


def _values(key: str, paths: Iterable[str]) -> Iterable[str]:
    start = f"{key}="
    return (name for path in paths for name in path.split("/")[:-1] if name.startswith(start))


def _matches(names: Sequence[str], pattern: Sequence[str]) -> bool:
    """Tell whether a pattern takes a path, or a folder that it is in; ``**`` stands for any folders, also none."""
    if not pattern:
        return True
    if pattern[0] == "**":
        return any(_matches(names[depth:], pattern[1:]) for depth in range(len(names) + 1))
    return bool(names) and fnmatchcase(names[0], pattern[0]) and _matches(names[1:], pattern[1:])
