"""A notice reaches those who handle it, kills nobody early, and the end says whether the work was finished."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from trainwright.ports.testing.jobs import Draft
from trainwright.runtime import notice, tree

Until = Callable[[Callable[[], object]], None]

HANDLER = """
import os, signal, sys, time
def leave(*_):
    open("told", "w").close()
    sys.exit(143)
signal.signal(signal.SIGTERM, leave)
open(sys.argv[1], "w").close()
time.sleep(600)
"""

COUNTING = """
import sys, time
import trainwright as tw
last = tw.checkpoint.latest()
step = int((last / "step").read_text()) if last else 0
print("begins at", step, flush=True)
while step < 250:
    step += 1
    time.sleep(0.01)
    if step % 50 == 0 or tw.should_stop():
        with tw.checkpoint.save(step) as path:
            (path / "step").write_text(str(step))
    if tw.should_stop():
        print("leaves at", step, flush=True)
        sys.exit(0)
    if step == 60:
        open("up", "w").close()
print("done", flush=True)
"""


def give(folder: Path, grace_s: float) -> None:
    (folder / "draft").write_text(json.dumps({"why": "room for b1", "grace_s": grace_s}))
    (folder / "draft").rename(folder / "preempt")


def begun(bench: Any, until: Until, draft: Any, up: str = "up", **more: Any) -> tuple[Path, Any]:
    folder: Path = bench.order(draft, **more)
    runner = bench.begin(folder)
    until((folder / "work" / up).exists)
    return folder, runner


def test_a_command_that_handles_term_gets_it_at_once_also_behind_a_shell(bench: Any, until: Until) -> None:
    (bench.root / "handler.py").write_text(HANDLER)
    script = f"{sys.executable} {bench.root}/handler.py up\necho after >&2; exit 5"
    folder, runner = begun(bench, until, Draft().shell(script))
    give(folder, 600)
    assert runner.wait(20) == 0
    result = bench.result(folder)
    assert (result["cause"], result["message"]) == ("preempted", "room for b1")
    assert result["exit_code"] == 143
    assert (folder / "work" / "told").exists()


def test_a_command_without_a_handler_lives_until_its_grace_is_over(bench: Any, until: Until) -> None:
    folder, runner = begun(bench, until, Draft().shell("touch up; while :; do date +%N > beat; sleep 0.02; done"))
    began = time.monotonic()
    give(folder, 0.7)
    assert runner.wait(20) == 0
    result = bench.result(folder)
    assert time.monotonic() - began >= 0.6
    assert (result["cause"], result["signal"]) == ("preempted", signal.SIGKILL)
    assert result["message"] == "room for b1; it did not leave within 0.7 s and was killed"
    assert list(tree.marked(b"TW_ATTEMPT_DIR=" + bytes(folder))) == []


def test_one_that_saved_after_the_notice_and_left_with_0_has_not_finished(bench: Any, until: Until) -> None:
    checkpoints = bench.root / "checkpoints"
    draft = Draft().argv(sys.executable, "-c", COUNTING)
    folder, runner = begun(bench, until, draft, checkpoints=str(checkpoints))
    give(folder, 600)
    assert runner.wait(20) == 0
    result = bench.result(folder)
    assert (result["cause"], result["exit_code"]) == ("preempted", 0)
    left_at = int(result["log"].split("leaves at ")[1])
    again = bench.run(Draft(number=2).argv(sys.executable, "-c", COUNTING), checkpoints=str(checkpoints))
    assert again["cause"] == "exited"
    assert again["log"] == f"begins at {left_at}\ndone\n"


def test_one_that_left_with_0_without_its_outputs_has_not_finished(bench: Any, until: Until) -> None:
    draft = Draft(outputs=("model",)).shell("touch up; while ! test -e ../preempt; do sleep 0.01; done; sleep 0.1")
    folder, runner = begun(bench, until, draft)
    give(folder, 600)
    assert runner.wait(20) == 0
    assert (bench.result(folder)["cause"], bench.result(folder)["outputs"]) == ("preempted", {})


def test_a_notice_does_not_give_more_time_than_the_timeout(bench: Any, until: Until) -> None:
    folder, runner = begun(bench, until, Draft(timeout_s=1.0).shell("touch up; sleep 600"))
    give(folder, 600)
    assert runner.wait(20) == 0
    assert bench.result(folder)["cause"] == "preempted"


def test_a_notice_that_a_power_cut_left_empty_is_a_notice_without_grace(bench: Any, until: Until) -> None:
    folder, runner = begun(bench, until, Draft().shell("touch up; sleep 600"))
    (folder / "preempt").touch()
    assert runner.wait(20) == 0
    assert bench.result(folder)["cause"] == "preempted"


@pytest.mark.parametrize("launcher", ["torchrun", "sh"])
def test_behind_launchers_and_shells_only_what_handles_term_is_meant(
    tmp_path: Path, until: Until, launcher: str
) -> None:
    (tmp_path / "handler.py").write_text(HANDLER)
    (tmp_path / launcher).write_text(
        "import os, signal, subprocess, sys\n"
        + ("signal.signal(signal.SIGTERM, lambda *_: os._exit(1))\n" if launcher == "torchrun" else "")
        + f"subprocess.run([sys.executable, {str(tmp_path / 'handler.py')!r}, {str(tmp_path / 'up')!r}], check=False)\n"
    )
    outer = subprocess.Popen([sys.executable, str(tmp_path / launcher)], cwd=tmp_path)
    try:
        until((tmp_path / "up").exists)
        (worker,) = tree.descendants(outer.pid)
        assert list(notice.addressees([outer.pid])) == [worker]
        assert list(notice.addressees([os.getpid(), -5])) == []  # itself without a handler, its children are workers
        os.kill(worker, signal.SIGTERM)
    finally:
        outer.wait(20)
    assert (tmp_path / "told").exists()
