"""``runtime.call``: the function of a step, called in an attempt's folder."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from trainwright.runtime import call

CODE = """
import sys
from pathlib import Path

import trainwright as tw


def echo(**given):
    return {name: value if isinstance(value, (int, float, str, list)) else repr(value) for name, value in given.items()}

def annotated(a: tw.Dataset, b: Path, c: "Path | None", d: "tw.Dataset", e, f: list[Path]):
    return [type(x).__name__ for x in (a, b, c, d, e, f)]

@tw.step(out={"x": "value"})
def decorated(a):
    return a + 1

class Trainer:
    @staticmethod
    def fit(a):
        return a

def needs(a, b):
    return a

def deep(a):
    return inner(a)

def inner(a):
    return a["no such key"]

def in_order(b, a, /, *, c):
    return [b, a, c]

async def later():
    return 1

def bit_by_bit():
    yield 1

def forgets():
    3

def two():
    return {"x": 1, "y": 2}

def one_of_two():
    return {"x": 1}

def itself():
    tw.outputs["x"].write_text("3")

def leaves():
    sys.exit(143)

def says():
    sys.exit("nothing to do")

def strange():
    return object()

number = 3
"""


@pytest.fixture
def step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Iterator[Callable[..., tuple[int, Any, str]]]:
    """Return a function that calls ``work:NAME`` and returns exit code, outputs and what was said."""
    work = tmp_path / "work"
    work.mkdir()
    (work / "work.py").write_text(CODE)
    monkeypatch.chdir(work)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def called(
        target: str,
        arguments: dict[str, Any] | None = None,
        out: tuple[str, ...] = ("x",),
        kind: str = "value",
        **inputs: Path,
    ) -> tuple[int, Any, str]:
        given = {name: {"value": value, "ref": ""} for name, value in (arguments or {}).items()}
        given.update({name: {"value": None, "ref": f"input:in.{name}"} for name in inputs})
        job = {
            "step": "train",
            "project": "p",
            "command": {"call": {"target": target, "arguments": given}},
            "inputs": [{"name": f"in.{name}", "kind": "dataset"} for name in inputs],
            "outputs": dict.fromkeys(out, kind),
        }
        (tmp_path / "outputs").mkdir(exist_ok=True)
        (tmp_path / "job.json").write_text(json.dumps({"job": job}))
        environ = {
            "TW_INPUTS": json.dumps({f"in.{name}": str(path) for name, path in inputs.items()}),
            "TW_OUTPUTS": json.dumps({name: str(tmp_path / "outputs" / name) for name in out}),
        }
        for name, value in environ.items():
            monkeypatch.setenv(name, value)
        code = call.main(str(tmp_path), {**os.environ, **environ})
        found = {name: json.loads((tmp_path / "outputs" / name).read_text()) for name in out if code == 0}
        return code, found, capfd.readouterr().err

    yield called
    sys.modules.pop("work", None)


def test_a_function_gets_its_arguments_with_their_types(step: Callable[..., Any]) -> None:
    code, found, _ = step("work:echo", {"C": 0.5, "k": 3, "name": "a.b", "layers": [1, 2], "n": None})
    assert (code, found["x"]) == (0, {"C": 0.5, "k": 3, "name": "a.b", "layers": [1, 2], "n": "None"})


def test_the_annotation_says_how_an_input_arrives(step: Callable[..., Any], tmp_path: Path) -> None:
    folder = tmp_path / "table"
    folder.mkdir()
    (folder / "value.json").write_text("[1]")
    code, found, _ = step("work:annotated", **dict.fromkeys("abcdef", folder))
    assert (code, found["x"]) == (0, ["Dataset", "PosixPath", "PosixPath", "Dataset", "list", "list"])


def test_a_decorated_function_and_a_method_are_called_like_any(step: Callable[..., Any]) -> None:
    assert step("work:decorated", {"a": 1})[1] == {"x": 2}
    assert step("work:Trainer.fit", {"a": 5})[1] == {"x": 5}


def test_several_outputs_are_returned_by_name(step: Callable[..., Any]) -> None:
    assert step("work:two", out=("x", "y"))[1] == {"x": 1, "y": 2}
    code, _, said = step("work:one_of_two", out=("x", "z"))
    assert code == 1
    assert "declares the outputs x, z and returned a mapping of x" in said
    assert 'return {"x": …, "z": …}' in said


def test_an_output_may_be_written_by_the_function_itself(step: Callable[..., Any]) -> None:
    assert step("work:itself")[1] == {"x": 3}


def test_a_parameter_without_a_keyword_gets_its_argument(step: Callable[..., Any]) -> None:
    assert step("work:in_order", {"a": 1, "b": 2, "c": 3})[1] == {"x": [2, 1, 3]}


def test_a_return_that_was_forgotten_makes_no_model(step: Callable[..., Any]) -> None:
    code, _, said = step("work:forgets", kind="model")
    assert code == 1
    assert "error: step train: the output x is a model, and the function returned nothing for it\n" in said
    assert "fix: return it, or write it to tw.outputs['x']\n" in said
    code, _, said = step("work:forgets", out=("x", "y"))
    assert code == 1
    assert "declares the outputs x, y and returned no mapping" in said
    assert step("work:forgets")[1] == {"x": None}


def test_what_is_returned_for_no_output_is_noted(step: Callable[..., Any]) -> None:
    code, _, said = step("work:two", out=())
    assert code == 0
    assert "what it returned (dict) is not kept" in said


def test_a_traceback_is_the_users_own(step: Callable[..., Any]) -> None:
    code, _, said = step("work:deep", {"a": {}})
    frames = [line.rpartition(", ")[2] for line in said.splitlines() if line.startswith("  File")]
    assert (code, frames) == (1, ["in deep", "in inner"])
    assert said.startswith("Traceback")
    assert said.rstrip().endswith("KeyError: 'no such key'")


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("gone:f", "there is no module gone in"),
        ("work:need", "did you mean needs?"),
        ("work:number", "is of type int and cannot be called"),
        ("work:needs", "was not called: needs() missing 1 required positional argument: 'b'"),
        ("work:later", "work:later returned a coroutine, and none of its work is done"),
        ("work:bit_by_bit", "work:bit_by_bit returned a generator, and none of its work is done"),
        ("work:strange", "error: step train: the output x: object is no plain value"),
    ],
)
def test_a_step_that_cannot_be_carried_out_is_told_in_words(target: str, words: str, step: Callable[..., Any]) -> None:
    code, _, said = step(target, {"a": 1} if "need" in target else {})
    assert code == 1
    assert words in said
    assert "fix: " in said
    assert "Traceback" not in said


def test_a_function_may_leave_with_a_code(step: Callable[..., Any]) -> None:
    assert step("work:leaves")[0] == 143
    code, _, said = step("work:says")
    assert (code, said) == (1, "nothing to do\n")


def test_a_collection_is_a_list_of_values(step: Callable[..., Any], tmp_path: Path) -> None:
    folder = tmp_path / "all"
    for name in ("0", "1"):
        (folder / name).mkdir(parents=True)
        (folder / name / "value.json").write_text(name)
    job = json.loads((tmp_path / "job.json").read_text()) if (tmp_path / "job.json").exists() else {}
    assert job == {}
    step("work:echo", a=folder)  # writes job.json
    job = json.loads((tmp_path / "job.json").read_text())
    job["job"]["collections"] = {"in.a": {"kind": "dataset", "inputs": []}}
    job["job"]["inputs"] = []
    (tmp_path / "job.json").write_text(json.dumps(job))
    assert call.main(str(tmp_path), dict(os.environ)) == 0
    assert json.loads((tmp_path / "outputs" / "x").read_text()) == {"a": [0, 1]}
