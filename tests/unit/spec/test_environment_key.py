"""``environment:`` at the top and per step: what it takes, and what is wrong with it, with line and column."""

import pytest

from compiled import compiled, document
from trainwright.core.environment import AskedEnvironment, EnvironmentKind
from trainwright.core.errors import SpecError
from trainwright.core.ids import StepName
from trainwright.plan.environments import asked_environments, inherits, with_environments
from trainwright.service.locking import place_of
from trainwright.spec.load import load
from trainwright.spec.schema import json_schema

IMAGE = "registry.example/team/train@sha256:" + "a" * 64


def of_step(words: str, top: str = "") -> AskedEnvironment | None:
    plan = compiled(f"pipeline: p\n{top}steps:\n  a:\n    run: x\n    {words}\n")
    found = plan.steps[0].environment
    return None if found is None else found.asked


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        ("environment: inherit", None),
        ("help: nothing said", None),
        (
            "environment: {requirements: ./requirements.txt}",
            AskedEnvironment(EnvironmentKind.REQUIREMENTS, "requirements.txt"),
        ),
        (
            'environment: {lockfile: ../uv.lock, python: "3.12"}',
            AskedEnvironment(EnvironmentKind.LOCKFILE, "../uv.lock", python="3.12"),
        ),
        (
            "environment: {project: ., extras: [b, a, b]}",
            AskedEnvironment(EnvironmentKind.PROJECT, ".", ("a", "b")),
        ),
        (
            f"environment: {{image: {IMAGE}}}",
            AskedEnvironment(EnvironmentKind.IMAGE, image="registry.example/team/train", image_sha256="a" * 64),
        ),
    ],
)
def test_an_environment_is_inherited_or_comes_from_one_place(words: str, asked: AskedEnvironment | None) -> None:
    assert of_step(words) == asked


def test_the_environment_of_the_pipeline_is_that_of_steps_that_say_none() -> None:
    top = "environment: {requirements: r.txt}\n"
    assert of_step("help: none", top) == AskedEnvironment(EnvironmentKind.REQUIREMENTS, "r.txt")
    assert of_step("environment: inherit", top) is None


def test_what_follows_a_failure_inherits_unless_it_says_otherwise() -> None:
    text = "pipeline: p\nenvironment: {requirements: r.txt}\nsteps:\n  a:\n    run: x\n    on_fail: {run: y}\n"
    _, after = compiled(text).steps
    assert after.environment is None
    _, after = compiled(text.replace("run: y", "run: y, environment: {requirements: s.txt}")).steps
    assert after.environment is not None


SUB = "pipeline: s\nsteps:\n  x: {run: x}\n  y: {run: y, environment: {requirements: y.txt}}\n"
TOP = "pipeline: p\nenvironment: {requirements: top.txt}\nsteps:\n  s: {uses: ./sub/f.yaml}\n"


def test_a_file_that_is_used_takes_the_environment_of_the_file_that_uses_it_and_paths_are_its_own() -> None:
    plan = compiled(TOP, {"./sub/f.yaml": SUB})
    found = {name: step.environment.asked.path for name, step in plan.by_path.items() if step.environment}
    assert found == {"s.x": "top.txt", "s.y": "sub/y.txt"}
    own = "environment: {requirements: own.txt}\n" + SUB
    plan = compiled(TOP, {"./sub/f.yaml": own})
    found = {name: step.environment.asked.path for name, step in plan.by_path.items() if step.environment}
    assert found == {"s.x": "sub/own.txt", "s.y": "sub/y.txt"}


def test_the_place_of_an_environment_is_where_it_is_written() -> None:
    for sub, lines in ((SUB, {"s.x": "f.yaml:2", "s.y": "sub/f.yaml:4"}), ("environment: {requirements: o}\n" + SUB, {
        "s.x": "sub/f.yaml:1", "s.y": "sub/f.yaml:5",
    })):  # fmt: skip
        plan, read = compiled(TOP, {"./sub/f.yaml": sub}), document(TOP, {"./sub/f.yaml": sub})
        for name, place in lines.items():
            asked = plan.by_path[StepName(name)].environment
            assert asked is not None
            assert str(place_of(read, asked.asked, name)).rpartition(":")[0] == place


