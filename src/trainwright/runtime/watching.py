"""Waiting for the commands of an attempt: until they have ended, their time is up, or somebody wants their room."""

from __future__ import annotations

import os
import time

from trainwright.runtime import limits, marks, notice, tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from trainwright.runtime.telemetry import Sampler

POLL_S = 0.05
"""How often the files are looked for by which an attempt is told something."""


class Watch:
    """The watch over the commands of one attempt, one a replica.

    Attributes:
        notice: that it has to give its room back; None before there was one.
    """

    def __init__(
        self, folder: str, checkpoints: str, processes: tree.Tree, sampler: Sampler, held: limits.Limits
    ) -> None:
        self._folder, self._checkpoints = folder, checkpoints
        self._stop = os.path.join(folder, marks.STOP)
        self._tree, self._sampler, self._limits = processes, sampler, held
        self.notice: notice.Notice | None = None

    def wait(self, commands: Sequence[int], limit_s: float | None) -> str:
        """Return how it ended: ``exited``, ``stopped``, ``timeout``, ``out-of-memory``, or ``preempted``: at the grace.

        Commands have ended when all did, or one did badly; after a notice each may take its time.

        Args:
            commands: pids of what was started.
            limit_s: seconds from now that they may take; None = for ever.
        """
        began = time.monotonic()
        deadline = None if limit_s is None else began + limit_s
        look_at = began + limits.WATCH_S
        while True:
            self._tree.reap()
            if any(pid in self._tree.statuses for pid in commands):
                self._look()  # a script may have seen it, and left, before we have
                if self._is_over(commands):
                    return "exited"
            if os.path.exists(self._stop):
                return "stopped"
            now = time.monotonic()
            deadline = self._heed(commands, now, deadline)
            left_s = POLL_S if deadline is None else deadline - now
            if left_s <= 0:
                return "preempted" if self.notice else "timeout"
            self._sampler.sample(now)
            if now >= look_at:
                look_at = now + limits.WATCH_S
                if self._limits.exceeded(tree.descendants(os.getpid()) if self._limits.kind == "watchdog" else []):
                    return "out-of-memory"
            if tree.next_signal(min(left_s, POLL_S)) == tree.TERM:
                return "stopped"

    def decisive(self, commands: Sequence[int]) -> int:
        """Return the command whose end counts: the first that ended badly, else the first of all."""
        failed = (pid for pid, status in self._tree.statuses.items() if status and pid in commands)
        return next(failed, commands[0])

    def _is_over(self, commands: Sequence[int]) -> bool:
        statuses = self._tree.statuses
        ended = [statuses[pid] for pid in commands if pid in statuses]
        return len(ended) == len(commands) or (any(ended) and self.notice is None)

    def _look(self) -> None:
        if self.notice is None and notice.was_given(self._folder):
            self.notice = notice.Notice(self._folder, self._checkpoints)

    def _heed(self, commands: Sequence[int], now: float, deadline: float | None) -> float | None:
        """Take notice when there is one, and pass it on; return when the time is up."""
        self._look()
        if self.notice is None:
            return deadline
        self.notice.pass_on([pid for pid in commands if pid not in self._tree.statuses], now)
        return self.notice.deadline if deadline is None else min(deadline, self.notice.deadline)
