"""Finds what a broken disk or a power cut did to a content store, and sets it aside.

Looking shares the store with everybody; setting aside has it alone and looks again first. Damaged bytes are moved to
``quarantine/``, never deleted: as long as they lay in their place, storing the same content anew would not replace
them.
"""

from __future__ import annotations

import os
from hashlib import sha256

from trainwright.runtime import atomic, blobs, checkout, content, disk, index, lock, sweep
from trainwright.runtime.errors import ContentError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

BLOB, MISSING, MANIFEST, TREE, DRAFT = "blob", "missing", "manifest", "tree", "draft"
REFERENCE = "reference"


class Flaw:
    """One thing that is not as it should be.

    Attributes:
        kind: ``blob`` (damaged), ``missing`` (a blob), ``manifest`` (unreadable), ``tree`` (a working copy that does
            not match its stamp), ``draft`` (a leftover) or ``reference`` (data by reference that changed or
            is gone).
        path: of it.
        digests: of the manifests that need it.
    """

    __slots__ = ("digests", "kind", "path")

    def __init__(self, kind: str, path: str, digests: tuple[str, ...] = ()) -> None:
        self.kind = kind
        self.path = path
        self.digests = digests


def inspect(root: str, before_s: float, *, deep: bool = False) -> list[Flaw]:
    """Return every flaw, by kind and path; changes nothing.

    Args:
        root: of the store; there may be none yet.
        before_s: leftovers count when they are older than this instant (seconds since the epoch).
        deep: hash every blob, which reads all of the store; otherwise sizes are compared.

    Raises:
        ContentError: the store cannot be locked.
    """
    if not os.path.isdir(root):
        return []
    if not os.path.exists(os.path.join(root, lock.FILE)):
        return _Inspection(root, deep=deep).flaws(before_s)
    with lock.shared(root):
        return _Inspection(root, deep=deep).flaws(before_s)


def mend(root: str, flaws: Collection[Flaw], spare: Collection[str] = ()) -> None:
    """Move damaged blobs and manifests to ``quarantine/``; remove damaged copies, which are remade on use, and drafts.

    What is not damaged any more is left alone.

    Args:
        root: of the store.
        flaws: as ``inspect`` returned them.
        spare: digests whose working copies a job may be reading right now.

    Raises:
        ContentError: something cannot be moved or removed.
    """
    if not flaws:
        return
    with lock.alone(root):
        for flaw in flaws:
            name = os.path.basename(flaw.path)
            if flaw.kind == BLOB and not _is_sound(root, name, flaw.digests):
                set_aside(root, flaw.path, "blob-" + name)
            elif flaw.kind == MANIFEST and not _is_readable(root, name):
                set_aside(root, flaw.path, "manifest-" + name)
            elif flaw.kind == TREE and "sha256:" + name not in spare and not checkout.is_intact(flaw.path):
                sweep.retire(root, flaw.path)
            elif flaw.kind == DRAFT:
                disk.remove(flaw.path)


class _Inspection:
    """One look at everything."""

    def __init__(self, root: str, *, deep: bool) -> None:
        self._root = root
        self._deep = deep
        self._sizes: dict[str, int] = {}  # sha256 -> bytes, as manifests say
        self._users: dict[str, list[str]] = {}  # sha256 -> digests of those manifests
        self._elsewhere: set[str] = set()  # digests of content by reference

    def flaws(self, before_s: float) -> list[Flaw]:
        found = [*self._manifests(), *self._blobs(), *self._trees()]
        found += [Flaw(DRAFT, path) for path in sweep.drafts(self._root, before_s)]
        return sorted(found, key=lambda flaw: (flaw.kind, flaw.path))

    def _manifests(self) -> Iterator[Flaw]:
        for path in sweep.files(self._root, "manifests"):
            digest = "sha256:" + os.path.basename(path)
            if path.endswith(".tmp"):
                continue
            try:
                entries = content.read_manifest(self._root, digest).entries
            except ContentError:
                yield Flaw(MANIFEST, path, (digest,))
                continue
            if os.path.exists(index.of_origin(self._root, digest)):
                self._elsewhere.add(digest)
                yield from self._reference(digest)
            for entry in entries:
                self._sizes[entry.sha256] = entry.size
                users = self._users.setdefault(entry.sha256, [])
                if not users or users[-1] != digest:
                    users.append(digest)

    def _reference(self, digest: str) -> Iterator[Flaw]:
        """Compare what is somewhere else with its note; what looks different, or all when deep, is hashed."""
        from trainwright.runtime import origins

        try:
            origins.check(self._root, digest, strict=self._deep)
        except origins.Altered as error:
            yield Flaw(REFERENCE, error.path, (digest,))
        except ContentError:
            yield Flaw(REFERENCE, index.of_origin(self._root, digest), (digest,))

    def _blobs(self) -> Iterator[Flaw]:
        for digits, size in self._sizes.items():
            path = blobs.blob(self._root, digits)
            if not os.path.exists(path):
                users = tuple(user for user in self._users[digits] if user not in self._elsewhere)
                if users:
                    yield Flaw(MISSING, path, users)
            elif os.path.getsize(path) != size or (self._deep and hash_of(path) != digits):
                yield Flaw(BLOB, path, tuple(self._users[digits]))
        if self._deep:
            for path in sweep.files(self._root, "blobs"):
                name = os.path.basename(path)
                if name not in self._sizes and hash_of(path) != name:
                    yield Flaw(BLOB, path)

    def _trees(self) -> Iterator[Flaw]:
        folder = os.path.join(self._root, "trees")
        for name in disk.names(folder):
            path = os.path.join(folder, name)
            if not name.endswith(".lock") and not checkout.is_intact(path):
                yield Flaw(TREE, path, ("sha256:" + name,))


def hash_of(path: str) -> str:
    """Return the sha256 of a file; empty when it cannot be read, as after a failure of the disk."""
    hasher = sha256()
    try:
        with open(path, "rb") as file:
            while True:
                chunk = file.read(blobs.CHUNK)
                if not chunk:
                    return hasher.hexdigest()
                hasher.update(chunk)
    except OSError:
        return ""


def _is_sound(root: str, digits: str, digests: tuple[str, ...]) -> bool:
    """Tell whether a blob is what it should be by now; large ones of the right size are hashed again."""
    path = blobs.blob(root, digits)
    if not os.path.exists(path):
        return True  # gone, so it is in nobody's way
    for digest in digests:
        try:
            sizes = {e.size for e in content.read_manifest(root, digest).entries if e.sha256 == digits}
        except ContentError:
            continue
        if sizes and os.path.getsize(path) not in sizes:
            return False
    return hash_of(path) == digits


def _is_readable(root: str, digits: str) -> bool:
    try:
        content.read_manifest(root, "sha256:" + digits)
    except ContentError:
        return not os.path.exists(os.path.join(root, "manifests", digits[:2], digits))
    return True


def set_aside(root: str, path: str, name: str) -> None:
    """Move what is damaged to ``quarantine/`` under a name that is free.

    Raises:
        ContentError: it cannot be moved.
    """
    folder = os.path.join(root, "quarantine")
    blobs.make_folders(folder)
    target = os.path.join(folder, name)
    if os.path.lexists(target):
        target += "." + atomic.unique()
    try:
        os.rename(path, target)
    except OSError as error:
        raise ContentError(f"{path} cannot be moved: {error.strerror}", "check its owner and permissions") from error
