"""The local backend keeps the promises of the port; the fake keeps them too."""

import sys
from pathlib import Path

import pytest

from trainwright.core.artifact import Content
from trainwright.core.ids import AttemptId, Digest
from trainwright.core.job import JobSpec
from trainwright.plugins.backends.local.backend import LocalBackend
from trainwright.plugins.backends.local.settings import LocalSettings
from trainwright.ports.testing.backend import BackendContract
from trainwright.ports.testing.clock import VirtualClock
from trainwright.ports.testing.fake import FakeBackend, Script
from trainwright.ports.testing.jobs import Draft
from trainwright.runtime import tree


class TestLocalBackend(BackendContract):
    @pytest.fixture(autouse=True)
    def _world(self, tmp_path: Path) -> None:
        self.tmp = tmp_path

    def open(self) -> LocalBackend:
        return LocalBackend(LocalSettings(self.tmp / "runs", self.tmp / "content", sys.executable))

    def quick(self) -> JobSpec:
        return Draft(step="quick", outputs=("model",), refs={"TW_REF_1": "output:model"}).shell(
            'echo began >> "$TW_ATTEMPT_DIR/began"; echo weights > "$TW_REF_1"'
        )

    def endless(self) -> JobSpec:
        return Draft(step="endless").shell(
            'echo began >> "$TW_ATTEMPT_DIR/began"; setsid sleep 600 & setsid nohup sh -c "sleep 600; true" & sleep 600'
        )

    def half(self) -> JobSpec:
        return Draft(step="half", outputs=("model", "report"), refs={"TW_REF_1": "output:model"}).shell(
            'echo weights > "$TW_REF_1"'
        )

    def traces(self, attempt: AttemptId) -> tuple[int, int]:
        folder = self.open().folder(attempt)
        began = folder / "began"
        left = list(tree.marked(b"TW_ATTEMPT_DIR=" + bytes(folder)))
        return len(began.read_text().splitlines()) if began.exists() else 0, len(left)


class TestFakeBackend(BackendContract):
    @pytest.fixture(autouse=True)
    def _world(self) -> None:
        self.fake = FakeBackend(VirtualClock(), self.script)

    @staticmethod
    def script(job: JobSpec) -> Script:
        outputs = {name: Content(Digest("sha256:" + "0" * 64), 1, 8) for name in job.outputs}
        return {
            "quick": Script(outputs=outputs),
            "endless": Script(lasts_s=None, stop_takes_s=2.0),
            "half": Script(cause="output-missing"),
        }[job.step]

    def open(self) -> FakeBackend:
        return self.fake

    def quick(self) -> JobSpec:
        return Draft(step="quick", outputs=("model",)).argv("true")

    def endless(self) -> JobSpec:
        return Draft(step="endless").argv("sleep", "600")

    def half(self) -> JobSpec:
        return Draft(step="half", outputs=("model", "report")).argv("true")

    def traces(self, attempt: AttemptId) -> tuple[int, int]:
        return sum(job.attempt == attempt for job in self.fake.started), 0
