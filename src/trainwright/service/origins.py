"""Where pinned data came from: looked at when a run is made again, and read when the store lacks the bytes."""

import hashlib
import os
from pathlib import Path

from trainwright.core.artifact import Content, PinnedData
from trainwright.core.errors import TrainwrightError
from trainwright.core.quantity import show_bytes
from trainwright.core.reproduction import Gap, Grade
from trainwright.service import fetching
from trainwright.service.context import Context
from trainwright.service.datasets import locate
from trainwright.store import datasets

_LARGEST_READ_BYTES = 64_000_000
"""Of an origin that is read only to tell whether it has changed: well under a second."""


def look_at(context: Context, data: PinnedData) -> tuple[Gap | None, bool]:
    """Return what is to be said of pinned data, and whether its very bytes can be had.

    Bytes that the store has lost are stored anew from their origin when that still holds the same.
    """
    origin = _origin(context, data)
    size = show_bytes(data.content.size_bytes)
    if context.content.verify(data.content.digest):
        changed = _change(context, origin, data)
        sentence = f"{data.name}: {origin} {changed}; the store has the {size} of the run"
        return (Gap("data", sentence, Grade.EXACT) if changed else None), True
    what = f"{data.name} ({data.address}, {size}, {data.content.digest[7:19]}): its bytes are gone from the store"
    if "#" in data.address:  # a part of a version, which its origin is not
        return Gap("data", what, Grade.BEST_EFFORT), False
    try:
        found = _read_again(context, origin)
    except TrainwrightError as error:
        return Gap("data", f"{what}, and from {origin}: {error.problem.message}", Grade.BEST_EFFORT), False
    if found.digest == data.content.digest:
        return Gap("data", f"{what}; {origin} still holds the same and was read again", Grade.EXACT), True
    sentence = f"{what}, and {origin} holds others by now ({show_bytes(found.size_bytes)}, {found.digest[7:19]})"
    return Gap("data", sentence, Grade.BEST_EFFORT), False


def _read_again(context: Context, origin: str) -> Content:
    return fetching.store(context.content, locate(context, origin, context.here), origin)[0]


def _origin(context: Context, data: PinnedData) -> str:
    """Return the URI or path behind pinned data: of a dataset, what its version was read from."""
    if not data.address.startswith("datasets/"):
        return data.address
    with context.database.reading() as rows:
        known = datasets.at(rows, context.project, data.address.partition("#")[0])
    return data.address if known is None else known.source


def _change(context: Context, origin: str, data: PinnedData) -> str:
    """Return what became of an origin on this machine's disk; empty when nothing is known to have changed.

    Only names and sizes are looked at, and the bytes of small files.
    """
    if "#" in data.address or origin.startswith("datasets/") or ("://" in origin and not origin.startswith("file:")):
        return ""  # a part of it, of another project, or not to be read only for this
    try:
        path = locate(context, origin, context.here)
        if not isinstance(path, Path):
            return ""  # a pattern, or somewhere else
        if path.is_dir():
            files = [Path(place, name) for place, _, names in os.walk(path) for name in names]
            same = len(files) == data.content.files and sum(f.stat().st_size for f in files) == data.content.size_bytes
        else:
            same = path.stat().st_size == data.content.size_bytes
            if same and data.content.size_bytes <= _LARGEST_READ_BYTES:
                known = [sha256 for _, _, sha256 in context.content.entries(data.content.digest)]
                same = known == [hashlib.sha256(path.read_bytes()).hexdigest()]
    except (OSError, TrainwrightError):
        return "is not there any more"
    return "" if same else "holds other bytes by now"
