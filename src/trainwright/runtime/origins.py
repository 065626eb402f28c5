"""Content by reference: hashed and recorded like any other, but read where it is.

The note is in the store (see ``index``): the path, and what every file looked like when it was hashed. Before each use
the path is walked again; what looks different is hashed, so changed data is found out before anybody reads it.
"""

from __future__ import annotations

import os
import time

from trainwright.runtime import blobs, content, index, lock, staging, walk
from trainwright.runtime.errors import ContentError
from trainwright.runtime.manifest import Manifest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from trainwright.runtime.content import Stored
    from trainwright.runtime.index import Index
    from trainwright.runtime.intake import Wish
    from trainwright.runtime.walk import Facts, Found


class Altered(ContentError):  # noqa: N818 - it says what the data is
    """What a reference leads to is not what was added.

    Attributes:
        path: of the file that is missing, new or changed.
    """

    def __init__(self, path: str, what: str, top: str) -> None:
        super().__init__(
            f"{path} {what} since it was added by reference",
            f"bring back what was there, or add what is there now: tw dataset add NAME {top} --reference,"
            " and use the new version",
        )
        self.path = path


def put(root: str, path: str, wish: Wish) -> Stored:
    """Record a file or folder and where it is; the digest is that of ``content.put``, and nothing is copied.

    Raises:
        ContentError: as ``content.put``.
    """
    from trainwright.runtime import intake

    at_ns = time.time_ns()
    root, shown = os.path.abspath(root), os.path.abspath(path)
    with lock.shared(root):
        kind, found = walk.find(path)
        sure = intake.known(root, shown, found, wish, stored=False).digits
        taken = intake.hash_all(found, sure, staging.hash_only, wish.progress)
        whole = Manifest(kind, taken.entries())
        digest = content.digest_of(whole)
        if not all(blobs.has(root, e.sha256, e.size) for e in whole.entries):
            try:  # the note first: a manifest never says more than can be read
                note = index.of_origin(root, digest)
                index.write(note, (shown, kind, digest), taken.rows, at_ns, durable=True)
            except OSError as error:
                raise blobs.refusal(error, root, "the note where it is", 0) from error
        stored = content.put_manifest(root, whole)
    content.remember(root, (shown, kind, stored.digest), taken, at_ns, wish)
    return stored


def check(root: str, digest: str, *, strict: bool = False) -> str:
    """Return the path of content by reference, when it still is what was added.

    Args:
        root: of the store.
        digest: of the content.
        strict: hash every file, not only those that look different.

    Raises:
        Altered: a file changed, is missing, or is new.
        ContentError: there is no note, or a file cannot be read.
    """
    note = index.note_of(root, digest)
    if note is None:
        raise ContentError(f"the content of {digest} is missing", "store it anew")
    at_ns = time.time_ns()
    kept = content.read_manifest(root, digest)
    found = _look(note, kept)
    rows: list[tuple[str, Facts, str]] = []
    hashed = 0
    for entry in kept.entries:
        one = found[entry.path]
        shown = index.path_of(note, entry)
        if one.facts[0] != entry.size or walk.is_executable(one.facts) != entry.executable:
            raise Altered(shown, "changed", note.path)
        digits = "" if strict else note.knows(entry.path, one.facts)
        facts = one.facts
        if digits != entry.sha256:
            digits, facts = staging.hash_only(one)
            hashed += 1
        if digits != entry.sha256:
            raise Altered(shown, "changed", note.path)
        rows.append((entry.path, facts, digits))
    if hashed:
        _renew(index.of_origin(root, digest), note, rows, at_ns)
    return note.path


def _look(note: Index, kept: Manifest) -> dict[str, Found]:
    """Walk the path; every name of the manifest is there, and no other."""
    if not os.path.exists(os.fsencode(note.path)):
        raise Altered(note.path, "is gone", note.path)
    kind, listed = walk.find(note.path)
    if kind != note.kind:
        raise Altered(note.path, f"became a {kind}", note.path)
    found = {one.name: one for one in listed}
    names = {entry.path for entry in kept.entries}
    for entry in kept.entries:
        if entry.path not in found:
            raise Altered(index.path_of(note, entry), "is gone", note.path)
    for name in found:
        if name not in names:
            raise Altered(os.path.join(note.path, name), "came in", note.path)
    return found


def _renew(file: str, note: Index, rows: list[tuple[str, Facts, str]], at_ns: int) -> None:
    try:
        index.write(file, (note.path, note.kind, note.digest), rows, at_ns, durable=False)
    except OSError:
        return  # then it is hashed the next time too
