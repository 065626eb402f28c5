"""Conditions of ``when:``: what they may name, and what follows when they do not hold or cannot be told."""

import math
from collections.abc import Mapping

import pytest

from compiled import BAD, played

NAN = {"metrics": {"auc": math.nan}}
GOOD = {"metrics": {"auc": 0.9}, "params": {"device": "cpu"}}


def after_a(when: str, ends: Mapping[str, object]) -> tuple[str, str]:
    """State and reason of a step whose condition looks at ``a``."""
    run = played(
        f"""\
        pipeline: p
        params: {{limit: 0.5}}
        steps:
          a: {{run: 'true'}}
          b: {{run: 'true', when: [all_done, '{when}']}}
        """,
        {"a": ends},
    ).to_the_end()
    return run.states["b"], run.sentence("b")


@pytest.mark.parametrize(
    ("when", "ends", "state", "said"),
    [
        ("a.auc > 0.5", GOOD, "succeeded", "succeeded"),
        ("a.auc > params.limit", GOOD, "succeeded", "succeeded"),
        ('a.device == "cpu"', GOOD, "succeeded", "succeeded"),
        ("a.passed", GOOD, "succeeded", "succeeded"),
        ("not a.passed", BAD, "succeeded", "succeeded"),
        ("a.auc > 0.95", GOOD, "skipped", "was skipped because a.auc > 0.95 does not hold (a.auc = 0.9)"),
        ("a.passed", BAD, "skipped", "was skipped because a.passed does not hold (a.passed = False)"),
        ("a.f1 > 0", GOOD, "failed", "whether a.f1 > 0 holds cannot be told (a.f1 = missing)"),
        ("a.auc > 0", NAN, "failed", "whether a.auc > 0 holds cannot be told (a.auc = nan)"),
        ('has("a.f1") and a.passed', GOOD, "skipped", 'was skipped because has("a.f1") and a.passed does not hold'),
        ('has("a.auc")', GOOD, "succeeded", "succeeded"),
        ('not has("a.auc")', BAD, "succeeded", "succeeded"),
    ],
)  # fmt: skip
def test_a_condition_about_a_step_before(when: str, ends: Mapping[str, object], state: str, said: str) -> None:
    found = after_a(when, ends)
    assert found[0] == state
    assert found[1].startswith(said)


def test_a_condition_makes_its_step_wait_for_whom_it_names() -> None:
    run = played("pipeline: p\nsteps:\n  a: {run: 'true'}\n  b: {run: 'true', when: 'a.x > 0'}\n")
    assert run.states == {"a": "queued", "b": "pending", "run": "running"}
    assert run.sentence("b") == "waits for a"


def test_all_conditions_have_to_hold_and_the_first_that_does_not_is_named() -> None:
    text = "pipeline: p\nsteps:\n  a: {run: 'true'}\n  b: {run: 'true', when: ['a.x > 0', 'a.x > 1', 'a.y > 2']}\n"
    assert played(text).to_the_end().sentence("b") == "was skipped because a.x > 1 does not hold (a.x = 1)"


EACH = """\
pipeline: p
steps:
  a: {run: 'true'}
  b:
    for_each: [{n: 1}, {n: 2}, {n: 3}]
    run: 'echo ${{ each.n }}'
    when: ['each.n * a.x >= 2', 'a.passed']
"""


def test_a_condition_about_items_is_judged_for_each_member_and_any_other_for_the_group() -> None:
    run = played(EACH).to_the_end()
    assert run.states == {
        "a": "succeeded", "b": "succeeded", "b.0": "skipped", "b.1": "succeeded", "b.2": "succeeded",
        "run": "succeeded",
    }  # fmt: skip
    assert run.sentence("b.0") == "was skipped because each.n * a.x >= 2 does not hold (each.n = 1, a.x = 1)"
    none = played(EACH, {"a": {"metrics": {"x": 0.0}}}).to_the_end()
    assert none.states["b"] == "skipped"
    assert none.sentence("b") == "was skipped because all of its 3 members were"


def test_a_condition_of_a_group_that_does_not_hold_makes_no_members() -> None:
    text = EACH.replace("a.passed", "a.x > 5")
    assert played(text).to_the_end().states == {"a": "succeeded", "b": "skipped", "run": "succeeded"}


def test_a_condition_about_the_values_of_a_matrix() -> None:
    run = played(
        """\
        pipeline: p
        steps:
          a:
            matrix: {kind: [linear, tree], depth: [1, 2]}
            run: 'echo ${{ matrix.kind }}'
            when: 'matrix.kind == "tree" or matrix.depth == 1'
        """
    ).to_the_end()
    assert [run.states[f"a.{n}"] for n in range(4)] == ["succeeded", "succeeded", "skipped", "succeeded"]


def test_a_condition_may_count_the_members_of_a_group() -> None:
    text = """\
    pipeline: p
    steps:
      a: {for_each: [1, 2, 3], run: 'true', tolerate: 1, skip_code: 9}
      b: {run: 'true', when: 'a.succeeded == 1 and a.failed == 1 and a.skipped == 1 and a.total == 3 and a.passed'}
      c: {run: 'true', when: 'a.failed == 0'}
    """
    run = played(text, {"a.0": BAD, "a.1": {"exit_code": 9}}).to_the_end()
    assert (run.states["b"], run.states["c"], run.states["run"]) == ("succeeded", "skipped", "succeeded")


def test_a_null_item_is_its_members_own() -> None:
    sub = {"./sub.yaml": "pipeline: s\nsteps: {i: {for_each: [null, 1], run: 'true', when: 'has(\"each.value\")'}}\n"}
    run = played("pipeline: p\nsteps: {o: {uses: ./sub.yaml, for_each: [7]}}\n", files=sub).to_the_end()
    assert (run.states["o.0.i.0"], run.states["o.0.i.1"]) == ("skipped", "succeeded")


FIT = """\
pipeline: fit
params: {C: {type: float, default: 1.0, range: [0, 10]}, name: none}
steps:
  train: {run: 'echo ${{ params.C }}', check: 'x >= params.C'}
  big: {run: 'true', when: ['params.C > 0.5', 'params.name == "n"']}
"""


def test_checks_and_conditions_within_a_file_see_what_its_member_gives() -> None:
    text = """\
    pipeline: p
    params: {name: n}
    steps:
      fit: {uses: ./fit.yaml, matrix: {C: [0.1, 1, 2]}, with: {C: matrix.C, name: params.name}, tolerate: 1}
    """
    run = played(text, files={"./fit.yaml": FIT}).to_the_end()
    assert [run.states[f"fit.{n}.train"] for n in range(3)] == ["succeeded", "succeeded", "failed"]
    assert [run.states[f"fit.{n}.big"] for n in range(3)] == ["skipped", "succeeded", "succeeded"]
    assert run.sentence("fit.2.train") == "the check x >= params.C failed (x = 1, params.C = 2)"
