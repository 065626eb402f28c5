"""The same pipeline gives the same bytes, however it is written down."""

import json
import os
import random
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trainwright.core.codec import canonical_json
from trainwright.core.errors import SpecError
from trainwright.plan.compile import compile_plan
from trainwright.spec.document import Document
from trainwright.spec.load import load
from trainwright.spec.params import resolve
from trainwright.spec.shell import rewrite

NAMES = "abcdefgh"
HASHED = """
import sys
from trainwright.core.codec import canonical_json
from trainwright.core.errors import SpecError
from trainwright.plan.compile import compile_plan
from trainwright.spec.load import load
from trainwright.spec.params import resolve
for text in sys.stdin.read().split("\\n===\\n"):
    try:
        document = load(text, "f.yaml")
        print(canonical_json(compile_plan(document, resolve(document, {}), ())), document.warnings)
    except SpecError as error:
        print(error)
"""


@st.composite
def pipelines(draw: st.DrawFn) -> dict[str, object]:
    """A graph without circles: each step reads from, or follows, steps before it."""
    count = draw(st.integers(1, len(NAMES)))
    names = draw(st.permutations(NAMES))[:count]
    steps = {}
    for index, name in enumerate(names):
        before = draw(st.lists(st.sampled_from(names[:index]), unique=True)) if index else []
        read = " ".join(f"${{{{ {other}.o }}}}" for other in before)
        after = draw(st.lists(st.sampled_from(names[:index]), unique=True)) if index else []
        steps[name] = {"run": f"echo {read} > ${{{{ out.o }}}}", "out": {"o": "file"}, "depends_on": after}
    params = draw(st.dictionaries(st.sampled_from(["x", "y", "z"]), st.integers() | st.booleans() | st.text("abc")))
    return {"pipeline": "p", "params": params, "steps": steps}


def shuffled(value: object, rng: random.Random) -> object:
    if isinstance(value, dict):
        keys = list(value)
        rng.shuffle(keys)
        return {key: shuffled(value[key], rng) for key in keys}
    return value


def compiled(pipeline: object) -> tuple[Document, str, list[str]]:
    document = load(json.dumps(pipeline), "f.yaml")
    plan = compile_plan(document, resolve(document, {}), ())
    return document, canonical_json(plan), [str(step.name) for step in plan.steps]


@given(pipelines(), st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_the_order_of_keys_means_nothing(pipeline: dict[str, object], rng: random.Random) -> None:
    assert compiled(pipeline)[1] == compiled(shuffled(pipeline, rng))[1]


@given(pipelines())
@settings(max_examples=60, deadline=None)
def test_every_step_comes_after_all_it_needs(pipeline: dict[str, object]) -> None:
    document, _, order = compiled(pipeline)
    assert sorted(order) == sorted(document.spec.steps)
    for name, step in document.spec.steps.items():
        for other in step.depends_on:
            assert order.index(other) < order.index(name)


@given(st.text("ab'\"\\ \n$(){}`#<EOF;|&=", max_size=40))
@settings(max_examples=200, deadline=None)
def test_a_script_without_references_is_left_alone(script: str) -> None:
    if "${{" not in script:
        assert rewrite(script).text == script


@given(st.text(max_size=60) | st.text(":{}[]-&*!|>'\"#$ \n\tab0<", max_size=60))
@settings(max_examples=150, deadline=None)
def test_no_text_whatever_ends_in_a_traceback(text: str) -> None:
    with pytest.raises(SpecError):
        load(text, "f.yaml")


@pytest.mark.slow
def test_hash_seeds_change_neither_plans_nor_errors() -> None:
    circle = {name: {"run": "echo", "depends_on": [other]} for name, other in zip("dabc", "cdab", strict=True)}
    wrong = {name: {"rnu": "echo", "x": 1, "y": 2} for name in "abc"}
    steps = {name: {"run": "echo ${{ params.x }} ${{ params.y }}", "depends_on": ["z"]} for name in "abc"}
    texts = [
        json.dumps({"pipeline": "p", "steps": circle}),
        json.dumps({"pipeline": "p", "steps": wrong}),
        json.dumps({"pipeline": "p", "params": {"y": 1, "x": 2}, "steps": {**steps, "z": {"run": "echo"}}}),
    ]

    def run(seed: str) -> str:
        env = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, "-c", HASHED],
            input="\n===\n".join(texts),
            env=env,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    first = run("1")
    assert "a → d → c → b → a" in first
    assert first == run("2")
