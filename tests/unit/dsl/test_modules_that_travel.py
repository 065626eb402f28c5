"""Modules that a job would find, would find elsewhere, or would not find."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import trainwright as tw
from tracing import drawing_in

Draw = Callable[..., dict[str, Any]]

PIPELINE = """
import sys
SETUP
import MODULE
import trainwright as tw

@tw.step
def look(x):
    return MODULE

@tw.pipeline
def p():
    look.options(ENV)(1)
"""


@pytest.fixture
def draw(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Draw]:
    (tmp_path / "repo" / "pipelines").mkdir(parents=True)
    (tmp_path / "repo" / ".git").mkdir()
    for name in ("repo/pipelines/beside", "repo/src/within", "outside/without"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / f"{name}.py").write_text("x = 1\n")
    yield from drawing_in(tmp_path / "repo" / "pipelines", monkeypatch)
    for name in ("beside", "within", "without"):
        sys.modules.pop(name, None)


def text(module: str, setup: str = "", env: str = "") -> str:
    return PIPELINE.replace("MODULE", module).replace("SETUP", setup).replace("ENV", env)


def test_a_module_beside_the_pipeline_travels(draw: Draw) -> None:
    assert draw(text("beside"))["warnings"] == []


def test_standard_and_installed_modules_need_not_travel(draw: Draw) -> None:
    assert draw(text("json"))["warnings"] == []
    assert draw(text("pandas"))["warnings"] == []


def test_a_module_from_outside_the_tree_is_refused_at_its_import(draw: Draw, tmp_path: Path) -> None:
    with pytest.raises(tw.PipelineError, match="TW1114") as caught:
        draw(text("without", f"sys.path.append({str(tmp_path / 'outside')!r})"))
    assert "the module without comes from" in str(caught.value)
    assert "where: pipeline.py:4:1" in str(caught.value)


def test_a_module_that_the_file_itself_finds_in_the_tree_travels(draw: Draw, tmp_path: Path) -> None:
    assert draw(text("within", f"sys.path.append({str(tmp_path / 'repo' / 'src')!r})"))["warnings"] == []


def test_a_module_of_the_tree_that_the_interpreter_finds_would_not_be_the_captured_one(
    draw: Draw, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "repo" / "src"
    monkeypatch.setenv("PYTHONPATH", str(source))
    monkeypatch.syspath_prepend(str(source))
    (warning,) = draw(text("within"))["warnings"]
    assert "whose code is not captured" in warning
    assert 'env={"PYTHONPATH": "../src"}' in warning
    sys.modules.pop("within")
    sys.modules.pop("pipeline")
    assert draw(text("within", env='env={"PYTHONPATH": "../src"}'))["warnings"] == []


def test_an_editable_install_of_something_else_is_warned_of(
    draw: Draw, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site-packages"
    site.mkdir()
    (site / "editable.pth").write_text(f"{tmp_path / 'outside'}\nimport nothing\n")
    monkeypatch.setattr(sys, "path", [*sys.path, str(site), str(tmp_path / "outside")])
    (warning,) = draw(text("without"))["warnings"]
    assert "install a built version of it" in warning


def test_a_function_that_only_a_changed_path_finds_is_refused(draw: Draw, tmp_path: Path) -> None:
    lib = tmp_path / "repo" / "pipelines" / "lib"
    lib.mkdir()
    (lib / "within.py").write_text("def f(x): ...\n")
    setup = f"sys.path.insert(0, {str(lib)!r})"
    called = "\n@tw.pipeline\ndef q():\n    tw.step(within.f, ENV)(1)\n"
    with pytest.raises(tw.PipelineError, match="TW1112") as caught:
        draw(text("within", setup) + called.replace(", ENV", ""), "q")
    assert "the function of step f is in lib/within.py" in str(caught.value)
    assert 'env={"PYTHONPATH": "lib"}' in str(caught.value)
    for module in ("within", "pipeline"):
        sys.modules.pop(module)
    drawn = draw(text("within", setup) + called.replace("ENV", 'env={"PYTHONPATH": "lib"}'), "q")
    assert drawn["document"]["steps"]["f"]["call"] == "within:f"
    assert drawn["warnings"] == []


def test_a_package_is_warned_of_once(draw: Draw, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "repo" / "src" / "ours"
    package.mkdir()
    (package / "__init__.py").write_text("from ours import first, second\n")
    (package / "first.py").touch()
    (package / "second.py").touch()
    monkeypatch.setenv("PYTHONPATH", str(package.parent))
    monkeypatch.syspath_prepend(str(package.parent))
    (warning,) = draw(text("ours"))["warnings"]
    assert 'env={"PYTHONPATH": "../src"}' in warning
