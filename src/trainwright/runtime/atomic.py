"""Files that are there whole or not at all."""

from __future__ import annotations

import os

from trainwright.runtime import plainjson


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
    try:
        os.link(draft, path)
    except FileExistsError:
        return False
    finally:
        os.unlink(draft)
    if durable:
        sync_folder(os.path.dirname(path))
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
