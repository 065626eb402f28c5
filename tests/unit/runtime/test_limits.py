"""Memory is held by the kernel where it can be, by a watchdog where it cannot, and the end says which."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from trainwright.ports.testing.jobs import Draft
from trainwright.runtime import limits, telemetry

MIB = 2**20
GREEDY = "b = [bytearray(10 * 2**20) for _ in range(40)]"
HELD = limits.find_layout() is not None


@pytest.mark.skipif(not HELD, reason="no cgroup can be made here")
def test_the_kernel_ends_a_command_that_takes_more_memory_than_it_asked_for(bench: Any) -> None:
    result = bench.run(Draft(memory_bytes=100 * MIB).argv(sys.executable, "-c", GREEDY))
    assert (result["cause"], result["signal"]) == ("out-of-memory", 9)
    assert str(100 * MIB) in result["message"]
    assert result["usage"]["memory_limit"].startswith("cgroup")


@pytest.mark.skipif(not HELD, reason="no cgroup can be made here")
def test_a_command_within_its_memory_is_left_alone_and_its_group_is_removed(bench: Any) -> None:
    layout = limits.find_layout()
    assert layout is not None
    result = bench.run(Draft(memory_bytes=200 * MIB).argv(sys.executable, "-c", "print('fine')"))
    assert (result["cause"], result["log"]) == ("exited", "fine\n")
    assert not [name for name in os.listdir(layout.memory) if name.startswith("trainwright-")]  # noqa: PTH208


@pytest.mark.skipif(not HELD, reason="no cgroup can be made here")
def test_a_kill_from_outside_is_not_taken_for_a_lack_of_memory(bench: Any) -> None:
    result = bench.run(Draft(memory_bytes=200 * MIB).shell("kill -KILL $$"))
    assert (result["cause"], result["signal"]) == ("exited", 9)


def test_without_a_group_a_watchdog_compares_what_is_resident() -> None:
    held = limits.Limits({"memory_bytes": 10 * MIB, "cpu_milli": 1000}, None, "x")
    assert held.kind == "watchdog"
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as small:
        assert not held.exceeded([])
        code = f"b = bytearray({30 * MIB}); print(1, flush=True); input()"
        with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as big:
            assert big.stdout is not None
            big.stdout.readline()
            assert held.exceeded([big.pid])
            big.kill()
        small.kill()


def test_without_a_stated_amount_nothing_is_limited(tmp_path: Path) -> None:
    held = limits.Limits({"memory_bytes": 0, "cpu_milli": 1000}, limits.Layout(1, "", str(tmp_path), None), "x")
    assert held.kind == "none"
    assert list(tmp_path.iterdir()) == []


def test_a_second_version_group_is_made_where_the_controller_is_passed_on(tmp_path: Path) -> None:
    """A fake of the v2 tree: no machine of ours has one to write to."""
    own = tmp_path / "a" / "b"
    own.mkdir(parents=True)
    (own / "cgroup.subtree_control").write_text("")
    (tmp_path / "a" / "cgroup.subtree_control").write_text("cpu memory\n")
    layout = limits.find_layout(str(tmp_path), "0::/a/b\n")
    assert layout is not None
    found = (layout.version, layout.home, layout.memory, layout.cpu)
    assert found == (2, str(own), str(tmp_path / "a"), str(tmp_path / "a"))


def test_a_machine_that_lets_nobody_make_groups_has_no_layout(tmp_path: Path) -> None:
    assert limits.find_layout(str(tmp_path), "0::/\n") is None


def test_samples_of_use_are_taken_when_they_are_due(tmp_path: Path) -> None:
    sampler = telemetry.Sampler(str(tmp_path), [])
    sampler.sample(0.0)
    assert not (tmp_path / telemetry.FILE).exists()
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        sampler.sample(1e12)
        child.kill()
    assert '"processes":' in (tmp_path / telemetry.FILE).read_text()
    assert sampler.peak_bytes > 0


def test_a_sample_that_cannot_be_written_breaks_nothing(tmp_path: Path) -> None:
    sampler = telemetry.Sampler(str(tmp_path / "gone"), [])
    sampler.sample(1e12)
    assert not (tmp_path / "gone").exists()
