"""Reading small files without file objects, which cost more than the files do."""

from __future__ import annotations

import os


def read(path: str) -> bytes:
    """Return the bytes of a file.

    Raises:
        OSError: there is none, or it cannot be read.
    """
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        parts: list[bytes] = []
        while True:
            part = os.read(fd, 1 << 14)
            if not part:
                return b"".join(parts)
            parts.append(part)
    finally:
        os.close(fd)
