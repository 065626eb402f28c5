"""How far a long piece of work is: one line on a terminal, which is gone at the end; nothing elsewhere."""

import sys
import time

from trainwright.core.quantity import show_bytes

_PATIENCE_S = 1.0
_EVERY_S = 0.2


class Progress:
    """A context manager; what takes less than a second shows nothing."""

    def __init__(self) -> None:
        self._is_terminal = sys.stderr.isatty()
        self._next = time.monotonic() + _PATIENCE_S
        self._shown = False

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *_: object) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def told(self, files: int, size_bytes: int, all_files: int, all_bytes: int) -> None:
        """Show how many of the files and bytes are done."""
        if self._is_due():
            done, total = show_bytes(size_bytes), show_bytes(all_bytes)
            self._show(f"{files}/{all_files} files, {done} of {total}")

    def counted(self, what: str, done: int, total: int) -> None:
        """Show how many of some things are done."""
        if self._is_due():
            self._show(f"{what}: {done}/{total} jobs")

    def _is_due(self) -> bool:
        return self._is_terminal and time.monotonic() >= self._next

    def _show(self, text: str) -> None:
        self._next = time.monotonic() + _EVERY_S
        self._shown = True
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()
