"""G22: the disk fills up at the worst moment, with the records on that same disk."""

import subprocess

import pytest
from shell import Shell, ended, until

SCRIPT = """\
import os, sys, time
import trainwright as tw
latest = tw.checkpoint.latest()
first = 1 + int((latest / "step").read_text()) if latest else 1
tw.params(resumed_from=first - 1)
for step in range(first, 4):
    with tw.checkpoint.save(step) as path:
        (path / "weights").write_bytes(os.urandom(20_000_000))
        (path / "step").write_text(str(step))
    tw.log(loss=1 / step, step=step)
print("all saved")
"""

PIPELINE = """\
pipeline: big
steps:
  train:
    run: python train.py
    retry: {max: 3, backoff: 2s..2s}
"""


@pytest.fixture
def small_disk(tmp_path):
    place = tmp_path / "disk"
    place.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=50m", "tmpfs", str(place)], capture_output=True, check=False
    )
    if made.returncode:
        pytest.skip("no right to mount")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.mark.slow
def test_g22_older_checkpoints_stay_and_the_run_goes_on_from_them_when_there_is_room(small_disk):
    with Shell(small_disk / "p") as tw:
        tw.write("train.py", SCRIPT)
        tw.write("big.yaml", PIPELINE)
        watched = tw.start("run", "big.yaml")
        attempts = small_disk / "p" / ".trainwright" / "runs"
        until(lambda: list(attempts.glob("*/train/1/result.json")), "the first attempt has ended")
        log = next(attempts.glob("*/train/1/log")).read_text()
        assert "no space left" in log.lower()
        assert "bytes" in log
        kept = [m.parent.name for m in sorted(attempts.glob("*/train/checkpoints/*/manifest.json"))]
        assert len(kept) == 2
        subprocess.run(["mount", "-o", "remount,size=200m", str(small_disk)], check=True)
        said = ended(watched)
        assert said.code == 0, said
        view = tw.show()
        assert view["attempts"][-1]["params"] == {"resumed_from": 2}
        assert view["attempts"][0]["exit_code"] == 1


FULL = """\
pipeline: full
steps:
  fill:
    run: |
      dd if=/dev/zero of=$HERE/fill bs=1M 2>/dev/null || true
      touch $FLAG
      until test -e $GO; do sleep 0.05; done
      rm $HERE/fill
  ends: {run: 'until test -e $FLAG; do sleep 0.02; done'}
  after: {run: 'true', depends_on: [ends]}
"""


@pytest.mark.slow
def test_g22_the_engine_survives_a_disk_that_takes_no_commit_and_goes_on_when_it_does_again(small_disk, tmp_path):
    flag, go = tmp_path / "flag", tmp_path / "go"
    with Shell(small_disk / "p", HERE=str(small_disk), FLAG=str(flag), GO=str(go)) as tw:
        tw.write("full.yaml", FULL)
        watched = tw.start("run", "full.yaml")
        until(flag.exists, "the disk is full")
        until(lambda: list((small_disk / "p" / ".trainwright" / "runs").glob("*/ends/1/result.json")), "a step ended")
        with pytest.raises(subprocess.TimeoutExpired):
            watched.wait(1.5)  # neither gone nor broken
        go.touch()
        assert ended(watched).code == 0
        assert {s["name"]: s["state"] for s in tw.show()["steps"]} == dict.fromkeys(
            ("fill", "ends", "after"), "succeeded"
        )
