"""The lock of a content store: who publishes or checks out shares it, who collects or mends has it alone.

So nothing that is on its way in can be taken for garbage. It is an ``flock``: it goes with the process.
"""

from __future__ import annotations

import os

from trainwright.runtime import blobs

FILE = "lock"


class Lock:
    """A context manager; holding it blocks."""

    __slots__ = ("_alone", "_fd", "_root")

    def __init__(self, root: str, *, alone: bool) -> None:
        self._root = root
        self._alone = alone
        self._fd = -1

    def __enter__(self) -> None:
        import fcntl

        blobs.make_folders(self._root)
        try:
            self._fd = os.open(os.path.join(self._root, FILE), os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
            fcntl.flock(self._fd, fcntl.LOCK_EX if self._alone else fcntl.LOCK_SH)
        except OSError as error:
            self.__exit__()
            raise blobs.refusal(error, self._root, "the lock", 0) from error

    def __exit__(self, *_: object) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def shared(root: str) -> Lock:
    """Return the lock as many may hold it at once.

    Raises:
        ContentError: on entering, when the store cannot be written to.
    """
    return Lock(root, alone=False)


def alone(root: str) -> Lock:
    """Return the lock as only one may hold it; entering waits for everybody else.

    Raises:
        ContentError: on entering, when the store cannot be written to.
    """
    return Lock(root, alone=True)
