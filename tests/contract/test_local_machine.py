"""What the local backend does beside its contract: lost runners, names that lead out, and what the machine has."""

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from trainwright.core.errors import BackendError
from trainwright.core.ids import AttemptId
from trainwright.plugins.backends.local import machine
from trainwright.plugins.backends.local.backend import LocalBackend
from trainwright.plugins.backends.local.settings import LocalSettings
from trainwright.ports.backend import Ended, Running
from trainwright.ports.testing.backend import await_end
from trainwright.ports.testing.jobs import Draft
from trainwright.runtime import tree


@pytest.fixture
def backend(tmp_path: Path) -> LocalBackend:
    return LocalBackend(LocalSettings(tmp_path / "runs", tmp_path / "content", sys.executable))


def until(holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.005)


def test_a_dead_runner_is_lost_once_its_processes_are_gone(backend: LocalBackend) -> None:
    job = Draft().shell(
        'python3 -c "import trainwright as tw; tw.log(loss=0.5)"; touch up; setsid sleep 600 & sleep 600'
    )
    backend.start(job)
    folder = backend.folder(job.attempt)
    until((folder / "work" / "up").exists)
    runner = json.loads((folder / "runner.json").read_text())
    os.kill(runner["pid"], signal.SIGKILL)
    backend.wait([job.attempt], 10)
    end = await_end(backend, job.attempt)
    assert (end.cause, end.exit_code, end.signal, end.token) == ("lost", None, None, job.token)
    assert end.metrics["loss"].last == 0.5
    assert list(tree.marked(b"TW_ATTEMPT_DIR=" + bytes(folder))) == []
    assert backend.observe(job.attempt) == end


def test_an_order_that_no_runner_took_is_taken_up_again_and_given_up_in_the_end(backend: LocalBackend) -> None:
    job = Draft().argv("true")
    backend.start(job)
    await_end(backend, job.attempt)
    folder = backend.folder(job.attempt)
    for name in ("result.json", "runner.json", "started.json"):
        (folder / name).unlink()
    os.utime(folder / "job.json", (1, 1))  # the first start leaves no other note of when it was
    assert isinstance(backend.observe(job.attempt), Running)
    assert await_end(backend, job.attempt).cause == "exited"
    for name in ("result.json", "runner.json", "started.json"):
        (folder / name).unlink()
    (folder / "spawned").write_bytes(b".....")
    os.utime(folder / "spawned", (1, 1))
    end = backend.observe(job.attempt)
    assert isinstance(end, Ended)
    assert (end.cause, end) == ("not-started", backend.observe(job.attempt))


def test_another_process_waits_for_the_end_too(backend: LocalBackend, tmp_path: Path) -> None:
    job = Draft().shell("sleep 0.2")
    backend.start(job)
    other = LocalBackend(LocalSettings(tmp_path / "runs", tmp_path / "content", sys.executable))
    began = time.monotonic()
    other.wait([job.attempt], 10)
    await_end(other, job.attempt)
    assert time.monotonic() - began < 5
    other.wait([job.attempt], 10)
    other.wait([AttemptId("run1/none/1")], 0.01)
    assert time.monotonic() - began < 5


@pytest.mark.parametrize("name", ["../x/1", "a/../1", "/etc/x", "a/b", "a/b/1/2", "a//1", ".runtime/a/1", "a/b\0/1"])
def test_a_name_that_leads_out_is_refused(backend: LocalBackend, name: str) -> None:
    with pytest.raises(BackendError) as refused:
        backend.observe(AttemptId(name))
    assert refused.value.problem.code == "TW6302"


def test_an_interpreter_that_is_missing_is_told(tmp_path: Path) -> None:
    backend = LocalBackend(LocalSettings(tmp_path / "runs", tmp_path / "content", "/no/python"))
    with pytest.raises(BackendError, match="cannot be started"):
        backend.start(Draft().argv("true"))


def test_the_machine_has_cores_and_memory() -> None:
    real = machine.node()
    assert real.total.cpu_milli >= 1
    assert real.free == real.total


def test_cgroups_of_both_versions_cut_what_there_is(tmp_path: Path) -> None:
    v2 = tmp_path / "v2"
    (v2 / "pod" / "app").mkdir(parents=True)
    (v2 / "pod" / "cpu.max").write_text("50000 100000\n")
    (v2 / "pod" / "app" / "cpu.max").write_text("max 100000\n")
    (v2 / "pod" / "memory.max").write_text("1048576\n")
    assert machine.real_cpu_milli(v2, "0::/pod/app\n") == 500
    assert machine.real_memory_bytes(v2, "0::/pod/app\n") == 1048576
    v1 = tmp_path / "v1"
    (v1 / "cpu,cpuacct").mkdir(parents=True)
    (v1 / "cpu,cpuacct" / "cpu.cfs_quota_us").write_text("25000\n")
    (v1 / "cpu,cpuacct" / "cpu.cfs_period_us").write_text("100000\n")
    (v1 / "memory" / "job").mkdir(parents=True)
    (v1 / "memory" / "memory.limit_in_bytes").write_text("9223372036854771712\n")
    (v1 / "memory" / "job" / "memory.limit_in_bytes").write_text("2097152\n")
    text = "4:memory:/job\n3:cpu,cpuacct:/gone\n1:name=systemd:/\n"
    assert machine.real_cpu_milli(v1, text) == 250
    assert machine.real_memory_bytes(v1, text) == 2097152


def test_only_visible_devices_are_offered() -> None:
    assert machine.admits(None, 3, "GPU-abc")
    assert machine.admits("0, 3", 3, "GPU-abc")
    assert machine.admits("GPU-ab", 3, "GPU-abc")
    assert not machine.admits("", 0, "GPU-abc")
    assert not machine.admits("-1", 1, "GPU-abc")


class FakeNvml:
    """Stands for the third-party client: two GPUs."""

    class NVMLError(Exception):
        """As in pynvml."""

    def __init__(self, *, works: bool) -> None:
        self.works = works

    def nvmlInit(self) -> None:  # noqa: N802 - the client's own names
        if not self.works:
            raise self.NVMLError

    def nvmlShutdown(self) -> None:  # noqa: N802
        pass

    def nvmlDeviceGetCount(self) -> int:  # noqa: N802
        return 2

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:  # noqa: N802
        return index

    def nvmlDeviceGetUUID(self, handle: int) -> str:  # noqa: N802
        return f"GPU-{handle}"

    def nvmlDeviceGetName(self, handle: int) -> bytes:  # noqa: N802
        return b"NVIDIA H200"

    def nvmlDeviceGetMemoryInfo(self, handle: int) -> SimpleNamespace:  # noqa: N802
        return SimpleNamespace(total=141 * 2**30)


def test_gpus_come_from_nvml_and_a_broken_driver_means_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setitem(sys.modules, "pynvml", FakeNvml(works=True))
    assert [(d.index, d.model, d.vram_bytes, d.free_vram_bytes) for d in machine.gpus()] == [
        (0, "NVIDIA H200", 141 * 2**30, 141 * 2**30), (1, "NVIDIA H200", 141 * 2**30, 141 * 2**30),
    ]  # fmt: skip
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    assert [d.index for d in machine.gpus()] == [1]
    monkeypatch.setitem(sys.modules, "pynvml", FakeNvml(works=False))
    assert machine.gpus() == ()
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert machine.gpus() == ()
