"""The local backend after a power cut: what lost its bytes counts as lost, without anybody's help."""

import sys
from pathlib import Path

import pytest

from trainwright.core.job import JobSpec
from trainwright.plugins.backends.local.backend import LocalBackend
from trainwright.plugins.backends.local.settings import LocalSettings
from trainwright.ports.backend import Ended
from trainwright.ports.testing.jobs import Draft

JOB = Draft(step="quick").shell('echo began >> "$TW_ATTEMPT_DIR/began"')


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path


def backend(root: Path) -> LocalBackend:
    return LocalBackend(LocalSettings(root / "runs", root / "content", sys.executable))


@pytest.fixture
def folder(root: Path) -> Path:
    """Return the folder of an attempt that has ended."""
    one = backend(root)
    one.start(JOB)
    while not isinstance(one.observe(JOB.attempt), Ended):
        one.wait([JOB.attempt], 5)
    return one.folder(JOB.attempt)


def observed(root: Path, job: JobSpec = JOB) -> Ended:
    seen = backend(root).observe(job.attempt)
    assert isinstance(seen, Ended)
    return seen


@pytest.mark.parametrize("data", [b"", b"\0" * 64, b'{"format": 1, "cause": "exi', b"[]"])
@pytest.mark.parametrize("runner", ["dead", "broken", "gone"])
def test_a_result_without_its_bytes_of_a_dead_runner_is_lost(
    root: Path, folder: Path, data: bytes, runner: str
) -> None:
    (folder / "result.json").write_bytes(data)
    if runner == "broken":
        (folder / "runner.json").write_bytes(b"")
    elif runner == "gone":
        (folder / "runner.json").unlink()
    assert (observed(root).cause, observed(root).token) == ("lost", JOB.token)
    assert (folder / "began").read_text() == "began\n"


def test_a_runner_without_its_bytes_is_dead(root: Path, folder: Path) -> None:
    (folder / "result.json").unlink()
    (folder / "runner.json").write_bytes(b"\0\0")
    backend(root).wait([JOB.attempt], 5)
    assert observed(root).cause == "lost"


def test_an_order_without_its_bytes_is_as_if_never_given_and_can_be_given_again(root: Path, folder: Path) -> None:
    (folder / "result.json").unlink()
    (folder / "job.json").write_bytes(b"")
    assert backend(root).observe(JOB.attempt) is None
    backend(root).start(JOB)
    assert observed(root).cause == "lost"
    assert (folder / "began").read_text() == "began\n", "it was carried out once"


def test_an_order_without_its_bytes_that_nobody_took_is_carried_out_when_given_again(root: Path) -> None:
    one = backend(root)
    folder = one.folder(JOB.attempt)
    folder.mkdir(parents=True)
    (folder / "job.json").write_bytes(b"")
    assert one.observe(JOB.attempt) is None
    one.start(JOB)
    while not isinstance(one.observe(JOB.attempt), Ended):
        one.wait([JOB.attempt], 5)
    assert observed(root).exit_code == 0
