"""Functions called by the real runner, and outputs that have to be JSON."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from trainwright.core.artifact import ArtifactKind, Content, Input
from trainwright.core.ids import Digest
from trainwright.core.job import Argument, Call, CodeTree, Command, JobSpec
from trainwright.ports.testing.jobs import Draft
from trainwright.runtime import content

CODE = """
import trainwright as tw

@tw.step(out={"x": "value"}, retry=1)
def double(given):
    tw.log(given=given)
    print(tw.__file__)
    return {"twice": 2 * given}

@tw.pipeline
def p(n=1):
    double(n)
"""


@pytest.fixture
def bare(tmp_path: Path) -> str:
    """Return a folder with a ``python`` in which nothing is installed, not even trainwright."""
    folder = tmp_path / "bare"
    folder.mkdir()
    (folder / "python").write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    (folder / "python").chmod(0o755)
    return str(folder)


def job(bench: Any, call: Call, **changes: Any) -> JobSpec:
    code = bench.root / "code"
    code.mkdir(exist_ok=True)
    (code / "steps.py").write_text(CODE)
    tree = CodeTree(Digest(content.put_files(bench.store, str(code), ["steps.py"]).digest), ".")
    return replace(Draft(code=tree).make(Command(call=call)), outputs={"x": ArtifactKind.VALUE}, **changes)


def test_the_bundle_is_all_that_a_function_needs(bench: Any, bare: str) -> None:
    made = bench.run(job(bench, Call("steps:double", {"given": Argument(3)})), path=[bare])
    assert (made["cause"], made["exit_code"]) == ("exited", 0), made["log"]
    assert "runtime-" in made["log"]
    assert made["metrics"]["given"]["last"] == 3
    facts = made["outputs"]["x"]
    assert (facts["files"], facts["size_bytes"]) == (1, len('{"twice": 6}\n'))


def test_a_value_reaches_the_next_function(bench: Any, bare: str) -> None:
    number = bench.root / "number"
    number.write_text("21")
    stored = content.put(bench.store, str(number))
    given = Input("one.x", ArtifactKind.VALUE, Content(Digest(stored.digest), 1, 2), "runs:/x")
    call = Call("steps:double", {"given": Argument(ref="input:one.x")})
    made = bench.run(job(bench, call, inputs=(given,)), path=[bare])
    assert (made["folder"] / "outputs" / "x").read_text() == '{"twice": 42}\n', made["log"]


def test_what_goes_wrong_ends_with_code_one(bench: Any, bare: str) -> None:
    made = bench.run(job(bench, Call("steps:double", {"given": Argument({})})), path=[bare])
    assert (made["cause"], made["exit_code"], made["outputs"]) == ("exited", 1, {})
    assert "TypeError" in made["log"]


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("echo '[1' > ../outputs/x", "x is not as declared: x is no JSON"),
        ("echo NaN > ../outputs/x", "x is no JSON: nan is not JSON"),
        ("printf '[\"\\\\ud800\"]' > ../outputs/x", r"x has a text with \ud800, one half of a character"),
        ("mkdir ../outputs/x", "it is a folder, and a value is one file of JSON"),
    ],
)
def test_a_value_that_a_command_writes_has_to_be_json(script: str, words: str, bench: Any) -> None:
    wrong = replace(Draft().shell(script), outputs={"x": ArtifactKind.VALUE})
    made = bench.run(wrong)
    assert (made["cause"], made["outputs"]) == ("output-invalid", {})
    assert words in made["message"]


def test_a_value_that_is_json_is_published(bench: Any) -> None:
    made = bench.run(replace(Draft().shell("echo '[1]' > ../outputs/x"), outputs={"x": ArtifactKind.VALUE}))
    assert made["outputs"]["x"]["files"] == 1
