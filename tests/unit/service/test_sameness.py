"""Whether a run came to the same as the one it makes again."""

import math
from collections.abc import Mapping
from dataclasses import replace

import pytest

from build import NOW, plan, step, summary
from trainwright.core.artifact import ArtifactKind, Content, Output
from trainwright.core.ids import AttemptId, Digest, ProjectName, RunId, StepName
from trainwright.core.reproduction import Tolerance, tolerance_of
from trainwright.core.run import Attempt, Run, RunView, StepRun, attempts_of, outputs_of, steps_of
from trainwright.core.states import AttemptState, RunState, StepState
from trainwright.service.sameness import Sameness, compare_outcomes

PLAN = plan(step("a", out={"model": "model"}))


def run(name: str, metrics: Mapping[str, float], *, made: str = "", state: RunState = RunState.SUCCEEDED) -> RunView:
    """A run of one step that has ended."""
    record = Run(RunId(name), ProjectName("p"), 1, "p", "p.yaml", Digest(""), Digest(""), {}, state, NOW, "ada")
    attempt = Attempt(
        AttemptId(f"{name}/a/1"), record.id, StepName("a"), 1, AttemptState.SUCCEEDED, "t", NOW,
        metrics={key: summary(value) for key, value in metrics.items()},
    )  # fmt: skip
    output = Output(attempt.id, record.id, StepName("a"), "model", ArtifactKind.MODEL, Content(Digest(made), 1, 1))
    return RunView(
        record,
        steps_of([StepRun(record.id, StepName("a"), 0, StepState.SUCCEEDED, attempts=1)]),
        attempts_of([attempt]),
        outputs=outputs_of([output] if made else []),
    )


def compared(before: RunView, after: RunView, **tolerance: Tolerance) -> Sameness:
    return compare_outcomes(before, after, PLAN, {name.replace("__", "."): value for name, value in tolerance.items()})


@pytest.mark.parametrize(
    ("before", "now", "tolerance", "verdict", "reproduced"),
    [
        (0.5, 0.5, "0", "equal", True),
        (0.5, 0.501, "0", "differs", False),
        (0.5, 0.501, "0.001", "within", True),
        (0.5, 0.51, "1%", "differs", False),
        (0.5, 0.505, "1%", "within", True),
        (math.nan, math.nan, "0", "not-a-number", True),
        (math.nan, 0.5, "1000", "differs", False),
        (math.inf, math.inf, "0", "equal", True),
        (0.0, 0.1, "50%", "differs", False),
    ],
)
def test_a_metric_is_judged_by_its_tolerance(
    before: float, now: float, tolerance: str, verdict: str, reproduced: bool
) -> None:
    same = compared(run("r1", {"m": before}), run("r2", {"m": now}), m=tolerance_of(tolerance))
    assert [metric.verdict for metric in same.metrics] == [verdict]
    assert same.reproduced is reproduced


def test_the_tolerance_of_a_step_is_closer_than_that_of_a_name() -> None:
    before, after = run("r1", {"m": 1.0}), run("r2", {"m": 1.05})
    assert compared(before, after, m=Tolerance(1.0), a__m=Tolerance(0.01)).reproduced is False
    assert compared(before, after, m=Tolerance(0.01), a__m=Tolerance(1.0)).reproduced is True
    assert compared(before, after, m=Tolerance(1.0), other=Tolerance(1.0)).unused == ("other",)


def test_a_metric_of_one_side_only_is_no_reproduction() -> None:
    same = compared(run("r1", {"old": 1.0, "both": 1.0}), run("r2", {"both": 1.0, "young": 1.0}))
    assert {metric.name: metric.verdict for metric in same.metrics} == {
        "a.both": "equal",
        "a.old": "missing",
        "a.young": "new",
    }
    assert not same.reproduced


def test_other_bytes_count_only_where_there_is_no_metric() -> None:
    before, after = run("r1", {"m": 1.0}, made="sha256:1"), run("r2", {"m": 1.0}, made="sha256:2")
    assert compared(before, after).reproduced
    assert [output.equal for output in compared(before, after).outputs] == [False]
    assert not compared(run("r1", {}, made="sha256:1"), run("r2", {}, made="sha256:2")).reproduced
    assert compared(run("r1", {}, made="sha256:1"), run("r2", {}, made="sha256:1")).reproduced


def test_a_failure_is_reproduced_by_a_failure_alone() -> None:
    failed = run("r1", {"m": 1.0}, state=RunState.FAILED)
    assert compared(failed, replace(failed, run=replace(failed.run, id=RunId("r1")))).reproduced
    assert not compared(failed, run("r1", {"m": 1.0})).reproduced
