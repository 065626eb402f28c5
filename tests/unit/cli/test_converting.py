"""Typer's converters, and pydantic with them, are loaded only for values that need them."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import sys
from trainwright.cli.main import main
try:
    main(sys.argv[1:])
finally:
    sys.stderr.write("\\nloaded: " + " ".join(sorted({"pydantic", "ruamel.yaml"} & set(sys.modules))))
"""


def loaded(folder: Path, *words: str) -> str:
    env = {"TW_HOME": str(folder / "home"), "TW_MACHINE_DIR": str(folder / "m"), "TW_RUNTIME_DIR": str(folder / "r")}
    command = [sys.executable, "-c", SCRIPT, *words]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=60, check=False)
    return done.stderr.rpartition("loaded: ")[2]


@pytest.mark.parametrize("words", ["ps", "show -1", "why 1 --json", "model ls", "gc --dry-run"])
def test_commands_that_read_do_without(words: str, tmp_path: Path) -> None:
    assert loaded(tmp_path, *words.split()) == ""


def test_a_number_that_was_typed_is_converted_by_typer(tmp_path: Path) -> None:
    assert loaded(tmp_path, "ps", "-n", "3") == "pydantic"
