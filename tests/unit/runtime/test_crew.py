"""Runners that stay are given one connection at a time, and only when they have no process left."""

import socket
import subprocess
import sys

from trainwright.runtime.crew import Crew

WAITS = """
import _socket, sys
from trainwright.runtime import crew
line = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM, 0, int(sys.argv[1]))
CHILD
before, peer = _socket.socketpair()
peer = crew.wait(line, before)
with open(sys.argv[2], "w") as file:
    file.write("none" if peer is None else peer.recv(100).decode())
CHILD_END
"""


def waiting(line: socket.socket, path: str, begin: str = "", end: str = "") -> subprocess.Popen[bytes]:
    """Start a runner that waits."""
    script = WAITS.replace("CHILD_END", end).replace("CHILD", begin)
    words = [sys.executable, "-c", script, str(line.fileno()), path]
    return subprocess.Popen(words, pass_fds=[line.fileno()])


def test_a_runner_that_waits_is_given_the_connection(tmp_path) -> None:
    crew = Crew()
    line = crew.line()
    runner = waiting(line, str(tmp_path / "said"))
    line.close()
    asks, peer = socket.socketpair()
    while not crew.take(peer):
        assert runner.poll() is None
    peer.close()
    asks.sendall(b"hello")
    assert runner.wait() == 0
    assert (tmp_path / "said").read_text() == "hello"
    assert asks.recv(1) == b""  # it hangs up when it ends
    assert not crew.take(asks)
    assert crew.descriptors() == ()
    asks.close()


def test_a_runner_at_work_is_left_alone_and_one_that_is_gone_is_forgotten() -> None:
    crew = Crew()
    at_work, gone = crew.line(), crew.line()
    gone.close()
    one, other = socket.socketpair()
    assert not crew.take(one)
    assert len(crew.descriptors()) == 1
    at_work.close()
    assert not crew.take(one)
    for end in (one, other):
        end.close()


def test_a_runner_with_a_process_left_does_not_wait(tmp_path) -> None:
    crew = Crew()
    line = crew.line()
    begin = "import subprocess; left = subprocess.Popen(['sleep', '600'])"
    runner = waiting(line, str(tmp_path / "said"), begin, "left.kill(); left.wait()")
    line.close()
    assert runner.wait() == 0
    assert (tmp_path / "said").read_text() == "none"
    asks, peer = socket.socketpair()
    assert not crew.take(peer)
    asks.close()
    peer.close()
