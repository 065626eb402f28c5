"""How a step joins those before it: the table of the documentation cell by cell, and what follows a failure."""

import re
from pathlib import Path

import pytest

from build import NOW
from compiled import BAD, played
from trainwright.core.ids import RunId, StepName
from trainwright.core.join import Join
from trainwright.core.reasons import Reason, ReasonCode
from trainwright.core.run import StepRun
from trainwright.core.states import StepState
from trainwright.lifecycle import join
from trainwright.lifecycle.join import obstacle

PAGE = Path(__file__).parents[3] / "docs/reference/language.md"
End = tuple[StepState, ReasonCode | None]
WELL: End = (StepState.SUCCEEDED, None)
CACHED: End = (StepState.CACHED, None)
FAILED: End = (StepState.FAILED, None)
CANCELLED: End = (StepState.CANCELLED, None)
SKIPPED: End = (StepState.SKIPPED, ReasonCode.CONDITION_FALSE)
SKIPPED_AFTER_FAILURE: End = (StepState.SKIPPED, ReasonCode.UPSTREAM_FAILED)
COLUMNS: dict[str, list[list[End]]] = {
    "all succeeded": [[WELL], [WELL, CACHED]],
    "some skipped, none failed": [[SKIPPED], [WELL, SKIPPED], [SKIPPED, SKIPPED]],
    "some failed": [
        *([bad] for bad in (FAILED, CANCELLED, SKIPPED_AFTER_FAILURE)),
        *([bad, WELL] for bad in (FAILED, CANCELLED, SKIPPED_AFTER_FAILURE)),
        [FAILED, SKIPPED],
    ],
}
"""Column of the table → ends of the steps before, of which each is one case of it."""


def ended_steps(ends: list[End]) -> list[StepRun]:
    return [
        StepRun(RunId("r"), StepName(f"s{n}"), n, state, Reason(code) if code else None, finished_at=NOW)
        for n, (state, code) in enumerate(ends)
    ]


def table_of(text: str) -> dict[str, list[str]]:
    """Rule → its cells, from the table of the page."""
    rows = re.findall(r"^\| `(\w+)`[^|]*\|(.*)\|$", text[text.index("| `when` | all succeeded") :], re.MULTILINE)
    return {rule: [cell.strip() for cell in cells.split("|")] for rule, cells in rows[1:5]}


TABLE = table_of(PAGE.read_text(encoding="utf-8"))


def test_the_page_has_every_rule_that_can_be_written() -> None:
    assert sorted(TABLE) == sorted(rule.value for rule in Join if rule is not Join.ONE_FAILED)
    assert {len(cells) for cells in TABLE.values()} == {len(COLUMNS)}


def test_the_module_says_the_same_as_the_page() -> None:
    said = re.findall(r"^``(\w+_\w+)`` +(begins.*)$", join.__doc__ or "", re.MULTILINE)
    cells = {rule: [re.sub(r" \(.*?\)", "", c) for c in re.split(r"\s{2,}", line.strip())] for rule, line in said}
    assert cells == {rule: [re.sub("^is ", "", c) for c in row] for rule, row in TABLE.items()}


CELLS = [(rule, column, ends) for rule in TABLE for column, cases in COLUMNS.items() for ends in cases]


@pytest.mark.parametrize(("rule", "column", "ends"), CELLS)
def test_a_cell_holds(rule: str, column: str, ends: list[End]) -> None:
    says = TABLE[rule][list(COLUMNS).index(column)]
    one_succeeded = any(state.is_success for state, _ in ends)
    begins = one_succeeded if says == "begins when one succeeded" else says == "begins"
    reason = obstacle(Join(rule), ended_steps(ends))
    assert (reason is None) is begins
    if reason is not None:
        failed = column == "some failed"
        assert reason.code is (ReasonCode.UPSTREAM_FAILED if failed else ReasonCode.UPSTREAM_SKIPPED)


@pytest.mark.parametrize("rule", list(Join)[:4])
def test_a_step_that_needs_nothing_begins(rule: Join) -> None:
    assert obstacle(rule, []) is None


