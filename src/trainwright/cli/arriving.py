"""How far files from elsewhere are: one line on a terminal, rewritten; one sentence at the end."""

import sys
import time

from trainwright.cli import output
from trainwright.core.quantity import show_bytes

_REFRESH_S = 0.1


class Arriving:
    """See ``service.fetching.Progress``.

    Attributes:
        fetched: how many files came; the others were here. None when nothing is remote.
    """

    def __init__(self) -> None:
        self.fetched: int | None = None
        self._files = self._here = self._bytes = 0
        self._total: int | None = None
        self._shown_at = 0.0
        self._is_shown = False

    def __enter__(self) -> "Arriving":
        return self

    def __exit__(self, *_: object) -> None:
        self._clear()

    def begin(self, files: int, size_bytes: int | None) -> None:
        """See ``Progress.begin``."""
        self.fetched, self._files, self._total = 0, files, size_bytes

    def arrived(self, size_bytes: int | None) -> None:
        """See ``Progress.arrived``."""
        if size_bytes is None:
            self._here += 1
        else:
            self.fetched = (self.fetched or 0) + 1
            self._bytes += size_bytes
        now = time.monotonic()
        if sys.stderr.isatty() and now - self._shown_at >= _REFRESH_S:
            self._shown_at, self._is_shown = now, True
            total = f" of {show_bytes(self._total)}" if self._total is not None else ""
            done = self._here + (self.fetched or 0)
            sys.stderr.write(f"\r\x1b[K{done} of {self._files} files, {show_bytes(self._bytes)}{total} fetched")
            sys.stderr.flush()

    def conclude(self) -> None:
        """Say what came."""
        if self.fetched is not None:
            others = f"; {self._here} unchanged" if self._here else ""
            output.say(f"fetched {self.fetched} of {self._files} file(s), {show_bytes(self._bytes)}{others}")

    def _clear(self) -> None:
        if self._is_shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
