"""Bytes on their way into the content store and out of it; every copy is hashed while it is made."""

from __future__ import annotations

import errno
import os
import stat
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

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


class Staging:
    """Blobs on their way in: all written, then made durable together, then named.

    On ext4 the ``fsync`` of each of many small files would commit the journal each time. So writing them back is begun
    for all (``POSIX_FADV_DONTNEED`` does just that) before the first is waited for, as dpkg does.
    """

    def __init__(self, root: str) -> None:
        self._root = root
        self._folder = os.path.join(root, "tmp", atomic.unique())
        self._waiting: dict[str, str] = {}  # sha256 -> draft
        self.large: dict[str, tuple[int, int, int]] = {}  # sha256 -> size, mtime in ns and inode of what was written
        make_folders(self._folder)

    def add(self, source: bytes) -> tuple[int, str, bool]:
        """Copy a regular file in; return its bytes, sha256 and whether it is executable.

        Raises:
            ContentError: unreadable, special, changed twice while it was read, or no space left.
        """
        for _ in range(2):
            added = self._copy(source)
            if added is not None:
                return added
        raise ContentError(f"{show(source)} changed while it was read", "store it when nothing writes to it any more")

    def publish(self) -> None:
        """Give every blob its name, durably.

        Raises:
            ContentError: no space left, or the disk failed.
        """
        try:
            for draft in self._waiting.values():
                _sync(draft)
            for digits, draft in self._waiting.items():
                name = blob(self._root, digits)
                make_folders(os.path.dirname(name))
                os.rename(draft, name)
            folders = {os.path.dirname(blob(self._root, d)) for d in self._waiting}
            for folder in sorted(folders):
                atomic.sync_folder(folder)
            if folders:
                atomic.sync_folder(os.path.join(self._root, "blobs"))
        except OSError as error:
            raise refusal(error, self._root, "the blobs", 0) from error
        self._waiting.clear()

    def discard(self) -> None:
        """Remove what was not published."""
        for draft in self._waiting.values():
            _remove(draft)
        self._waiting.clear()
        os.rmdir(self._folder)

    def _copy(self, source: bytes) -> tuple[int, str, bool] | None:
        """Return what ``add`` returns, or None when the file changed meanwhile."""
        try:  # O_NONBLOCK: a pipe that took the file's place must not make us wait
            fd = os.open(source, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError as error:
            raise ContentError(f"{show(source)} cannot be read: {error.strerror}", "make it readable") from error
        try:
            before = os.fstat(fd)
            if not stat.S_ISREG(before.st_mode):
                raise ContentError(f"{show(source)} is not a regular file", "leave it out")
            if before.st_size <= CHUNK:
                size, digits = self._small(fd, source)
            else:
                size, digits = self._large(fd, source, before.st_size)
            after = os.fstat(fd)
        finally:
            os.close(fd)
        if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns) or size != after.st_size:
            return None  # what was staged keeps: it is what its hash says, only not this file
        return size, digits, bool(after.st_mode & stat.S_IXUSR)

    def _small(self, fd: int, source: bytes) -> tuple[int, str]:
        data = b"".join(_chunks(fd, source, os.fstat(fd).st_size))
        digits = sha256(data).hexdigest()
        if not self._is_here(digits, len(data)):
            draft = os.path.join(self._folder, digits)
            with _Draft(self._root, draft, source, len(data)) as out:
                atomic.write_all(out, data)
                os.posix_fadvise(out, 0, 0, os.POSIX_FADV_DONTNEED)
            self._waiting[digits] = draft
        return len(data), digits

    def _large(self, fd: int, source: bytes, expected: int) -> tuple[int, str]:
        draft = os.path.join(self._folder, atomic.unique())
        hasher = sha256()
        size = 0
        with _Draft(self._root, draft, source, expected) as out:
            for chunk in _chunks(fd, source):
                hasher.update(chunk)
                atomic.write_all(out, chunk)
                size += len(chunk)
            os.posix_fadvise(out, 0, 0, os.POSIX_FADV_DONTNEED)
            facts = os.fstat(out)
        digits = hasher.hexdigest()
        if self._is_here(digits, size):
            _remove(draft)
        else:
            self._waiting[digits] = draft
            if size >= LARGE_BYTES:
                self.large[digits] = (facts.st_size, facts.st_mtime_ns, facts.st_ino)
        return size, digits

    def _is_here(self, digits: str, size: int) -> bool:
        return digits in self._waiting or has(self._root, digits, size)


class _Draft:
    """A new file that vanishes when writing it fails."""

    def __init__(self, root: str, path: str, source: bytes, needed: int) -> None:
        self._root = root
        self._path = path
        self._source = source
        self._needed = needed
        self._fd = -1

    def __enter__(self) -> int:
        self._fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o444)
        return self._fd

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        os.close(self._fd)
        if error is None:
            return
        _remove(self._path)
        if isinstance(error, OSError):
            raise refusal(error, self._root, show(self._source), self._needed) from error


def has(root: str, digits: str, size: int) -> bool:
    """Tell whether this blob is there with the right size."""
    try:
        return os.stat(blob(root, digits)).st_size == size
    except OSError:
        return False


def blob(root: str, digits: str) -> str:
    """Return where the blob with this sha256 lives."""
    return os.path.join(root, "blobs", digits[:2], digits)


def copy_out(root: str, entry: Entry, target: bytes, mode: int) -> None:
    """Write the content of ``entry`` to the new file ``target`` and compare its hash on the way.

    Raises:
        ContentError: the blob is missing or altered, or no space is left.
    """
    name = blob(root, entry.sha256)
    try:
        fd = os.open(name, os.O_RDONLY | os.O_CLOEXEC)
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


def _sync(path: str) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        return
