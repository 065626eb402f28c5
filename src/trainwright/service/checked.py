"""Remembers which pipeline files were found in order: to check one again takes as long as most steps to start."""

import contextlib
import os
import sys
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from trainwright.runtime import atomic
from trainwright.spec import kept
from trainwright.spec.document import Document

FOLDER = "checked"
"""In the state folder."""

MOST = 32
"""So many checked documents are remembered; the oldest goes."""

_RULES = "core", "spec"


def load(text: str, name: str, folder: Path | None) -> Document:
    """Return the pipeline in ``text``.

    Args:
        text: of the file.
        name: of the file as the person typed it.
        folder: where checked documents are remembered; None = nowhere. Whatever is wrong with it is passed over.

    Raises:
        SpecError: see ``spec.load``.
    """
    if folder is None:
        return _check(text, name)
    place = folder / f"{_key(text, name)}.json"
    with contextlib.suppress(OSError, ValueError):
        found = kept.from_text(place.read_text(encoding="utf-8"))
        if found is not None:
            return found
    document = _check(text, name)
    with contextlib.suppress(OSError, ValueError):
        _remember(place, kept.to_text(document))
    return document


def _check(text: str, name: str) -> Document:
    from trainwright.spec import load  # noqa: PLC0415 - YAML and pydantic are what this saves

    return load.load(text, name)


def _key(text: str, name: str) -> str:
    """Return what tells a file, under the rules in force, from all others."""
    hasher = sha256("\0".join((name, sys.version, *_rules())).encode())
    hasher.update(text.encode("utf-8", "surrogatepass"))
    return hasher.hexdigest()[:32]


def _rules() -> Iterator[str]:
    """Yield what changes whenever our rules do, or a package that they are written with."""
    root = os.path.dirname(os.path.dirname(__file__))  # noqa: PTH120 - forty files, of each run
    for part in _RULES:
        with os.scandir(f"{root}/{part}") as listed:
            found = [(entry.name, entry.stat()) for entry in listed if entry.name.endswith(".py")]
        yield from (f"{name} {facts.st_size} {facts.st_mtime_ns}" for name, facts in sorted(found))
    for folder in sys.path:
        with contextlib.suppress(OSError):
            yield f"{folder} {os.stat(folder).st_mtime_ns}"  # noqa: PTH116 - as above


def _remember(place: Path, text: str) -> None:
    if not text:
        return
    place.parent.mkdir(exist_ok=True)
    known = sorted((p.stat().st_mtime_ns, p) for p in place.parent.glob("*.json"))
    for _, oldest in known[: max(0, len(known) + 1 - MOST)]:
        oldest.unlink(missing_ok=True)
    atomic.create(str(place), text.encode("utf-8"), durable=False)
