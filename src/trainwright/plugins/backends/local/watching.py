"""Runners under watch: one descriptor each, so that an end is known at once and a look costs one call."""

import os
import select
from collections.abc import Iterable

from trainwright.core.ids import AttemptId


class Watching:
    """The runners that this process has found so far."""

    def __init__(self) -> None:
        self._fds: dict[AttemptId, int] = {}

    def add(self, attempt: AttemptId, pid: int) -> None:
        """Watch a runner in the place of one that has ended; without pidfd, or when it is gone, none is watched."""
        if self.is_running(attempt):
            return
        self.drop(attempt)
        try:
            self._fds[attempt] = os.pidfd_open(pid)
        except OSError:
            return

    def drop(self, attempt: AttemptId) -> None:
        """Watch it no longer; harmless to repeat."""
        fd = self._fds.pop(attempt, None)
        if fd is not None:
            os.close(fd)

    def has(self, attempt: AttemptId) -> bool:
        """Tell whether this runner is under watch."""
        return attempt in self._fds

    def is_running(self, attempt: AttemptId) -> bool:
        """Tell whether a watched runner still runs; False also for one that is not watched."""
        fd = self._fds.get(attempt)
        return fd is not None and not _ended([fd], 0.0)

    def wait(self, attempts: Iterable[AttemptId], seconds: float) -> bool:
        """Return when one of these has ended, at the latest after ``seconds``; tell whether one has."""
        return _ended([self._fds[a] for a in attempts if a in self._fds], seconds)


def _ended(fds: list[int], seconds: float) -> bool:
    poller = select.poll()
    for fd in fds:
        poller.register(fd, select.POLLIN)
    return bool(poller.poll(max(0.0, seconds) * 1000))
