"""The notice that an attempt has to give its room back: a file in its folder, and TERM for whoever handles it.

A script sees the file through ``should_stop()``. TERM goes to the commands alone, never to workers of theirs, and only
to a command that has a handler for it: one without would die on the spot, and lose the grace that it was promised.
"""

from __future__ import annotations

import os
import time

from trainwright.runtime import marks, plainjson, reading, tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

LOOK_S = 0.5
"""How often commands are looked at that had no handler before."""

_SHELLS = frozenset({"sh", "bash", "dash", "ash", "zsh", "ksh"})

_LAUNCHERS = frozenset(
    {
        *("torchrun", "torch.distributed.run", "torch.distributed.launch", "accelerate", "deepspeed"),
        *("accelerate.commands.launch", "timeout", "uv"),
    }
)
"""Programs that end what they started when they get TERM, before it has saved."""


class Notice:
    """A notice that reached the runner.

    Attributes:
        deadline: of ``time.monotonic``, when the grace is over.
    """

    def __init__(self, folder: str, checkpoints: str) -> None:
        """Read it; the grace begins now.

        Args:
            folder: of the attempt.
            checkpoints: folder of its checkpoints.
        """
        told = _read(folder)
        self.why = str(told.get("why") or "its room is needed")
        self.grace_s = float(told.get("grace_s") or 0.0)  # type: ignore[arg-type] # as the backend wrote it
        self.deadline = time.monotonic() + self.grace_s
        self._saved = os.path.join(checkpoints, marks.SAVED)
        self._given_at = _stamp(os.path.join(folder, marks.PREEMPT))
        self._told: set[int] = set()
        self._look_at = 0.0

    def pass_on(self, commands: Iterable[int], now: float) -> None:
        """Send TERM, once each, to the commands that handle it; called again it finds those that do by now.

        Args:
            commands: pids of what the runner started.
            now: of ``time.monotonic``.
        """
        if now < self._look_at:
            return
        self._look_at = now + LOOK_S
        for pid in addressees(commands):
            if pid not in self._told:
                self._told.add(pid)
                tree.send(pid, tree.TERM)

    def has_saved(self) -> bool:
        """Tell whether a checkpoint was committed since the notice: whoever did and left has not finished."""
        return _stamp(self._saved) >= self._given_at


def was_given(folder: str) -> bool:
    """Tell whether there is a notice for the attempt in ``folder``."""
    return os.path.exists(os.path.join(folder, marks.PREEMPT))


def why(folder: str) -> str:
    """Return what the notice says."""
    return str(_read(folder).get("why") or "its room is needed")


def addressees(commands: Iterable[int]) -> Iterator[int]:
    """Yield the processes that handle TERM: each command, or behind shells and launchers what they run."""
    children = tree.children()
    todo = list(commands)
    while todo:
        pid = todo.pop()
        name = _program(pid)
        if name in _LAUNCHERS or (name in _SHELLS and not tree.handles(pid, tree.TERM)):
            todo += children.get(pid, [])
        elif tree.handles(pid, tree.TERM):
            yield pid


def _program(pid: int) -> str:
    """Return the name of a program, of a script or module when Python runs it; empty when it is gone."""
    try:
        words = [os.fsdecode(w) for w in reading.read(f"/proc/{pid}/cmdline").split(b"\0")]
    except OSError:
        return ""
    first = os.path.basename(words[0]).lstrip("-")
    rest = words[1:]
    if not first.startswith("python") or not rest:
        return first
    return rest[1] if rest[0] == "-m" and len(rest) > 1 else os.path.basename(rest[0])


def _read(folder: str) -> dict[str, object]:
    try:
        found = plainjson.loads(reading.read(os.path.join(folder, marks.PREEMPT)))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _stamp(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0
