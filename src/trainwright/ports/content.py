"""The port to the content store: bytes by what they are."""

from pathlib import Path
from typing import Protocol

from trainwright.core.artifact import Content
from trainwright.core.ids import Digest


class ContentStore(Protocol):
    """Keeps files and folders under the digest of their manifest."""

    def put(self, path: Path) -> Content:
        """Store a file or folder; equal content is stored once.

        Raises:
            BackendError: unreadable, changed while it was read, holds a link that leads outside, or no space left.
        """
        ...

    def put_files(self, root: Path, paths: tuple[str, ...]) -> Content:
        """Store these files under ``root`` as one folder; ``paths`` are relative, with ``/``.

        Raises:
            BackendError: as ``put``.
        """
        ...

    def has(self, digest: Digest) -> bool:
        """Tell whether the manifest and every blob it names are there, by name and size."""
        ...

    def entries(self, digest: Digest) -> tuple[tuple[str, int, str], ...]:
        """Return path, bytes and sha256 of each file, sorted by path.

        Raises:
            NotFoundError: no such manifest.
        """
        ...

    def export(self, digest: Digest, target: Path) -> Path:
        """Copy the content out; ``target`` must not exist yet. Return the file or folder written.

        Raises:
            NotFoundError: no such manifest.
            BackendError: a blob is missing or altered.
        """
        ...
