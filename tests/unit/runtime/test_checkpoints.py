"""Checkpoints that a killed, failed or altered save leaves behind never count."""

import errno
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from trainwright.runtime import calls, checkpoint
from trainwright.runtime.checkpoint import Checkpoints

SAVER = """
import sys, time
from trainwright.runtime.checkpoint import Checkpoints
kept = Checkpoints(sys.argv[1])
for step in range(100, 100000, 100):
    with kept.save(step) as folder:
        for shard in range(4):
            with open(f"{folder}/shard{shard}", "wb") as file:
                for _ in range(8):
                    file.write(str(step).encode() * 2000)
    print(step, flush=True)
"""


def save(kept: Checkpoints, step: int, size: int = 10) -> None:
    with kept.save(step) as folder:
        Path(folder, "w").write_bytes(bytes([step % 256]) * size)


def step_of(path: str | None) -> int:
    assert path is not None
    return int(Path(path).parent.name.rpartition("-")[2])


def test_a_kill_in_the_middle_of_a_save_leaves_the_last_committed_one(tmp_path: Path) -> None:
    chance = random.Random(7)
    for number in range(20):
        folder = tmp_path / str(number)
        saver = subprocess.Popen([sys.executable, "-S", "-c", SAVER, folder], stdout=subprocess.PIPE, env=_env())
        assert saver.stdout is not None
        committed = [int(saver.stdout.readline()) for _ in range(2)]
        try:
            saver.wait(chance.random() * 0.01)
        except subprocess.TimeoutExpired:
            os.kill(saver.pid, signal.SIGKILL)
        committed += [int(line) for line in saver.communicate()[0].splitlines()]
        latest = Checkpoints(str(folder)).latest()
        # the kill may fall between the commit and its line
        assert step_of(latest) in {committed[-1], committed[-1] + 100}
        shards = {p.read_bytes() for p in Path(latest or "").iterdir()}
        assert shards == {str(step_of(latest)).encode() * 16000}
        save(Checkpoints(str(folder)), 7)
        assert [path.name for path in folder.glob(".*")] == [".saved"]


def _env() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path(checkpoint.__file__).parents[2])}


@pytest.mark.parametrize(
    "damage",
    [
        lambda f: (f / "data" / "w").write_bytes(b"\x2d" + b"\x2c" * 9),
        lambda f: (f / "data" / "w").write_bytes(b""),
        lambda f: (f / "data" / "w").unlink(),
        lambda f: (f / "data" / "extra").touch(),
        lambda f: (f / "manifest.json").unlink(),
        lambda f: (f / "manifest.json").write_text("{"),
    ],
)
def test_an_altered_checkpoint_is_passed_over_and_named(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], damage: Callable[[Path], object]
) -> None:
    kept = Checkpoints(str(tmp_path))
    save(kept, 200)
    save(kept, 300)
    newest = Path(kept.latest() or "").parent
    damage(newest)
    assert step_of(kept.latest()) == 200
    assert newest.name in capfd.readouterr().err


def test_three_are_kept_and_the_order_is_that_of_saving(tmp_path: Path) -> None:
    kept = Checkpoints(str(tmp_path))
    assert kept.latest() is None
    for step in (1, 2, 3, 4, 5, 2):
        save(kept, step)
    assert step_of(kept.latest()) == 2
    assert sorted(p.name for p in tmp_path.glob("0*")) == [
        f"{n:06d}-step-{s:012d}" for n, s in ((4, 4), (5, 5), (6, 2))
    ]


def test_a_save_that_raises_is_no_checkpoint_and_keeps_the_old_ones(tmp_path: Path) -> None:
    kept = Checkpoints(str(tmp_path))
    save(kept, 1)
    with pytest.raises(ZeroDivisionError), kept.save(2):
        _ = 1 / 0
    assert step_of(kept.latest()) == 1
    assert len(list(tmp_path.glob("0*"))) == 1


def test_a_full_disk_is_told_with_place_and_numbers_and_the_older_stay(tmp_path: Path, monkeypatch: Any) -> None:
    kept = Checkpoints(str(tmp_path))
    save(kept, 100, 2000)
    save(kept, 200, 2000)

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    def save_partly() -> None:
        with kept.save(300) as folder:
            Path(folder, "w").write_bytes(b"12345")
            full(0)

    with pytest.raises(OSError, match="step 300 does not fit: 5 bytes were written, the one before has 2000") as told:
        save_partly()
    assert told.value.filename == str(tmp_path)
    real = os.fsync
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="step 300 does not fit"):
        save(kept, 300)
    monkeypatch.setattr(os, "fsync", real)
    assert step_of(kept.latest()) == 200
    assert len(list(tmp_path.glob("0*"))) == 2
    save(kept, 300)
    assert step_of(kept.latest()) == 300


def test_a_step_is_a_whole_number_that_is_not_negative(tmp_path: Path) -> None:
    kept = Checkpoints(str(tmp_path))
    for bad in (1.5, True, "1"):
        with pytest.raises(TypeError):
            kept.save(bad)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="negative"):
        kept.save(-1)


def test_a_script_saves_and_finds_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TW_CHECKPOINT_DIR", str(tmp_path))
    with calls.checkpoint.save(3) as path:
        (path / "w").write_text("three")
    assert (calls.checkpoint.latest() or Path()).joinpath("w").read_text() == "three"
    monkeypatch.delenv("TW_CHECKPOINT_DIR")
    with calls.checkpoint.save(3) as path:
        (path / "w").write_text("gone")
    assert not path.exists()
    assert calls.checkpoint.latest() is None
