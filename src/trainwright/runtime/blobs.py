"""Stored bytes: where they are, and on their way out; every copy is hashed while it is made. See ``staging`` too."""

from __future__ import annotations

import errno
import os
from hashlib import sha256

from trainwright.runtime import atomic
from trainwright.runtime.errors import ContentError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from trainwright.runtime.manifest import Entry

CHUNK = 1 << 20
"""Bytes read at a time; a file up to this size is looked up before it is written."""

LARGE_BYTES = 64 * CHUNK
"""A blob from this size on is not read again merely to find that it is what was written."""

_LISTED = 16

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


def has(root: str, digits: str, size: int) -> bool:
    """Tell whether this blob is there with the right size."""
    try:
        return os.stat(blob(root, digits)).st_size == size
    except OSError:
        return False


def missing(root: str, wanted: set[str]) -> set[str]:
    """Return which of these blobs are not there; by name: a listing of many is cheaper than a look at each."""
    folders: dict[str, list[str]] = {}
    for digits in wanted:
        folders.setdefault(digits[:2], []).append(digits)
    gone: set[str] = set()
    for prefix, some in folders.items():
        folder = f"{root}/blobs/{prefix}"
        if len(some) >= _LISTED and os.path.isdir(folder):
            gone.update(set(some).difference(os.listdir(folder)))
        else:
            gone.update(digits for digits in some if not os.access(blob(root, digits), os.F_OK))
    return gone


def blob(root: str, digits: str) -> str:
    """Return where the blob with this sha256 lives."""
    return f"{root}/blobs/{digits[:2]}/{digits}"


def copy_out(root: str, entry: Entry, target: bytes, mode: int, original: str = "") -> None:
    """Write the content of ``entry`` to the new file ``target`` and compare its hash on the way.

    Args:
        root: of the store.
        entry: what is wanted.
        target: a path that does not exist.
        mode: of the new file.
        original: where the bytes are when they are not in the store; empty when they must be.

    Raises:
        ContentError: the blob is missing or altered, or no space is left.
    """
    name = blob(root, entry.sha256)
    if original and not os.path.exists(name):
        name = original
    try:
        fd = os.open(os.fsencode(name), os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise ContentError(
            f"the content of {entry.path} is missing: {name}: {error.strerror}", "store it anew"
        ) from error
    hasher = sha256()
    try:
        out = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
        try:
            for chunk in _chunks(fd, os.fsencode(name), entry.size):
                hasher.update(chunk)
                atomic.write_all(out, chunk)
            os.fchmod(out, mode)
        finally:
            os.close(out)
    except OSError as error:
        raise refusal(error, os.path.dirname(os.fsdecode(target)), entry.path, entry.size) from error
    finally:
        os.close(fd)
    if hasher.hexdigest() != entry.sha256:
        raise ContentError(f"the content of {entry.path} was altered: {name}", "remove that file and store it anew")


def refusal(error: OSError, folder: str, what: str, needed: int) -> ContentError:
    """Return the error for a failed write; a full disk is told with numbers, in bytes."""
    if error.errno in _FULL:
        free = os.statvfs(folder)
        return ContentError(
            f"no space left for {what}: {needed} bytes needed, {free.f_bavail * free.f_frsize} free in {folder}",
            "make room and try again",
        )
    return ContentError(f"{what} cannot be written to {folder}: {error.strerror}", "check the disk and its permissions")


def show(path: bytes) -> str:
    """Return a path as text; bytes that are not UTF-8 are escaped."""
    return path.decode("utf-8", "backslashreplace")


def make_folders(folder: str) -> None:
    """Make a folder of the store and those above it.

    Raises:
        ContentError: it cannot be made.
    """
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise ContentError(
            f"{folder} cannot be made: {error.strerror}", "check the disk and its permissions"
        ) from error


def _chunks(fd: int, source: bytes, size: int = CHUNK) -> Iterator[bytes]:
    """Yield what is left in a file; ``size`` is what is expected, so that a small file needs no large buffer."""
    while True:
        try:
            chunk = os.read(fd, min(size + 1, CHUNK))
        except OSError as error:
            raise ContentError(f"{show(source)} cannot be read: {error.strerror}", "check the disk") from error
        if not chunk:
            return
        yield chunk


def remove(path: str) -> None:
    """Remove a file that may be gone."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return
