"""Runners that stay: a warm interpreter keeps those it forked for the attempts that come next.

To fork an interpreter with all its packages is most of what the start of a function costs; so a runner whose attempt
ended in the plainest way, and that has no process left, waits some time for another one. It runs one at a time and is
a runner in all else: its death is the loss of that attempt, and that of the interpreter it came from is nothing to it.
Between the two goes a line: the runner says on it that it waits, and is sent the connection of whoever asks.
"""

from __future__ import annotations

import os
import sys

from trainwright.runtime import tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
else:
    try:
        import _socket as socket  # the plain module, see supervisor
    except ImportError:
        import socket

LINGER_S = 30.0
"""How long a runner waits for another attempt."""

_WAITS = b"."
_FD_BYTES = 4


class Crew:
    """The runners of one warm interpreter, as it sees them."""

    def __init__(self) -> None:
        """Begin with none."""
        self._lines: list[socket.socket] = []

    def line(self) -> socket.socket:
        """Return the end of a new line that belongs to the runner about to be forked."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        ours.settimeout(0.0)
        self._lines.append(ours)
        return theirs

    def descriptors(self) -> tuple[int, ...]:
        """Return our ends of all lines: a runner that kept one would not see that we are gone."""
        return tuple(line.fileno() for line in self._lines)

    def take(self, peer: socket.socket) -> bool:
        """Give a connection to a runner that waits; tell whether one took it. The one that worked last comes first."""
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, peer.fileno().to_bytes(_FD_BYTES, sys.byteorder))]
        for line in self._lines[::-1]:
            try:
                if line.recv(1):
                    line.sendmsg([_WAITS], rights)
                    return True
            except BlockingIOError:  # it is at work
                continue
            except OSError:
                pass
            self._lines.remove(line)  # its runner is gone
            line.close()
        return False


def wait(line: socket.socket, peer: socket.socket) -> socket.socket | None:
    """Wait in a runner for its next attempt; return the connection of who asks, or None when it is time to leave.

    Args:
        line: to the interpreter.
        peer: who asked for the attempt that is over. Told after the interpreter was: the next step comes at once.
    """
    if not _is_alone():
        return None  # an engine that was called back to life: it must not count as of the next attempt
    _let_go()
    try:
        line.settimeout(LINGER_S)
        line.sendall(_WAITS)
        peer.close()
        _, rights, _, _ = line.recvmsg(1, socket.CMSG_LEN(_FD_BYTES), socket.MSG_CMSG_CLOEXEC)
    except OSError:  # nobody came, or the interpreter is gone
        return None
    tree.hold_signals()
    if not rights:
        return None
    return socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, int.from_bytes(rights[0][2][:_FD_BYTES], sys.byteorder))


def _is_alone() -> bool:
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return True
    return False


def _let_go() -> None:
    """Hold nothing of the attempt that is over: its folder, its log, the signals that were kept for it."""
    os.chdir("/")
    null = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
    os.dup2(null, 1)
    os.dup2(null, 2)
    os.close(null)
    tree.release_signals()
