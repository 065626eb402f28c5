"""Runs the real runner on orders that a test writes."""

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from trainwright.core.codec import canonical_json
from trainwright.core.job import JobSpec
from trainwright.runtime import bundle

LONGEST_S = 30


@dataclass
class Bench:
    """A folder for attempts with a content store beside it."""

    root: Path
    library: str

    @property
    def store(self) -> str:
        return str(self.root / "content")

    def order(self, job: JobSpec, **more: Any) -> Path:
        """Write the order; return the attempt's folder."""
        folder = self.root / job.attempt
        folder.mkdir(parents=True)
        order = {
            "format": 1,
            "job": job,
            "store": self.store,
            "path": (),
            "library": bundle.front(self.library, "0.0"),
            **more,
        }
        (folder / "job.json").write_text(canonical_json(order), encoding="utf-8")
        return folder

    def begin(self, folder: Path, python: str = sys.executable) -> "subprocess.Popen[bytes]":
        """Start a runner on it."""
        with (folder / "runner.log").open("ab") as log:
            return subprocess.Popen(
                [python, "-I", "-S", "-B", self.library, "run", str(folder)],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip

    def run(self, job: JobSpec, **more: Any) -> dict[str, Any]:
        """Run it to the end; return the result, with the log under ``log`` and the folder under ``folder``."""
        folder = self.order(job, **more)
        assert self.begin(folder).wait(LONGEST_S) == 0, (folder / "runner.log").read_text()
        return self.result(folder)

    def result(self, folder: Path) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((folder / "result.json").read_text(), parse_constant=_refuse)
        log = folder / "log"
        return {**found, "log": log.read_text(errors="replace") if log.exists() else "", "folder": folder}


def _refuse(word: str) -> None:
    raise AssertionError(f"{word} is not JSON")


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> str:
    return bundle.build(str(tmp_path_factory.mktemp("library")), "0.0")


@pytest.fixture
def bench(tmp_path: Path, library: str) -> Bench:
    return Bench(tmp_path, library)


@pytest.fixture
def until() -> Callable[[Callable[[], object]], None]:
    """Return a function that waits until something holds."""
    import time

    def wait(holds: Callable[[], object]) -> None:
        deadline = time.monotonic() + LONGEST_S
        while not holds():
            assert time.monotonic() < deadline, "waited too long"
            time.sleep(0.005)

    return wait
