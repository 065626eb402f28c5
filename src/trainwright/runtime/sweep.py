"""Collects what nothing names from a content store: manifests first, then what only they needed.

Killed at any line it leaves a consistent store, since a blob goes only after every manifest that names it is durably
gone. It has the store to itself meanwhile (see ``lock``).
"""

from __future__ import annotations

import os
import time

from trainwright.runtime import atomic, content, disk, index, lock
from trainwright.runtime.errors import ContentError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

YOUNG_S = 3600.0
"""Content stored or met again within this time stays: whoever stored it may not have written down yet that it did."""

_DIGITS = 64


class Swept:
    """What went, or would go.

    Attributes:
        manifests, blobs: by their files.
        trees: read-only working copies.
        drafts: leftovers of what was killed while it wrote.
        unreadable: digests of manifests that stay and cannot be read; while there is one, every blob stays, since it
            may be needed.
    """

    __slots__ = ("blobs", "drafts", "manifests", "trees", "unreadable")

    def __init__(self) -> None:
        self.manifests = disk.Tally()
        self.blobs = disk.Tally()
        self.trees = disk.Tally()
        self.drafts = disk.Tally()
        self.unreadable: list[str] = []


def sweep(
    root: str,
    keep: Collection[str],
    older_than_s: float = YOUNG_S,
    *,
    now_s: float | None = None,
    dry_run: bool = False,
) -> Swept:
    """Remove manifests that are neither kept nor young, and the blobs, copies and drafts that nothing needs.

    Args:
        root: of the store; nothing happens when there is none.
        keep: digests of manifests, ``sha256:…``.
        older_than_s: age in seconds from which a manifest or draft may go.
        now_s: seconds since the epoch; the machine's clock when None.
        dry_run: only count; writes nothing.

    Raises:
        ContentError: something cannot be removed, or the store cannot be locked.
    """
    swept = Swept()
    if not os.path.isdir(root):
        return swept
    before_s = (time.time() if now_s is None else now_s) - older_than_s
    sweeping = _Sweeping(root, {digest[7:] for digest in keep}, before_s, dry_run=dry_run, swept=swept)
    if not dry_run:
        with lock.alone(root):
            sweeping.go()
    elif os.path.exists(os.path.join(root, lock.FILE)):
        with lock.shared(root):
            sweeping.go()
    else:
        sweeping.go()
    return swept


class _Sweeping:
    """One sweep under way."""

    def __init__(self, root: str, keep: set[str], before_s: float, *, dry_run: bool, swept: Swept) -> None:
        self._root = root
        self._keep = keep
        self._before_s = before_s
        self._dry_run = dry_run
        self._swept = swept

    def go(self) -> None:
        """Remove in the order that keeps the store consistent."""
        staying: set[str] = set()
        going: list[str] = []
        for path in files(self._root, "manifests"):
            name = os.path.basename(path)
            if len(name) == _DIGITS:
                stays = name in self._keep or disk.changed_at(path) >= self._before_s
                staying.add(name) if stays else going.append(path)
        needed = self._needed(staying)
        for path in going:
            self._remove(path, self._swept.manifests)
        if not self._dry_run:  # durable before the first blob goes
            for folder in sorted({os.path.dirname(path) for path in going}):
                atomic.sync_folder(folder)
        self._trees(staying)
        self._stamps(staying)
        if not self._swept.unreadable:
            for path in files(self._root, "blobs"):
                if os.path.basename(path) not in needed:
                    self._remove(path, self._swept.blobs)
        for path in drafts(self._root, self._before_s):
            self._remove(path, self._swept.drafts)

    def _needed(self, staying: set[str]) -> set[str]:
        """Return the sha256 of every blob that a manifest which stays names."""
        needed: set[str] = set()
        for name in sorted(staying):
            digest = "sha256:" + name
            try:
                needed.update(entry.sha256 for entry in content.read_manifest(self._root, digest).entries)
            except ContentError:
                self._swept.unreadable.append(digest)
        return needed

    def _trees(self, staying: set[str]) -> None:
        folder = os.path.join(self._root, "trees")
        for name in disk.names(folder):
            path = os.path.join(folder, name)
            if name.partition(".")[0] in staying:
                continue
            if name.endswith(".lock"):
                if not self._dry_run:
                    disk.remove(path)
                continue
            self._swept.trees.add(disk.size_of(path))
            if not self._dry_run:
                retire(self._root, path)

    def _stamps(self, staying: set[str]) -> None:
        for path in files(self._root, "verified"):
            if os.path.basename(path) not in staying and not self._dry_run:
                disk.remove(path)
        for path in files(self._root, "origins"):  # says only where somebody's own files are
            if os.path.basename(path) not in staying and not self._dry_run:
                disk.remove(path)
        folder = os.path.join(self._root, "index")
        for path in [os.path.join(folder, name) for name in disk.names(folder)]:
            if (
                not self._dry_run
                and index.digest_in(path)[7:] not in staying
                and disk.changed_at(path) < self._before_s
            ):
                disk.remove(path)

    def _remove(self, path: str, tally: disk.Tally) -> None:
        tally.add(disk.size_of(path))
        if not self._dry_run and not disk.remove(path):
            raise ContentError(f"{path} cannot be removed", "check its owner and permissions")


def retire(root: str, tree: str) -> None:
    """Remove a working copy: it is out of the way at once, and whole until then.

    Raises:
        ContentError: it cannot be moved.
    """
    aside = os.path.join(root, "tmp", atomic.unique() + ".old")
    try:
        os.makedirs(os.path.dirname(aside), exist_ok=True)
        os.rename(tree, aside)
    except OSError as error:
        raise ContentError(f"{tree} cannot be removed: {error.strerror}", "check its owner and permissions") from error
    disk.remove(aside)


def files(root: str, kind: str) -> Iterator[str]:
    """Yield the paths below ``manifests`` or ``blobs``, sorted."""
    top = os.path.join(root, kind)
    for prefix in disk.names(top):
        folder = os.path.join(top, prefix)
        for name in disk.names(folder):
            yield os.path.join(folder, name)


def drafts(root: str, before_s: float) -> list[str]:
    """Return what killed processes left behind before that instant (seconds since the epoch)."""
    folder = os.path.join(root, "tmp")
    found = [os.path.join(folder, name) for name in disk.names(folder)]
    for kind in ("manifests", "origins"):
        found += [path for path in files(root, kind) if path.endswith(".tmp")]
    return [path for path in found if disk.changed_at(path) < before_s]
