"""Blobs on their way into the content store: read once, hashed and written, made durable together, then named.

What is large goes past the page cache where the file system lets it: copying it in there costs more than hashing it.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import stat
import sys
from hashlib import sha256

from trainwright.runtime import atomic, blobs, walk
from trainwright.runtime.errors import ContentError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from trainwright.runtime.walk import Facts, Found

    Read = Callable[[int, bytes, int], "tuple[int, str]"]

MANY = 64
"""From so many blobs on, one ``syncfs`` is waited for, not an ``fsync`` for each: a hundred times faster on ext4."""

_PIECE = 4 << 20
_TRIES = 3
_DIRECT = getattr(os, "O_DIRECT", 0)


class Staging:
    """See the module; several threads may add at once."""

    def __init__(self, root: str, *, many: bool = False) -> None:
        self._root = root
        self._many = many
        self._folder = os.path.join(root, "tmp", atomic.unique())
        self._waiting: dict[str, str] = {}  # sha256 -> draft
        self.large: dict[str, tuple[int, int, int]] = {}  # sha256 -> size, mtime in ns and inode of what was written
        blobs.make_folders(self._folder)

    def add(self, found: Found) -> tuple[str, Facts]:
        """Copy a regular file in; return its sha256 and what it looked like before and after it was read.

        Raises:
            ContentError: unreadable, special, changed again and again while it was read, or no space left.
        """
        return steady(found, self._copy)

    def publish(self) -> None:
        """Give every blob its name, durably.

        Raises:
            ContentError: no space left, or the disk failed.
        """
        try:
            at_once = self._many and len(self._waiting) >= MANY and _sync_all(self._root)
            for draft in () if at_once else self._waiting.values():
                _sync(draft)
            folders: set[str] = set()
            for digits, draft in self._waiting.items():
                name = blobs.blob(self._root, digits)
                folder = os.path.dirname(name)
                if folder not in folders:
                    blobs.make_folders(folder)
                    folders.add(folder)
                os.rename(draft, name)
            if not (at_once and _sync_all(self._root)):
                for folder in sorted(folders):
                    atomic.sync_folder(folder)
                if folders:
                    atomic.sync_folder(os.path.join(self._root, "blobs"))
        except OSError as error:
            raise blobs.refusal(error, self._root, "the blobs", 0) from error
        self._waiting.clear()

    def discard(self) -> None:
        """Remove what was not published."""
        self._waiting.clear()
        with os.scandir(self._folder) as left:
            for item in left:
                blobs.remove(item.path)
        os.rmdir(self._folder)

    def _copy(self, fd: int, source: bytes, size: int) -> tuple[int, str]:
        if size > blobs.CHUNK:
            return self._large(fd, source, size)
        data = whole(fd, source, size)
        digits = sha256(data).hexdigest()
        if not self._is_here(digits, len(data)):
            draft = os.path.join(self._folder, atomic.unique())
            with _Draft(self._root, draft, source, len(data)) as out:
                atomic.write_all(out, data)
                if not self._many:  # writing back begins now, so that fsync has less to wait for
                    os.posix_fadvise(out, 0, 0, os.POSIX_FADV_DONTNEED)
            self._waiting[digits] = draft
        return len(data), digits

    def _large(self, fd: int, source: bytes, expected: int) -> tuple[int, str]:
        draft = os.path.join(self._folder, atomic.unique())
        direct = expected >= blobs.LARGE_BYTES  # smaller ones are likely to be read again soon
        with _Draft(self._root, draft, source, expected, direct=direct) as out, mmap.mmap(-1, _PIECE) as buffer:
            with memoryview(buffer) as view:
                size, digits = _pour(fd, out, view, source)
            facts = os.fstat(out)
        if self._is_here(digits, size):
            blobs.remove(draft)
        else:
            self._waiting[digits] = draft
            if size >= blobs.LARGE_BYTES:
                self.large[digits] = (facts.st_size, facts.st_mtime_ns, facts.st_ino)
        return size, digits

    def _is_here(self, digits: str, size: int) -> bool:
        return digits in self._waiting or blobs.has(self._root, digits, size)


def hash_only(found: Found) -> tuple[str, Facts]:
    """Return the sha256 of a file and what it looked like before and after it was read; nothing is stored.

    Raises:
        ContentError: as ``Staging.add``.
    """
    return steady(found, _digest)


def steady(found: Found, read: Read) -> tuple[str, Facts]:
    """Read a file until it looked the same before and after.

    Args:
        found: what the walk saw; usually nothing has changed since.
        read: takes a descriptor, the path and the bytes that are expected; returns the bytes and their sha256.

    Raises:
        ContentError: it is unreadable, special, or never looked the same.
    """
    facts: Facts | None = found.facts
    for _ in range(_TRIES):
        try:  # O_NONBLOCK: a pipe that took the file's place must not make us wait
            fd = os.open(found.real, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError as error:
            words = f"{blobs.show(found.real)} cannot be read: {error.strerror}"
            raise ContentError(words, "make it readable") from error
        try:
            if facts is None:
                facts = walk.facts_of(os.fstat(fd))
            if not stat.S_ISREG(facts[4]):
                raise ContentError(f"{blobs.show(found.real)} is not a regular file", "leave it out")
            size, digits = read(fd, found.real, facts[0])
            if size == facts[0] and facts == walk.facts_of(os.fstat(fd)):
                return digits, facts
        finally:
            os.close(fd)
        facts = None
    raise ContentError(
        f"{blobs.show(found.real)} changed while it was read", "store it when nothing writes to it any more"
    )


def whole(fd: int, source: bytes, size: int) -> bytes:
    """Return what is in a small file; one call, unless it grew."""
    try:
        data = os.read(fd, size + 1)
        while len(data) > size:
            more = os.read(fd, blobs.CHUNK)
            if not more:
                break
            data += more
    except OSError as error:
        raise ContentError(f"{blobs.show(source)} cannot be read: {error.strerror}", "check the disk") from error
    return data


def _digest(fd: int, source: bytes, size: int) -> tuple[int, str]:
    if size <= blobs.CHUNK:
        data = whole(fd, source, size)
        return len(data), sha256(data).hexdigest()
    hasher = sha256()
    total = 0
    buffer = memoryview(bytearray(blobs.CHUNK))
    while True:
        got = _fill(fd, buffer, source)
        hasher.update(buffer[:got])
        total += got
        if got < len(buffer):
            return total, hasher.hexdigest()


def _pour(fd: int, out: int, view: memoryview, source: bytes) -> tuple[int, str]:
    """Copy and hash; return the bytes and the sha256."""
    hasher = sha256()
    total = 0
    while True:
        got = _fill(fd, view, source)
        hasher.update(view[:got])
        _write(out, view[:got])
        total += got
        if got < len(view):
            return total, hasher.hexdigest()


def _fill(fd: int, view: memoryview, source: bytes) -> int:
    """Read until the buffer is full or the file ends; return the bytes."""
    got = 0
    try:
        while got < len(view):
            more = os.readv(fd, [view[got:]])
            if not more:
                break
            got += more
    except OSError as error:
        raise ContentError(f"{blobs.show(source)} cannot be read: {error.strerror}", "check the disk") from error
    return got


def _write(out: int, data: memoryview) -> None:
    """Write a piece, past the page cache when it may: whole blocks only, so not the tail of a file."""
    if len(data) % mmap.PAGESIZE:
        _indirect(out)
    try:
        atomic.write_all(out, data)
    except OSError:
        if not _indirect(out):
            raise
        position = os.lseek(out, 0, os.SEEK_CUR) % _PIECE  # what of this piece is written already
        atomic.write_all(out, data[position:])


def _indirect(out: int) -> bool:
    """Write through the page cache from now on; tell whether that is a change."""
    flags = fcntl.fcntl(out, fcntl.F_GETFL)
    if not _DIRECT or not flags & _DIRECT:
        return False
    fcntl.fcntl(out, fcntl.F_SETFL, flags & ~_DIRECT)
    return True


class _Draft:
    """A new file that vanishes when writing it fails."""

    def __init__(self, root: str, path: str, source: bytes, needed: int, *, direct: bool = False) -> None:
        self._root = root
        self._path = path
        self._source = source
        self._needed = needed
        self._flags = _DIRECT if direct else 0
        self._fd = -1

    def __enter__(self) -> int:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        try:
            self._fd = os.open(self._path, flags | self._flags, 0o444)
        except OSError as error:
            blobs.remove(self._path)
            if not self._flags:
                raise blobs.refusal(error, self._root, blobs.show(self._source), self._needed) from error
            self._fd = os.open(self._path, flags, 0o444)  # a file system that only goes through the page cache
        return self._fd

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        os.close(self._fd)
        if error is None:
            return
        blobs.remove(self._path)
        if isinstance(error, OSError):
            raise blobs.refusal(error, self._root, blobs.show(self._source), self._needed) from error


def _sync(path: str) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _sync_all(folder: str) -> bool:
    """Make everything on the file system of ``folder`` durable; tell whether that can be done here.

    Raises:
        OSError: the disk failed.
    """
    from trainwright.runtime import tree

    call = tree.c_function("syncfs") if sys.platform == "linux" else None
    if call is None:
        return False
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if call(fd) == 0:
            return True
    finally:
        os.close(fd)
    return False  # fsync says what is wrong, file by file
