"""A smoke detector: modules stay short, say what they are for, and carry names that mean something."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import trainwright

SOURCE = Path(trainwright.__file__).parent
MODULES = sorted(p for p in SOURCE.rglob("*.py") if "__pycache__" not in p.parts)
LINES_OF_A_FILE = 400
LINES_OF_A_FUNCTION = 60
EMPTY_WORDS = {"manager", "handler", "helper", "helpers", "util", "utils", "common", "misc", "base"}


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_a_module_is_short_and_says_what_it_is_for(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    assert len(text.splitlines()) <= LINES_OF_A_FILE
    assert ast.get_docstring(tree), "a module's first line says what it is for"
    long = {
        f.name: f.end_lineno - f.lineno
        for f in functions(tree)
        if f.end_lineno is not None and f.end_lineno - f.lineno >= LINES_OF_A_FUNCTION
    }
    assert long == {}
    assert not EMPTY_WORDS & set(path.stem.split("_"))


def test_public_names_of_the_package_are_what_it_says() -> None:
    assert sorted(trainwright.__all__) == trainwright.__all__
    for name in trainwright.__all__:
        assert getattr(trainwright, name) is not None


def test_every_public_name_has_one_home() -> None:
    from trainwright.runtime.public import HOMES

    in_jobs = [name for names in HOMES.values() for name in names]
    assert sorted([*in_jobs, *trainwright._READING]) == trainwright.__all__


def test_importing_the_package_loads_nothing_of_the_control_plane(tmp_path: Path) -> None:
    import subprocess
    import sys

    code = "import sys, trainwright; print([m for m in sys.modules if m.startswith('trainwright.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.strip() == "[]"
