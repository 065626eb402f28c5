"""What files looked like when they were last hashed, so that files nobody touched are not read again.

``index/<name>`` in the store remembers a path that was added; ``origins/ab/<sha256 of a manifest>`` says where content
that was added by reference can be read, in the same form: one JSON header, which holds the sha256 of all that follows,
then one JSON object, name → size, mtime, ctime, inode, mode and sha256. What cannot be read counts as absent.

As in git, a file whose times are not clearly older than the look at it is not remembered: it could be written to again
within the same tick of a clock.
"""

from __future__ import annotations

import os
from hashlib import sha256

from trainwright.runtime import atomic, manifest, plainjson

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from trainwright.runtime.manifest import Entry
    from trainwright.runtime.walk import Facts

    Row = tuple[str, Facts, str]  # name, facts, sha256

RACY_NS = 2_000_000_000
"""The coarsest times that file systems keep (FAT), and some room for clocks of servers that differ from ours."""

_FORMAT = 1


class Index:
    """What is remembered.

    Attributes:
        path: absolute, as it was asked for.
        kind: ``file`` or ``folder``.
        digest: of the manifest.
        rows: name → size, mtime_ns, ctime_ns, inode, mode, sha256; times of 0 for a file to be hashed again.
    """

    __slots__ = ("digest", "kind", "path", "rows")

    def __init__(self, path: str, kind: str, digest: str, rows: dict[str, list[Any]]) -> None:
        self.path = path
        self.kind = kind
        self.digest = digest
        self.rows = rows

    def knows(self, name: str, facts: Facts) -> str:
        """Return the sha256 of a file that looks as it did; else nothing."""
        row = self.rows.get(name)
        return str(row[5]) if row is not None and tuple(row[:5]) == facts else ""


def of_path(root: str, path: str) -> str:
    """Return the file that remembers this path."""
    return os.path.join(root, "index", sha256(os.fsencode(path)).hexdigest()[:32])


def of_origin(root: str, digest: str) -> str:
    """Return the file that says where this content can be read.

    Raises:
        ContentError: it is not a digest.
    """
    digits = manifest.hex_of(digest)
    return os.path.join(root, "origins", digits[:2], digits)


def read(file: str) -> Index | None:
    """Return what is remembered; None when nothing is, or it is damaged, or another version wrote it."""
    try:
        with open(file, "rb") as source:
            first, _, rest = source.read().partition(b"\n")
        header = plainjson.loads(first)
        if header["format"] != _FORMAT or header["sha256"] != sha256(rest).hexdigest():
            return None
        rows = plainjson.loads(rest)
        return Index(header["path"], header["kind"], header["digest"], rows)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def note_of(root: str, digest: str) -> Index | None:
    """Return the note of content by reference; None when all of it is in the store or nobody knows where it is."""
    note = read(of_origin(root, digest))
    return note if note is not None and note.digest == digest else None


def path_of(note: Index, entry: Entry) -> str:
    """Return where one file can be read."""
    return note.path if note.kind == "file" else os.path.join(note.path, entry.path)


def is_there(note: Index, entry: Entry) -> bool:
    """Tell whether a file with the right size is where it was."""
    try:
        return os.stat(os.fsencode(path_of(note, entry))).st_size == entry.size
    except OSError:
        return False


def originals(root: str) -> dict[str, tuple[str, Facts]]:
    """Return sha256 → path and facts of every file of content by reference; for a look at a few."""
    found: dict[str, tuple[str, Facts]] = {}
    top = os.path.join(root, "origins")
    for folder, _, names in os.walk(top):
        for note in filter(None, (read(os.path.join(folder, name)) for name in names)):
            for name, row in note.rows.items():
                path = note.path if note.kind == "file" else os.path.join(note.path, name)
                found[row[5]] = (path, (row[0], row[1], row[2], row[3], row[4]))
    return found


def digest_in(file: str) -> str:
    """Return the digest that a file of this form is about; empty when it cannot be read."""
    try:
        with open(file, "rb") as source:
            return str(plainjson.loads(source.readline())["digest"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def write(file: str, about: tuple[str, str, str], rows: Iterable[Row], at_ns: int, *, durable: bool) -> None:
    """Remember.

    Args:
        file: see ``of_path`` and ``of_origin``.
        about: path, kind, digest.
        rows: as each file was before and after it was read.
        at_ns: when the first of them was looked at, ns since the epoch.
        durable: whether losing it would be a loss.

    Raises:
        OSError: it cannot be written.
    """
    lines = []
    for name, facts, digits in rows:
        size, mtime, ctime, inode, mode = facts
        if max(mtime, ctime) + RACY_NS > at_ns:
            mtime = ctime = 0
        lines.append(f'{plainjson.quote(name)}:[{size},{mtime},{ctime},{inode},{mode},"{digits}"]')
    body = ("{" + ",\n".join(lines) + "}").encode()
    path, kind, digest = about
    header = {"format": _FORMAT, "path": path, "kind": kind, "digest": digest, "sha256": sha256(body).hexdigest()}
    os.makedirs(os.path.dirname(file), exist_ok=True)
    text = atomic.encode(header) + body
    if durable:
        atomic.replace(file, text)
        return
    draft = file + "." + atomic.unique() + ".tmp"
    if atomic.write_new(draft, text):
        os.replace(draft, file)
