"""What blobs looked like when their bytes were last hashed, so that bytes nobody touched are not read again.

``verified/ab/<sha256 of a manifest>`` holds one JSON line a blob: sha256, size, mtime, ctime and inode, and the instant
at which they were read, in ns. A stamp counts only when the ctime was older by then than the clock of the file system
is coarse: every later edit, also one that keeps the size and restores the mtime, has another ctime.
"""

from __future__ import annotations

import os
import time

from trainwright.runtime import atomic, blobs, plainjson

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    Stamp = tuple[int, int, int, int, int]  # size, mtime_ns, ctime_ns, inode, at_ns: when it was taken

TICK_NS = 20_000_000
"""Twice the coarsest clock of a kernel (100 Hz)."""


def take(path: str) -> Stamp | None:
    """Return what a file looks like now; None when there is no such file."""
    at_ns = time.time_ns()
    try:
        facts = os.stat(path, follow_symlinks=False)
    except OSError:
        return None
    return (facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns, facts.st_ino, at_ns)


def same(before: Stamp | None, now: Stamp | None) -> bool:
    """Tell whether nobody can have touched a file between two looks at it."""
    return before is not None and now is not None and before[:4] == now[:4] and before[2] + TICK_NS <= before[4]


def read(root: str, digits: str) -> dict[str, Stamp]:
    """Return sha256 → stamp of the blobs of a manifest; empty when none were kept, or they cannot be read."""
    try:
        with open(_file(root, digits), "rb") as file:
            lines = [plainjson.loads(line) for line in file.read().splitlines()]
        return {name: (size, mtime, ctime, inode, at) for name, size, mtime, ctime, inode, at in lines}
    except (OSError, ValueError, TypeError):
        return {}


def write(root: str, digits: str, stamps: Mapping[str, Stamp]) -> None:
    """Keep stamps; when that fails they are merely not kept, and the blobs are hashed the next time."""
    path = _file(root, digits)
    text = "".join(plainjson.dumps([name, *stamp]) + "\n" for name, stamp in sorted(stamps.items()))
    draft = os.path.join(root, "tmp", atomic.unique())
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        os.makedirs(os.path.dirname(draft), exist_ok=True)
        with open(draft, "wb") as file:
            file.write(text.encode())
        os.replace(draft, path)  # not synced: what is lost is made again
    except OSError:
        return


def note_written(root: str, digits: str, written: Mapping[str, tuple[int, int, int]]) -> None:
    """Keep the stamps of blobs that were just written, and so hashed: reading terabytes again proves no more.

    Args:
        root: of the store.
        digits: of the manifest that names them.
        written: sha256 → size, mtime in ns and inode, as they were after the last byte.
    """
    time.sleep(TICK_NS / 1e9)
    found: dict[str, Stamp] = {}
    for name, (size, mtime_ns, inode) in written.items():
        stamp = take(blobs.blob(root, name))
        if stamp is not None and (stamp[0], stamp[1], stamp[3]) == (size, mtime_ns, inode):
            found[name] = stamp
    write(root, digits, found)


def _file(root: str, digits: str) -> str:
    return os.path.join(root, "verified", digits[:2], digits)
