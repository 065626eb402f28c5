"""Numbered moments of one process; at one of them it dies by KILL, or stands still.

Standard library only and nothing of ours: it is loaded into runners too.
"""

import os
import signal
from collections.abc import Callable
from typing import Any

# before anybody wraps them
_open, _write, _close, _rename, _kill, _access = os.open, os.write, os.close, os.rename, os.kill, os.access


def note(path: str, line: str) -> None:
    """Append one line; whole, whoever else does."""
    fd = _open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
    _write(fd, (line + "\n").encode())
    _close(fd)


class Points:
    """The moments that one process has passed.

    Attributes:
        seen: names, in order.
    """

    def __init__(
        self, folder: str, who: str, *, at: int = 0, freeze: bool = False, once: str = "", armed: str = ""
    ) -> None:
        """Prepare.

        Args:
            folder: of the round; where it is noted which point was met.
            who: names the process in that note.
            at: number of the point to die at, from 1; 0 = none.
            freeze: stand still (STOP) there, instead of dying.
            armed: file that has to be there before a moment counts; empty = every one does.
            once: file that has to be renamed before dying, so that of several processes one dies.
        """
        self.seen: list[str] = []
        self._folder = folder
        self._who = who
        self._at = at
        self._signal = signal.SIGSTOP if freeze else signal.SIGKILL
        self._once = once
        self._armed = armed

    def here(self, name: str) -> None:
        """Pass a moment, or die."""
        if self._armed and not _access(self._armed, os.F_OK):
            return
        self.seen.append(name)
        if len(self.seen) != self._at:
            return
        if self._once:
            try:
                _rename(self._once, self._once + ".met")
            except FileNotFoundError:
                return
        note(self._folder + "/met", f"{self._who} {self._at}: {name}")
        _kill(os.getpid(), self._signal)

    def around(self, owner: Any, name: str, label: Callable[..., str] | None = None, *, after: bool = True) -> None:
        """Make every call of ``owner.name`` two moments, or one: the one before it."""
        inner = getattr(owner, name)

        def wrapped(*args: Any, **named: Any) -> Any:
            what = name if label is None else f"{name} {label(*args)}"
            self.here(f"before {what}")
            result = inner(*args, **named)
            if after:
                self.here(f"after {what}")
            return result

        setattr(owner, name, wrapped)
