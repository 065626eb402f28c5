"""What ``scheduling:``, ``workers:`` and ``runs_on:`` say, from the file to the plan."""

import pytest

from trainwright.core.codec import from_json, to_json
from trainwright.core.errors import TrainwrightError
from trainwright.core.ids import StepName
from trainwright.core.scheduling import Choice, Gang, Scheduling
from trainwright.core.window import Window
from trainwright.core.workload import Isolation, Preemption
from trainwright.plan.compile import compile_plan
from trainwright.plan.plan import Plan
from trainwright.spec.load import load

TOP = "pipeline: p\nscheduling: {queue: vision, priority: batch, purpose: nightly}\nruns_on: [a, b]\nsteps:\n"


def compiled(text: str) -> Plan:
    return compile_plan(load(text, "p.yaml"), {}, ())


def test_a_step_says_more_than_its_pipeline_and_is_heard_first() -> None:
    plan = compiled(
        TOP + "  s: {run: x, scheduling: {priority: 7, window: '22:00-06:00'}, runs_on: soonest}\n  t: {run: y}"
    )
    general = Scheduling(queue="vision", priority="batch", purpose="nightly", pools=("a", "b"))
    assert plan.scheduling[StepName("t")] == general
    assert plan.scheduling[StepName("s")] == Scheduling(
        queue="vision", priority=7, purpose="nightly", pools=("a", "b"), choice=Choice.SOONEST, window=Window(1320, 360)
    )
    assert plan.gangs == {}
    assert from_json(Plan, to_json(plan)) == plan


def test_members_and_the_step_after_a_failure_have_paths_of_their_own() -> None:
    text = TOP + "  e: {run: x, for_each: [1, 2], workers: 2..4, on_fail: {run: y}}"
    assert set(compiled(text).scheduling) == {"e.*", "e.on_fail"}
    assert compiled(text).gangs == {"e.*": Gang(4, 2)}


def test_a_plan_without_any_is_the_plan_it_was() -> None:
    plain = compiled("pipeline: p\nsteps: {s: {run: x}}")
    asked = compiled("pipeline: p\nscheduling: {queue: q}\nsteps: {s: {run: x}}")
    several = compiled("pipeline: p\nsteps: {s: {run: x, workers: 2}}")
    assert plain.digest == plain.experiment == asked.experiment
    assert asked.digest != plain.digest
    assert several.experiment != plain.experiment


def test_everything_that_can_be_asked_arrives() -> None:
    asked = "{preemptible: false, deadline: 12h, expected_duration: 1h, restart_cost: 5s, grace: 30s, max_price: 2.5}"
    plan = compiled(f"pipeline: p\nsteps: {{s: {{run: x, scheduling: {asked}}}}}")
    assert plan.scheduling[StepName("s")] == Scheduling(
        preemption=Preemption.NEVER, deadline_s=43200.0, expected_s=3600.0, restart_cost_s=5.0, grace_s=30.0,
        most_price=2.5,
    )  # fmt: skip
    gpus = compiled("pipeline: p\nsteps: {s: {run: x, resources: {gpu: 'H100:8', isolation: mig}}}")
    assert gpus.gangs == {"s": Gang(models=("H100",), isolation=Isolation.MIG)}
    assert gpus.steps[0].resources.gpu_milli == 8000


@pytest.mark.parametrize(
    ("step", "words"),
    [
        ("workers: 0", "workers: 0 is not possible"),
        ("workers: 4..2", "the smaller number first"),
        ("workers: many", "is no number of workers"),
        ("workers: true", "is no number of workers"),
        ("scheduling: {window: always}", "is no window"),
        ("scheduling: {preemptible: sometimes}", 'preemptible: "sometimes" is not possible'),
        ("scheduling: {preemptible: time-slice}", "did you mean time-sliced?"),
        ("scheduling: {priority: 1.5}", "write the name of a class"),
        ("scheduling: {deadline: 2026-12-24T18:00}", "has no time zone"),
        ("scheduling: {deadline: soon}", "is not a duration"),
        ("scheduling: {que: a}", "did you mean queue?"),
        ("scheduling: {queue: 'a b'}", "it holds a space"),
        ("scheduling: {max_price: -1}", "below 0"),
        ("runs_on: []", "names no pools"),
        ("resources: {gpu: 'H100:8', gpu_model: A100}", "name it once"),
        ("resources: {isolation: total}", '"total" is not possible here'),
    ],
)
def test_what_cannot_be_is_refused_in_words(step: str, words: str) -> None:
    with pytest.raises(TrainwrightError) as caught:
        load(f"pipeline: p\nsteps:\n  s:\n    run: x\n    {step}\n", "p.yaml")
    assert words in str(caught.value)
    assert "p.yaml:5:" in str(caught.value)
