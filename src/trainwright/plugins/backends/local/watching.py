"""Runners under watch: one descriptor each, so that an end is known at once and a look costs one call.

That of the process where it ends with its attempt, or the connection over which it was asked for.
"""

import os
import select
from collections.abc import Iterable

from trainwright.core.ids import AttemptId


class Watching:
    """The runners that this process has found so far."""

    def __init__(self) -> None:
        self._fds: dict[AttemptId, int] = {}
        self._outlived: set[AttemptId] = set()

    def add(self, attempt: AttemptId, pid: int, *, stays: bool = False) -> None:
        """Watch a runner in the place of one that has ended; without pidfd, or when it is gone, none is watched.

        Args:
            attempt: that it runs.
            pid: of its process.
            stays: the process may outlive the attempt, so that its end alone is not what to wait for.
        """
        if self.is_running(attempt):
            return
        self.drop(attempt)
        try:
            self._fds[attempt] = os.pidfd_open(pid)
        except OSError:
            return
        if stays:
            self._outlived.add(attempt)

    def adopt(self, attempt: AttemptId, fd: int) -> None:
        """Watch a runner by a descriptor that hangs up when it is done, unless another one is under watch and runs."""
        if self.is_running(attempt):
            os.close(fd)
            return
        self.drop(attempt)
        self._fds[attempt] = fd

    def drop(self, attempt: AttemptId) -> None:
        """Watch it no longer; harmless to repeat."""
        self._outlived.discard(attempt)
        fd = self._fds.pop(attempt, None)
        if fd is not None:
            os.close(fd)

    def has(self, attempt: AttemptId) -> bool:
        """Tell whether this runner is under watch so that the end of its attempt is seen."""
        return attempt in self._fds and attempt not in self._outlived

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
