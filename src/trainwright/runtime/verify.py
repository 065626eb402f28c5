"""Whether stored content is what its digest says; only what was touched since it was last hashed is read."""

from __future__ import annotations

import os

from trainwright.runtime import blobs, content, index, inspection, manifest, stamps
from trainwright.runtime.errors import ContentError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from trainwright.runtime.stamps import Stamp


def verify(root: str, digest: str) -> bool:
    """Tell whether content is whole: its manifest and every blob are there and match their digests.

    What does not match is moved to ``quarantine/``, so that storing the same content anew replaces it. Takes no lock:
    what a sweep removes meanwhile counts as missing.
    """
    try:
        entries = content.read_manifest(root, digest).entries
    except ContentError:
        _set_aside(root, content.manifest_file(root, digest), "manifest")
        return False
    digits = manifest.hex_of(digest)
    known = stamps.read(root, digits)
    found: dict[str, Stamp] = {}
    sizes = {entry.sha256: entry.size for entry in entries}
    for name, size in sizes.items():
        stamp = _look(root, name, size, known.get(name))
        if stamp is not None:
            found[name] = stamp
    if found != known:
        stamps.write(root, digits, found)
    return len(found) == len(sizes) or _is_sound_where_it_is(root, digest)


def _is_sound_where_it_is(root: str, digest: str) -> bool:
    """Tell whether content by reference is what it was; what looks as it did is not read."""
    if not os.path.exists(index.of_origin(root, digest)):
        return False
    from trainwright.runtime import origins

    try:
        origins.check(root, digest)
    except ContentError:
        return False
    return True


def _look(root: str, digits: str, size: int, known: Stamp | None) -> Stamp | None:
    """Return the stamp of a sound blob; None for one that is missing or altered."""
    path = blobs.blob(root, digits)
    stamp = stamps.take(path)
    if known is not None and stamps.same(known, stamp) and known[0] == size:
        return known
    if stamp is None:
        return None
    if stamp[0] != size or inspection.hash_of(path) != digits:
        _set_aside(root, path, "blob")
        return None
    return stamp


def _set_aside(root: str, path: str, kind: str) -> None:
    if not os.path.lexists(path):
        return
    try:
        inspection.set_aside(root, path, f"{kind}-{os.path.basename(path)}")
    except ContentError:
        return  # then it stays in the way; whoever reads it is told
