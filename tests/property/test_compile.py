"""The same pipeline gives the same bytes, however it is written down."""

import json
import os
import random
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from trainwright.core.codec import canonical_json
from trainwright.core.errors import SpecError
from trainwright.plan.compile import compile_plan
from trainwright.spec.document import Document
from trainwright.spec.load import load
from trainwright.spec.params import resolve
from trainwright.spec.reader import read
from trainwright.spec.shell import rewrite
from trainwright.spec.write import write

NAMES = "abcdefgh"
HASHED = """
import sys
from trainwright.core.artifact import Content, PinnedData
from trainwright.core.codec import canonical_json, from_json, to_json
from trainwright.core.errors import TrainwrightError
from trainwright.plan.compile import compile_plan, data_requests
from trainwright.plan.plan import Plan
from trainwright.spec.load import load
from trainwright.spec.params import resolve
for text in sys.stdin.read().split("\\n===\\n"):
    try:
        document = load(text, "f.yaml")
        asked = data_requests(document)
        pinned = tuple(PinnedData(n, a, a, Content("sha256:" + "0" * 64, 0, 0)) for n, a in reversed(asked.items()))
        plan = compile_plan(document, resolve(document, {}), pinned)
        assert from_json(Plan, to_json(plan)).digest == plan.digest
        print(plan.digest, canonical_json(plan), document.warnings)
    except TrainwrightError as error:
        print(str(error).replace("\\n", " | "))
"""
"""Prints one line a document: its plan, or why there is none."""


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
        step: dict[str, object] = {"run": f"echo {read} > ${{{{ out.o }}}}"}
        if draw(st.booleans()):
            reads = {f"x{i}": f"{other}.o" for i, other in enumerate(before)}
            step = {
                "call": f"steps:{name}",
                "with": {**reads, "k": draw(st.integers() | st.text("xyz: #-", max_size=9))},
            }
        steps[name] = {**step, "out": {"o": "file"}, "depends_on": after}
    params = draw(st.dictionaries(st.sampled_from(["x", "y", "z"]), st.integers() | st.booleans() | st.text("abc")))
    return {"pipeline": "p", "params": params, "steps": steps}


KINDS = st.sampled_from(["file", "dataset", "model"])
KEYS: dict[str, st.SearchStrategy[object]] = {
    "check": st.lists(st.sampled_from(["auc >= 0.8", "loss < 1"]), unique=True),
    "resources": st.dictionaries(st.sampled_from(["cpu", "gpu"]), st.integers(1, 4)),
    "retry": st.sampled_from([1, {"on": {"oom": 1, "crash": 2}}, {"max": 2, "on": ["killed", "crash"]}]),
    "env": st.dictionaries(st.sampled_from("ABC"), st.sampled_from(["1", "${{ params.x }}", "${{ data.d }}"])),
    "stage": st.sampled_from(["training", "evaluation", "data_preparation"]),
    "timeout": st.sampled_from(["1m", "2h"]),
    "matrix": st.just({"m": [1, 2], "k": ["a", "b"]}),
    "when": st.sampled_from(["params.x > 0", "params.y < params.x"]),
    "on_fail": st.just({"run": "echo ${{ params.y }}", "env": {"B": "1", "A": "2"}}),
}
MISTAKES = ["", "", "", "", "unknown key", "circle", "nobody judges", "no such output"]


@st.composite
def rich_pipelines(draw: st.DrawFn) -> dict[str, object]:
    """A graph with most of the language in it; one in a few has a mistake."""
    pipeline = draw(pipelines())
    steps: dict[str, dict[str, object]] = pipeline["steps"]  # type: ignore[assignment]
    for step in steps.values():
        step["out"] = {**draw(st.dictionaries(st.sampled_from("pqr"), KINDS)), "o": "model"}
        for key in draw(st.sets(st.sampled_from(sorted(KEYS)))):
            step[key] = draw(KEYS[key])
    source, mistake = draw(st.sampled_from(sorted(steps))), draw(st.sampled_from(MISTAKES))
    if draw(st.booleans()) or mistake == "nobody judges":
        alias = draw(st.sampled_from("ab"))
        steps["z"] = {"uses": "register", "with": {"model": f"{source}.o", "name": "m", "alias": alias}}
        if mistake != "nobody judges":
            steps["y"] = {"run": f"judge ${{{{ {source}.o }}}}", "check": ["auc > production.auc", "auc > 0"]}
    match mistake:
        case "unknown key":
            steps[source]["rnu"] = "echo"
        case "circle":
            steps[source]["depends_on"] = sorted({*steps} - {"z"})
        case "no such output":
            steps["x"] = {"run": f"cat ${{{{ {source}.oo }}}}"}
        case _:
            pass
    params = {"x": 1, "y": {"type": "float", "default": 0.5, "range": [0, 1]}}
    return {**pipeline, "params": params, "data": {"d": "datasets/d", "e": "file:e"}}


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
def test_written_as_yaml_and_read_again_it_is_the_same_plan_and_the_same_yaml(pipeline: dict[str, object]) -> None:
    text = write(pipeline)  # type: ignore[arg-type]  # plain, by how it is drawn
    again = load(text, "f.yaml")
    assert canonical_json(compile_plan(again, resolve(again, {}), ())) == compiled(pipeline)[1]
    assert write(read(text, "f.yaml").value) == text  # type: ignore[arg-type]  # as above


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


def said(texts: list[str], seed: str) -> list[str]:
    """What a process with this hash seed makes of the documents, one line each."""
    done = subprocess.run(
        [sys.executable, "-c", HASHED],
        input="\n===\n".join(texts),
        env={**os.environ, "PYTHONHASHSEED": seed},
        capture_output=True,
        text=True,
        check=True,
    )
    lines = done.stdout.splitlines()
    assert len(lines) == len(texts)
    return lines


@pytest.mark.slow
@given(st.lists(rich_pipelines(), min_size=6, max_size=10), st.randoms(use_true_random=False))
@settings(
    max_examples=4,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    phases=[Phase.generate],
)
def test_no_hash_seed_and_no_order_of_keys_changes_a_plan(made: list[dict[str, object]], rng: random.Random) -> None:
    texts = [json.dumps(pipeline) for pipeline in made]
    first = said(texts, "0")
    assert [said(texts, seed) for seed in ("1", "4294967295")] == [first, first]
    other_order = said([json.dumps(shuffled(pipeline, rng)) for pipeline in made], "7")
    plans = [(line, other) for line, other in zip(first, other_order, strict=True) if line.startswith("sha256:")]
    assert [line for line, _ in plans] == [other for _, other in plans]
    assert [line[:6] for line in first] == [line[:6] for line in other_order]  # what is refused stays refused


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

    first = said(texts, "1")
    assert "a → d → c → b → a" in first[0]
    assert first == said(texts, "2")
