"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import sys

from trainwright.runtime import plainjson

_HERE = -100  # AT_FDCWD
_NO_REPLACE = 1  # RENAME_NOREPLACE


def unique() -> str:
    """Return sixteen hex digits that nobody else has."""
    return os.urandom(8).hex()


def sync_folder(folder: str | bytes) -> None:
    """Make the names in ``folder`` durable."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def write_all(fd: int, data: bytes | memoryview) -> None:
    """Write every byte, however many calls it takes.

    Raises:
        OSError: no space left, for one.
    """
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def replace(path: str, data: bytes) -> None:
    """Give ``path`` this content, durably; readers see the old or the new one."""
    draft = _draft(path, data)
    os.replace(draft, path)
    sync_folder(os.path.dirname(path))


def create(path: str, data: bytes, *, durable: bool = True) -> bool:
    """Give ``path`` this content unless it exists; tell whether it was us. Of several callers one wins."""
    draft = _draft(path, data, durable=durable)
    if not _name(draft, path):
        return False
    if durable:
        sync_folder(os.path.dirname(path))
    return True


def complete(draft: str, path: str, data: bytes) -> bool:
    """Do what a durable ``create`` does with a draft that may be there already, and with it the room it needs.

    Nothing is unlinked unless ``path`` exists: a file system without a journal looks, for each new file, past all that
    were deleted within the last minutes.
    """
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    try:
        write_all(fd, data)
        os.ftruncate(fd, len(data))
        os.fsync(fd)
    finally:
        os.close(fd)
    if not _name(draft, path):
        return False
    sync_folder(os.path.dirname(path))
    return True


def append(path: str, data: bytes) -> None:
    """Add to the end of a file, which is made when absent; not durable."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
    try:
        write_all(fd, data)
    finally:
        os.close(fd)


def write_new(path: str, data: bytes) -> bool:
    """Write a new file in place; tell whether it was us who made it.

    For readers who begin later, or who take half a file for none: cheaper than ``create``, and not durable.
    """
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
    except FileExistsError:
        return False
    try:
        write_all(fd, data)
    finally:
        os.close(fd)
    return True


def _name(draft: str, path: str) -> bool:
    """Turn a finished draft into ``path``, or remove it when that exists; tell which.

    One rename where the kernel can refuse to replace: to link and unlink costs a file system twice as much, and
    ext4 many times, once it has to look for an inode that was not deleted just now.
    """
    if "ctypes" in sys.modules:  # in a runner it is; elsewhere the import would cost more than it saves
        from trainwright.runtime import tree

        call = tree.c_function("renameat2")
        if call is not None and call(_HERE, os.fsencode(draft), _HERE, os.fsencode(path), _NO_REPLACE) == 0:
            return True
    try:
        os.link(draft, path)
    except FileExistsError:
        return False
    finally:
        os.unlink(draft)
    return True


def encode(value: object) -> bytes:
    """Return one JSON line; text that is not Unicode is escaped."""
    return (plainjson.dumps(value) + "\n").encode("utf-8", "backslashreplace")


def _draft(path: str, data: bytes, *, durable: bool = True) -> str:
    draft = path + "." + unique() + ".tmp"
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
    try:
        write_all(fd, data)
        if durable:
            os.fsync(fd)
    except BaseException:
        os.unlink(draft)
        raise
    finally:
        os.close(fd)
    return draft