@pytest.mark.parametrize("end", [WELL, CACHED, CANCELLED, SKIPPED, SKIPPED_AFTER_FAILURE])
def test_what_follows_a_failure_follows_nothing_else(end: End) -> None:
    reason = obstacle(Join.ONE_FAILED, ended_steps([end]))
    assert reason is not None
    assert reason.code is ReasonCode.NOT_NEEDED
    assert obstacle(Join.ONE_FAILED, ended_steps([FAILED])) is None


def test_a_failure_is_not_forgotten_along_a_chain_and_a_skip_is_passed_on() -> None:
    run = played(
        """\
        pipeline: p
        steps:
          a: {run: 'true'}
          b: {run: 'true', depends_on: a}
          c: {run: 'true', depends_on: b, when: none_failed}
          d: {run: 'true', depends_on: c, when: all_done}
          e: {run: 'true', skip_code: 9}
          f: {run: 'true', depends_on: e}
          g: {run: 'true', depends_on: f, when: none_failed}
        """,
        {"a": BAD, "e": {"exit_code": 9}},
    ).to_the_end()
    assert run.states == {
        "a": "failed", "b": "skipped", "c": "skipped", "d": "succeeded",
        "e": "skipped", "f": "skipped", "g": "succeeded", "run": "failed",
    }  # fmt: skip
    assert [run.code(name) for name in "bcef"] == [
        "upstream-failed", "upstream-failed", "skipped-itself", "upstream-skipped",
    ]  # fmt: skip


def test_a_step_before_that_made_nothing_gives_no_input() -> None:
    run = played(
        """\
        pipeline: p
        steps:
          a: {run: 'true ${{ out.o }}', out: {o: file}, skip_code: 9}
          b: {run: 'true ${{ out.o }}', out: {o: file}}
          c: {run: 'cat ${{ a.o }} ${{ b.o }}', when: none_failed}
        """,
        {"a": {"exit_code": 9}},
    ).to_the_end()
    assert run.inputs("c/1") == {"b.o": "runs:/r/b/o"}
    assert run.states["run"] == "succeeded"


HANDLED = """\
pipeline: p
steps:
  a: {run: 'true', retry: 1, on_fail: {run: 'true'}}
  b: {run: 'true', depends_on: a}
"""


def test_what_follows_a_failure_begins_after_the_last_try_only() -> None:
    run = played(HANDLED, {"a": BAD}).to_the_end()
    assert run.begun == ["r/a/1", "r/a/2", "r/a.on_fail/1"]
    assert run.states == {"a": "failed", "a.on_fail": "succeeded", "b": "skipped", "run": "failed"}
    assert run.now_is.run.reason is not None
    assert run.now_is.run.reason.evidence["step"] == "a"


def test_what_follows_a_failure_is_passed_over_when_a_repetition_succeeds() -> None:
    run = played(HANDLED, {"a/1": BAD}).to_the_end()
    assert run.states == {"a": "succeeded", "a.on_fail": "skipped", "b": "succeeded", "run": "succeeded"}
    assert run.code("a.on_fail") == "not-needed"


def test_what_follows_a_failure_may_fail_itself_and_the_run_names_the_first_cause() -> None:
    run = played(HANDLED, {"a": BAD, "a.on_fail": {"exit_code": 3}}).to_the_end()
    assert run.states["a.on_fail"] == "failed"
    assert run.now_is.run.reason is not None
    assert run.now_is.run.reason.evidence["step"] == "a"


def test_what_follows_a_failure_does_not_begin_for_a_step_that_was_skipped_or_stopped() -> None:
    text = """\
    pipeline: p
    steps:
      a: {run: 'true'}
      b: {run: 'true', depends_on: a, on_fail: {run: 'true'}}
    """
    assert played(text, {"a": BAD}).to_the_end().states["b.on_fail"] == "skipped"
    stopped = played(text).place_all().end_all().place_all().stop().to_the_end()
    assert stopped.states == {"a": "succeeded", "b": "cancelled", "b.on_fail": "cancelled", "run": "cancelled"}


def test_a_group_that_failed_is_followed_once() -> None:
    text = """\
    pipeline: p
    steps:
      a: {run: 'true ${{ each.value }}', for_each: [1, 2], on_fail: {run: 'true'}}
    """
    run = played(text, {"a.0": BAD, "a.1": BAD}).to_the_end()
    assert run.states["a.on_fail"] == "succeeded"
    assert [a for a in run.begun if "on_fail" in a] == ["r/a.on_fail/1"]
