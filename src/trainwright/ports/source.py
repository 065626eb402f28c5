"""The port to places where raw data lives."""

from pathlib import Path
from typing import Protocol


class DataSource(Protocol):
    """Turns a URI of its scheme into something on this machine's disk.

    Used by clients only: the control plane never opens a URI that came with a request.
    """

    scheme: str

    def locate(self, uri: str, base: Path) -> Path:
        """Return the file or folder behind ``uri``; relative ones start at ``base``.

        Raises:
            NotFoundError: nothing is there.
        """
        ...
