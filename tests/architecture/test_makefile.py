"""The environment of ``make`` survives being killed while it is made."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def planned(venv: Path, goal: str) -> str:
    """Return the commands that make would run."""
    command = ["make", "--dry-run", f"VENV={venv}", f"{venv}/{goal}"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("goal", [".dev", ".demo"])
def test_an_environment_whose_making_was_killed_is_made_anew(tmp_path: Path, goal: str) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").touch()  # what a kill leaves: an interpreter without pip
    assert "-m venv --clear" in planned(tmp_path, goal)


@pytest.mark.parametrize("goal", [".dev", ".demo"])
def test_an_environment_that_is_whole_is_not_made_again(tmp_path: Path, goal: str) -> None:
    (tmp_path / ".made").touch()
    assert "-m venv" not in planned(tmp_path, goal)
