"""Functions that ``call:`` names, looked for without importing anything."""

from pathlib import Path

import pytest

from trainwright.core.errors import SpecError
from trainwright.service.documents import read_document

MODULE = """
import os as system
from json import dumps
try:
    import fast as engine
except ImportError:
    engine = None
if engine:
    def sometimes(): ...
raise SystemExit("it was imported")
def fit(): ...
class Trainer:
    def fit(self): ...
renamed = fit
a, b = fit, fit
"""


def check(folder: Path, target: str, **env: str) -> None:
    (folder / "training.py").write_text(MODULE)
    (folder / "package").mkdir(exist_ok=True)
    (folder / "package" / "__init__.py").write_text("from package.inner import *\n")
    (folder / "package" / "inner.py").write_text("def f(): ...\n")
    (folder / "broken.py").write_text("def f(:\n")
    (folder / "p.yaml").write_text(f"pipeline: p\nsteps:\n  s:\n    call: {target}\n    env: {env}\n")
    read_document(folder / "p.yaml", "p.yaml")


@pytest.mark.parametrize(
    "target",
    [
        *(
            "training:fit",
            "training:Trainer.fit",
            "training:renamed",
            "training:b",
            "training:dumps",
            "training:system",
        ),
        *("training:sometimes", "training:engine", "package:anything", "package.inner:f", "broken:f", "json:dumps"),
    ],
)
def test_what_is_there_passes_and_nothing_is_imported(target: str, tmp_path: Path) -> None:
    check(tmp_path, target)


@pytest.mark.parametrize(
    ("target", "said", "remedy"),
    [
        ("trainng:fit", "there is no module trainng", "did you mean training?"),
        ("training:fitt", "training.py has no function fitt", "did you mean fit?"),
        ("package.outer:f", "there is no module package.outer", "write package/outer.py beside p.yaml"),
        ("package.inner:g", "package/inner.py has no function g", "did you mean f?"),
    ],
)
def test_what_is_not_there_is_told_with_its_place(target: str, said: str, remedy: str, tmp_path: Path) -> None:
    with pytest.raises(SpecError) as caught:
        check(tmp_path, target)
    problem = caught.value.problem
    assert (problem.code, problem.message, problem.where) == ("TW1115", said, "p.yaml:4:11")
    assert remedy in problem.remedy or "it has f" in problem.remedy


def test_a_compiled_module_is_left_to_the_job(tmp_path: Path) -> None:
    (tmp_path / "fast.cpython-311-x86_64-linux-gnu.so").touch()
    check(tmp_path, "fast:f")


def test_a_step_with_a_path_of_its_own_may_find_it_elsewhere(tmp_path: Path) -> None:
    check(tmp_path, "elsewhere:f", PYTHONPATH="src")
