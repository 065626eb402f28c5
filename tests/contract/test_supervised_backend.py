"""With a supervisor that forks the runners the promises hold too, and its death is nobody else's."""

import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_local_backend import TestLocalBackend

from trainwright.plugins.backends.local.backend import LocalBackend
from trainwright.plugins.backends.local.settings import LocalSettings
from trainwright.ports.backend import Ended
from trainwright.ports.testing.backend import await_end
from trainwright.ports.testing.jobs import Draft
from trainwright.runtime import supervisor, tree


def supervisors(sockets: Path) -> list[int]:
    """Return the pids of those who serve this folder, not of the runners they forked."""
    found = []
    for pid in tree.pids():
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            continue
        if b"\0supervise\0" + os.fsencode(sockets) in words:
            found.append(pid)
    parents = {pid: fields[1] for pid in found if (fields := tree.stat_fields(pid))}  # some are gone by now
    return [pid for pid, parent in parents.items() if int(parent) not in found]


@pytest.fixture
def sockets() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir="/tmp") as name:  # the path of a socket is short, pytest's folders are not
        yield Path(name)


@pytest.fixture
def backend(tmp_path: Path, sockets: Path) -> Iterator[LocalBackend]:
    yield LocalBackend(
        LocalSettings(
            tmp_path / "runs", tmp_path / "content", sys.executable, sockets=sockets, ledger=tmp_path / "ledger"
        )
    )
    for pid in supervisors(sockets):
        tree.send(pid, signal.SIGKILL)


def run(backend: LocalBackend, name: str, script: str = "exit 0") -> Ended:
    job = Draft(step=name).shell(script)
    backend.start(job)
    return await_end(backend, job.attempt)


def serving(backend: LocalBackend, sockets: Path) -> int:
    """Run until a supervisor serves; return its pid."""
    for number in range(50):
        run(backend, f"warm{number}")
        pids = supervisors(sockets)
        if list((sockets).glob("*.sock")) and len(pids) == 1:  # those who came second have left
            return pids[0]
    raise AssertionError("no supervisor came up")


class TestSupervised(TestLocalBackend):
    @pytest.fixture(autouse=True)
    def _supervised(self, backend: LocalBackend, sockets: Path) -> None:
        serving(backend, sockets)
        self.backend = backend

    def open(self) -> LocalBackend:
        return self.backend


def test_a_runner_is_forked_by_the_supervisor_with_the_environment_of_who_asked(
    backend: LocalBackend, sockets: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pid = serving(backend, sockets)
    monkeypatch.setenv("COLOUR", "blue")
    job = Draft(step="colour").shell('echo "$COLOUR"; ps -o ppid= -p "$PPID"')
    backend = LocalBackend(backend._settings)  # the environment is that of the process when it opened the backend
    backend.start(job)
    await_end(backend, job.attempt)
    colour, parent = (backend.folder(job.attempt) / "log").read_text().split()
    assert (colour, int(parent)) == ("blue", pid)


def test_the_supervisors_death_is_no_runners_death_and_the_next_start_does_without(
    backend: LocalBackend, sockets: Path
) -> None:
    pid = serving(backend, sockets)
    job = Draft(step="long").shell("while ! test -e ../go; do sleep 0.02; done; exit 3")
    backend.start(job)
    while not (backend.folder(job.attempt) / "started.json").exists():
        backend.wait([job.attempt], 0.02)
    os.kill(pid, signal.SIGKILL)
    (backend.folder(job.attempt) / "go").touch()
    assert await_end(backend, job.attempt).exit_code == 3
    assert run(backend, "after", "exit 4").exit_code == 4


def test_two_supervisors_never_serve_one_socket(backend: LocalBackend, sockets: Path) -> None:
    serving(backend, sockets)
    (socket,) = (sockets).glob("*.sock")
    supervisor.supervise(str(socket))  # returns: another one has the lock
    assert len(supervisors(sockets)) == 1


def test_nobody_else_may_ask(backend: LocalBackend, sockets: Path) -> None:
    serving(backend, sockets)
    (socket,) = (sockets).glob("*.sock")
    assert socket.stat().st_mode & 0o777 == 0o600


def test_a_broken_request_leaves_the_supervisor_serving(backend: LocalBackend, sockets: Path) -> None:
    pid = serving(backend, sockets)
    (socket,) = (sockets).glob("*.sock")
    connection = supervisor.request(str(socket), "/no/such/folder", {})
    assert connection is not None  # forked, and its runner fails alone
    os.close(connection)
    assert run(backend, "after", "exit 5").exit_code == 5
    assert supervisors(sockets) == [pid]


def test_a_socket_nobody_listens_on_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / "dead.sock").touch()
    assert supervisor.request(str(tmp_path / "dead.sock"), "x", {}) is None
    assert supervisor.request(str(tmp_path / ("long" * 50)), "x", {}) is None
