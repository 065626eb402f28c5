"""The local backend gives notice as the port promises; the fake does too."""

import sys
from pathlib import Path

import pytest

from trainwright.core.artifact import Content
from trainwright.core.ids import AttemptId, Digest
from trainwright.core.job import JobSpec
from trainwright.plugins.backends.local.backend import LocalBackend
from trainwright.plugins.backends.local.settings import LocalSettings
from trainwright.ports.testing.backend import await_end
from trainwright.ports.testing.clock import VirtualClock
from trainwright.ports.testing.fake import FakeBackend, Script
from trainwright.ports.testing.jobs import Draft
from trainwright.ports.testing.preemption import PreemptionContract
from trainwright.runtime import tree
from trainwright.runtime.checkpoint import Checkpoints

LEAVER = """
import sys, time
import trainwright as tw
open("../up", "w").write("x")
while not tw.should_stop():
    time.sleep(0.01)
with tw.checkpoint.save(7) as path:
    (path / "weights").write_text("w")
sys.exit(9)
"""


class TestLocalNotice(PreemptionContract):
    @pytest.fixture(autouse=True)
    def _world(self, tmp_path: Path) -> None:
        self.tmp = tmp_path

    def open(self) -> LocalBackend:
        return LocalBackend(LocalSettings(self.tmp / "runs", self.tmp / "content", sys.executable))

    def leaver(self) -> JobSpec:
        return Draft(step="leaver").argv(sys.executable, "-c", LEAVER)

    def stayer(self) -> JobSpec:
        return Draft(step="stayer", grace_s=0.1).shell(
            "trap '' TERM; setsid sleep 600 & setsid nohup sh -c 'sleep 600; true' & echo x > ../up; sleep 600"
        )

    def finisher(self) -> JobSpec:
        return Draft(step="finisher", outputs=("model",), refs={"TW_REF_1": "output:model"}).shell(
            'echo x > ../up; while ! test -e ../preempt; do sleep 0.01; done; sleep 0.1; echo w > "$TW_REF_1"'
        )

    def is_up(self, attempt: AttemptId) -> bool:
        return (self.open().folder(attempt) / "up").exists()

    def traces(self, attempt: AttemptId) -> tuple[int, int]:
        folder = self.open().folder(attempt)
        return int((folder / "up").exists()), len(list(tree.marked(b"TW_ATTEMPT_DIR=" + bytes(folder))))

    def save(self, attempt: AttemptId) -> None:
        with Checkpoints(str(self.open().folder(attempt).parent / "checkpoints")).save(1) as path:
            (Path(path) / "weights").write_text("w")


class TestFakeNotice(PreemptionContract):
    @pytest.fixture(autouse=True)
    def _world(self) -> None:
        self.fake = FakeBackend(VirtualClock(), self.script)

    @staticmethod
    def script(job: JobSpec) -> Script:
        outputs = {name: Content(Digest("sha256:" + "0" * 64), 1, 8) for name in job.outputs}
        return {
            "leaver": Script(lasts_s=None, leaves_in_s=3.0),
            "stayer": Script(lasts_s=None, leaves_in_s=None, stop_takes_s=2.0),
            "finisher": Script(lasts_s=1.0, leaves_in_s=None, outputs=outputs),
        }[job.step]

    def open(self) -> FakeBackend:
        return self.fake

    def leaver(self) -> JobSpec:
        return Draft(step="leaver").argv("true")

    def stayer(self) -> JobSpec:
        return Draft(step="stayer").argv("true")

    def finisher(self) -> JobSpec:
        return Draft(step="finisher", outputs=("model",)).argv("true")

    def is_up(self, attempt: AttemptId) -> bool:
        return bool(self.traces(attempt)[0])

    def traces(self, attempt: AttemptId) -> tuple[int, int]:
        return sum(job.attempt == attempt for job in self.fake.started), 0

    def save(self, attempt: AttemptId) -> None:
        self.fake.save(attempt)


COUNTING = """
import sys, time
import trainwright as tw
last = tw.checkpoint.latest()
step = int((last / "step").read_text()) if last else 0
print(step, flush=True)
while step < 120:
    step += 1
    time.sleep(0.01)
    if step == 20:
        open("../up", "w").close()
    if tw.should_stop():
        with tw.checkpoint.save(step) as path:
            (path / "step").write_text(str(step))
        print(step, flush=True)
        sys.exit(143)
print("done", flush=True)
"""


def test_the_next_attempt_goes_on_from_the_step_at_which_the_last_one_was_preempted(tmp_path: Path) -> None:
    backend = LocalBackend(LocalSettings(tmp_path / "runs", tmp_path / "content", sys.executable))
    first, second = (Draft(number=number).argv(sys.executable, "-c", COUNTING) for number in (1, 2))
    backend.start(first)
    while not (backend.folder(first.attempt) / "up").exists():
        backend.wait([first.attempt], 0.02)
    backend.preempt(first.attempt, "room for b1", 600)
    end = await_end(backend, first.attempt)
    assert (end.cause, end.exit_code) == ("preempted", 143)
    began, left = (backend.folder(first.attempt) / "log").read_text().split()
    assert (began, 20 <= int(left) < 120) == ("0", True)
    backend.start(second)
    assert await_end(backend, second.attempt).exit_code == 0
    assert (backend.folder(second.attempt) / "log").read_text().split() == [left, "done"]
