"""A dead engine is called back to life by an attempt that ends; a living one is left alone."""

import fcntl
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from trainwright.runtime import revive, tree

DEAD = {"pid": os.getpid(), "start_ticks": 1, "boot_id": tree.boot_id()}


def engine(folder: Path, identity: dict[str, Any]) -> dict[str, Any]:
    return {
        "identity": identity,
        "argv": [sys.executable, "-c", "import os; print(os.environ['TW_HOME'], flush=True)"],
        "env": {"TW_HOME": "here"},
        "lock": str(folder / "engine.lock"),
        "log": str(folder / "engine.log"),
    }


def test_a_dead_engine_is_started_anew_with_its_own_environment(tmp_path: Path) -> None:
    assert revive.revive(engine(tmp_path, DEAD), os.environb)
    deadline = time.monotonic() + 20
    while not (tmp_path / "engine.log").exists() or not (tmp_path / "engine.log").read_text():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert (tmp_path / "engine.log").read_text() == "here\n"
    os.wait()


def test_a_living_engine_is_left_alone(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        assert not revive.revive(engine(tmp_path, tree.identity(other.pid)), os.environb)
        other.kill()


def test_a_background_engine_that_has_the_place_is_left_alone(tmp_path: Path) -> None:
    with (tmp_path / "engine.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert not revive.revive(engine(tmp_path, DEAD), os.environb)


def test_an_installation_that_is_gone_is_no_failure_of_the_attempt(tmp_path: Path) -> None:
    assert not revive.revive({**engine(tmp_path, DEAD), "argv": [str(tmp_path / "python")]}, os.environb)
