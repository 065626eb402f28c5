"""Shared read-only working copies of stored content: made once, verified each time.

``trees/<digest>/files`` is the copy, ``trees/<digest>/stamp`` the size and times of everything in it. A copy that does
not match its stamp any more (the user is root, or changed the modes) is made anew.
"""

from __future__ import annotations

import fcntl
import os

from trainwright.runtime import atomic, blobs, content, disk, index, plainjson
from trainwright.runtime import lock as locks
from trainwright.runtime.errors import ContentError
from trainwright.runtime.manifest import SNAPSHOT, hex_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from trainwright.runtime.manifest import Manifest


def checkout(root: str, digest: str, fetch: Callable[[str], None] | None = None, *, strict: bool = False) -> str:
    """Return a read-only copy of the content: the folder, or the file itself.

    Safe to call at once from many processes; the copy is shared by all. Of content by reference there is no copy: the
    path itself is returned once it was checked, every byte of it when ``strict``.

    Args:
        root: of the store.
        digest: of the content.
        fetch: fills an empty folder with what a snapshot stands for; without it there is no copy of one.
        strict: hash all data by reference, not only what looks different.

    Raises:
        ContentError: no such content, a blob is missing or altered, what was added by reference is not what it was, or
            no space is left.
    """
    root = os.path.abspath(root)
    kept = content.read_manifest(root, digest)
    tree = os.path.join(root, "trees", hex_of(digest))
    files = os.path.join(tree, "files")
    if not is_intact(tree):
        if os.path.exists(index.of_origin(root, digest)):
            from trainwright.runtime import origins

            return origins.check(root, digest, strict=strict)
        with locks.shared(root):
            _make(root, kept, tree, fetch)
    return os.path.join(files, kept.entries[0].path) if kept.kind == "file" else files


def _make(root: str, kept: Manifest, tree: str, fetch: Callable[[str], None] | None) -> None:
    """Build the copy beside its place and move it there; one at a time, the others wait and find it made."""
    blobs.make_folders(os.path.dirname(tree))
    blobs.make_folders(os.path.join(root, "tmp"))
    lock = os.open(tree + ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    draft = os.path.join(root, "tmp", atomic.unique())
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if is_intact(tree):
            return
        files = os.path.join(draft, "files")
        blobs.make_folders(files)
        if kept.kind != SNAPSHOT:
            content.lay_out(root, kept.entries, files, frozen=True)
        elif fetch is None:
            raise ContentError(f"{kept.facts['uri']} is kept elsewhere, and no copy is here", "read it where it is")
        else:
            fetch(files)
            _freeze(files)
        for folder, _, _ in os.walk(os.fsencode(files)):
            os.chmod(folder, 0o555)  # noqa: S103 - nobody may write
        with open(os.path.join(draft, "stamp"), "wb") as file:
            file.write(atomic.encode(_stamp(files)))
        if os.path.lexists(tree):
            os.rename(tree, draft + ".old")
        os.rename(draft, tree)
    except OSError as error:
        raise blobs.refusal(error, root, "a working copy", kept.size_bytes) from error
    finally:
        os.close(lock)
        disk.remove(draft)
        disk.remove(draft + ".old")


def _freeze(top: str) -> None:
    """Take away what was fetched from whoever might write to it.

    Raises:
        ContentError: a link in it leads out of it.
    """
    real_top = os.path.realpath(os.fsencode(top)) + b"/"
    for folder, _, names in os.walk(os.fsencode(top)):
        for name in [*names, *(item.name for item in os.scandir(folder) if item.is_symlink())]:
            path = os.path.join(folder, name)
            if not os.path.islink(path):
                os.chmod(path, 0o555 if os.stat(path).st_mode & 0o100 else 0o444)
            elif not os.path.realpath(path).startswith(real_top):
                raise ContentError(f"{blobs.show(path[len(real_top) - 1 :])} is a link that leads out of the data")


def is_intact(tree: str) -> bool:
    """Tell whether a copy is what its stamp says."""
    files = os.path.join(tree, "files")
    try:
        with open(os.path.join(tree, "stamp"), "rb") as file:
            wanted = plainjson.loads(file.read())
        return bool(wanted == _stamp(files))
    except (OSError, ValueError):
        return False


def _stamp(files: str) -> list[list[object]]:
    """Return name, mode, bytes, mtime and ctime in ns of all below; ctime notices an edit that restored the mtime."""
    found: list[list[object]] = []
    folders = [(os.fsencode(files), b"")]
    while folders:
        folder, prefix = folders.pop()
        for item in os.scandir(folder):
            facts = item.stat(follow_symlinks=False)
            name = prefix + item.name
            size = facts.st_size
            if item.is_dir(follow_symlinks=False):
                folders.append((item.path, name + b"/"))
                size = 0
            found.append([name.decode("utf-8", "replace"), facts.st_mode, size, facts.st_mtime_ns, facts.st_ctime_ns])
    top = os.stat(files)
    return [["", top.st_mode, 0, top.st_mtime_ns, top.st_ctime_ns], *sorted(found)]