def test_a_plan_knows_its_environments_and_takes_them_locked() -> None:
    plan = compiled(
        "pipeline: p\nenvironment: {requirements: r.txt}\nsteps:\n  a: {run: x}\n"
        "  b: {run: y, for_each: [1, 2], environment: {lockfile: l.lock}}\n"
    )
    asked = asked_environments(plan)
    assert [(one.path, step) for one, step in asked.items()] == [("r.txt", "a"), ("l.lock", "b.*")]
    assert not inherits(plan)
    locked = with_environments(plan, {one: _locked(one) for one in asked})
    keys = {name: step.environment.key for name, step in locked.by_path.items() if step.environment is not None}
    assert keys == {"a": "key of r.txt", "b.*": "key of l.lock"}
    assert locked.digest != plan.digest


def _locked(asked: AskedEnvironment):
    from trainwright.core.environment import StepEnvironment

    return StepEnvironment(asked, "3.11.7", "linux-x86_64", None, f"key of {asked.path}")


@pytest.mark.parametrize(
    ("words", "code", "column", "part"),
    [
        ("environment: requirements.txt", "TW1014", 18, "{requirements: requirements.txt}"),
        ("environment: inherited", "TW1014", 18, "did you mean inherit?"),
        ("environment: {requirement: r.txt}", "TW1010", 19, "did you mean requirements?"),
        ("environment: {requirements: r.txt, lockfile: l}", "TW1017", 50, "both requirements: and lockfile:"),
        ('environment: {python: "3.11"}', "TW1012", 18, "where its packages come from"),
        ("environment: {}", "TW1012", 18, "where its packages come from"),
        ("environment: {requirements: r.txt, python: 3.10}", "TW1013", 48, "3.10 as a number is 3.1"),
        ('environment: {requirements: r.txt, python: "2.7"}', "TW1013", 48, "is no version"),
        ("environment: {requirements: r.txt, extras: [a]}", "TW1017", 48, "extras: says nothing to requirements:"),
        ("environment: {image: team/train:latest}", "TW1081", 26, "has no digest"),
        (f'environment: {{image: "{IMAGE}", python: "3.11"}}', "TW1017", 137, "python: says nothing to image:"),
        ("environment: {requirements: '${{ params.x }}'}", "TW1023", 33, "holds a reference"),
    ],
)
def test_a_mistake_is_told_with_its_place_and_the_remedy(words: str, code: str, column: int, part: str) -> None:
    with pytest.raises(SpecError) as caught:
        load(f"pipeline: p\nsteps:\n  a:\n    run: x\n    {words}\n", "p.yaml")
    problem = caught.value.problem
    assert (problem.code, problem.where) == (code, f"p.yaml:5:{column}")
    assert part in str(problem)


def test_at_the_top_of_the_file_the_same_is_wrong() -> None:
    with pytest.raises(SpecError) as caught:
        load("pipeline: p\nenvironment: {lockfil: l}\nsteps: {a: {run: x}}\n", "p.yaml")
    assert caught.value.problem.where == "p.yaml:2:15"
    assert "did you mean lockfile?" in str(caught.value.problem)


def test_a_register_step_and_a_pipeline_file_have_no_environment() -> None:
    for step in ("uses: register, with: {model: a.m, name: n}", "uses: ./other.yaml"):
        text = f"pipeline: p\nsteps:\n  a: {{run: x, out: {{m: model}}}}\n  b: {{{step}, environment: inherit}}\n"
        with pytest.raises(SpecError, match="environment:"):
            load(text, "p.yaml")


def test_editors_know_the_key() -> None:
    properties = json_schema()["properties"]
    assert "requirements" in str(properties["environment"])
    assert "inherit" in str(properties["environment"])
