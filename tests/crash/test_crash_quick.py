"""A few of the rounds of ``make crash``, with real processes."""

import json
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.heavy
def test_whoever_is_killed_the_run_ends_as_if_nobody_had_been() -> None:
    program = Path(__file__).with_name("run.py")
    done = subprocess.run(
        [sys.executable, program, "--quick"], check=False, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    figures = json.loads(done.stdout.splitlines()[-1])["figures"]
    assert figures["violations"] == 0
    assert figures["points"] > 20
    assert figures["random_kills"] > 4
