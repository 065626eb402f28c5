"""Scripts of happenings → exactly what is written and done."""

import math
from dataclasses import replace

import pytest

from build import (
    NOW,
    after,
    asks,
    content,
    ended,
    first,
    last,
    placed,
    plan,
    register,
    running,
    step,
    tell,
    told,
    train_and_register,
    view,
    well,
)
from trainwright.core.changes import Act, Changes, Instruction
from trainwright.core.codec import encode_float
from trainwright.core.decision import Refusal
from trainwright.core.ids import AttemptId, StepName
from trainwright.core.job import CodeTree, MemoryGrowth, Retry
from trainwright.core.reasons import Reason, ReasonCode
from trainwright.core.run import RunView
from trainwright.core.stage import Stage
from trainwright.core.states import AttemptState, ExitClass, StepState
from trainwright.core.workload import single
from trainwright.engine.placing import workload
from trainwright.lifecycle.advance import Happening
from trainwright.lifecycle.job import build_job
from trainwright.plan.plan import Plan

ONE = plan(step("a"))
CHAIN = plan(step("a", out={"x": "file"}), step("b", reads=["a.x"]), step("c", needs=["b"]))


def states(now_is: RunView) -> dict[str, str]:
    """Step → state, and ``run``."""
    return {**{str(s.name): str(s.state) for s in now_is.steps}, "run": str(now_is.run.state)}


def attempts(now_is: RunView) -> dict[str, str]:
    return {str(a.id): str(a.state) for a in now_is.attempts}


def code(now_is: RunView, name: str) -> str:
    reason = now_is.step(StepName(name)).reason
    return "" if reason is None else str(reason.code)


def asked_to_stop(now_is: RunView) -> RunView:
    return replace(now_is, run=replace(now_is.run, stop_asked_by="bob"))


def told_of(changes: Changes) -> list[tuple[str, str]]:
    return [(str(i.act), str(i.attempt)) for i in changes.instructions]


def test_a_new_run_queues_what_needs_nothing_and_says_what_the_rest_waits_for() -> None:
    now_is, changes = told(CHAIN, view(CHAIN))
    assert attempts(now_is) == {"r/a/1": "queued"}
    assert states(now_is) == {"a": "queued", "b": "pending", "c": "pending", "run": "running"}
    assert now_is.step(StepName("c")).reason == Reason(ReasonCode.WAITING_FOR_STEP, {"steps": ["b"]})
    assert changes.run is not None
    assert changes.run.started_at == NOW
    assert (changes.inputs, changes.outputs, changes.models, changes.instructions) == ({"r/a/1": ()}, (), (), ())


def test_one_good_life_step_by_step() -> None:
    now_is, _ = told(ONE, view(ONE))
    now_is, changes = told(ONE, now_is, placed("r/a/1", 3))
    assert changes.instructions == (Instruction(Act.START, AttemptId("r/a/1")),)
    assert (changes.attempts[0].state, changes.attempts[0].devices) == (AttemptState.STARTING, (3,))
    assert (changes.steps[0].state, changes.steps[0].started_at) == (StepState.RUNNING, NOW)
    now_is, changes = told(ONE, now_is, running("r/a/1", after(1)), at=after(2))
    assert (changes.attempts[0].state, changes.attempts[0].started_at) == (AttemptState.RUNNING, after(1))
    assert (changes.steps, changes.run, changes.instructions) == ((), None, ())
    end = ended("r/a/1", metrics={"loss": 0.5}, params={"host": "a"}, at=after(9))
    now_is, changes = told(ONE, now_is, end, at=after(10))
    attempt = changes.attempts[0]
    assert (attempt.state, attempt.exit_class, attempt.exit_code) == (AttemptState.SUCCEEDED, ExitClass.OK, 0)
    assert (attempt.finished_at, attempt.metrics["loss"].last, attempt.params) == (after(9), 0.5, {"host": "a"})
    assert states(now_is) == {"a": "succeeded", "run": "succeeded"}
    assert changes.run is not None
    assert (changes.run.finished_at, changes.run.reason) == (after(10), Reason(ReasonCode.SUCCEEDED))


def test_an_output_is_recorded_and_read_by_the_next_step() -> None:
    now_is = tell(CHAIN, view(CHAIN), *well("r/a/1", outputs=["x", "unasked"]))
    assert [(o.step, o.name) for o in now_is.outputs] == [("a", "x")]
    assert [(i.name, i.address, i.content) for i in now_is.inputs[AttemptId("r/b/1")]] == [
        ("a.x", "runs:/r/a/x", first(now_is.outputs).content)
    ]


def test_exit_0_without_a_promised_output_is_no_success() -> None:
    now_is = tell(CHAIN, view(CHAIN), *well("r/a/1"))
    assert states(now_is) == {"a": "failed", "b": "skipped", "c": "skipped", "run": "failed"}
    assert code(now_is, "a") == "output-missing"
    assert first(now_is.attempts).exit_class is ExitClass.OUTPUT
    assert not list(now_is.outputs)


def test_a_failed_step_fails_the_run_with_its_reason_and_what_follows_is_skipped() -> None:
    now_is = tell(CHAIN, view(CHAIN), *well("r/a/1", exit_code=3))
    assert states(now_is) == {"a": "failed", "b": "skipped", "c": "skipped", "run": "failed"}
    assert now_is.step(StepName("b")).reason == Reason(ReasonCode.UPSTREAM_FAILED, {"steps": ["a"]})
    assert now_is.step(StepName("c")).reason == Reason(ReasonCode.UPSTREAM_FAILED, {"steps": ["b"]})
    assert now_is.run.reason is not None
    assert now_is.run.reason.sentence() == "the step a failed: the command ended with exit code 3"


def test_other_branches_go_on_when_one_failed() -> None:
    two = plan(step("a"), step("b"), step("c", needs=["a"]), step("d", needs=["b"]))
    now_is = tell(two, view(two), *well("r/a/1", exit_code=1), *well("r/b/1"))
    assert states(now_is) == {"a": "failed", "b": "succeeded", "c": "skipped", "d": "queued", "run": "running"}
    assert states(tell(two, now_is, *well("r/d/1")))["run"] == "failed"


def test_a_repetition_waits_for_its_time_and_says_so() -> None:
    twice = plan(step("a", retry=1))
    now_is, changes = told(twice, tell(twice, view(twice)), *well("r/a/1", exit_code=1), at=after(1))
    second = last(now_is.attempts)
    assert (second.id, second.state, second.not_before, second.queued_at) == (
        "r/a/2", AttemptState.QUEUED, after(6), after(1),
    )  # fmt: skip
    assert second.reason is not None
    assert second.reason.code is ReasonCode.BACKING_OFF
    step_now = now_is.step(StepName("a"))
    assert (step_now.state, step_now.attempts, step_now.reason) == (StepState.QUEUED, 2, second.reason)
    assert [a.id for a in changes.attempts] == ["r/a/1", "r/a/2"]
    assert states(tell(twice, now_is, *well("r/a/2")))["run"] == "succeeded"
    assert states(tell(twice, now_is, *well("r/a/2", exit_code=1)))["run"] == "failed"


GROWS = Retry(max=3, on=(ExitClass.OOM, ExitClass.CRASH), memory=MemoryGrowth(2000), backoff_s=10.0)


def test_an_attempt_after_one_out_of_memory_has_more_of_it_everywhere() -> None:
    of = plan(step("a", retry=GROWS, asked=asks(memory_gi=4)))
    now_is = tell(of, view(of), placed("r/a/1"), ended("r/a/1", cause="out-of-memory"))
    now_is = tell(of, now_is, placed("r/a/2"), ended("r/a/2", exit_code=None, signal=11))
    assert [a.ooms for a in now_is.attempts] == [0, 1, 1]
    for attempt, memory_gi in zip(now_is.attempts, (4, 8, 8), strict=True):
        assert workload(attempt, of, now_is.run).shape == single(asks(memory_gi=memory_gi))
        assert build_job(of, now_is, attempt, CodeTree(content("code").digest, ".")).resources == asks(
            memory_gi=memory_gi
        )
    failed = tell(of, now_is, placed("r/a/3"), ended("r/a/3", cause="out-of-memory"))
    reason = failed.attempts[AttemptId("r/a/3")].reason
    assert reason is not None
    assert reason.evidence["memory"] == "8Gi"


def test_memory_that_outgrows_every_machine_fails_the_step_instead_of_waiting_for_ever() -> None:
    of = plan(step("a", retry=GROWS, asked=asks(memory_gi=4)), step("b", needs=["a"]))
    now_is = tell(of, view(of), placed("r/a/1"), ended("r/a/1", cause="out-of-memory"))
    never = Reason(ReasonCode.NEVER_FITS, {"shortfall": "memory: asked 8Gi, has 6Gi", "asked": "x"})
    now_is = tell(of, now_is, Refusal(AttemptId("r/a/2"), never))
    assert states(now_is) == {"a": "failed", "b": "skipped", "run": "failed"}
    assert attempts(now_is) == {"r/a/1": "failed", "r/a/2": "failed"}
    reason = now_is.step(StepName("a")).reason
    assert reason is not None
    assert reason.sentence() == "asks for more than this machine has (memory: asked 8Gi, has 6Gi)"
    assert reason.remedy() == "give the growth a most that fits, as in retry: {memory: x2..8Gi}"


def test_a_first_attempt_that_no_machine_has_room_for_at_present_waits() -> None:
    of = plan(step("a", retry=GROWS, asked=asks(memory_gi=4)))
    never = Reason(ReasonCode.NEVER_FITS, {"shortfall": "memory"})
    assert states(tell(of, view(of), Refusal(AttemptId("r/a/1"), never)))["a"] == "queued"


def test_lost_attempts_are_repeated_three_times_and_spend_no_retry() -> None:
    once = plan(step("a", retry=1))
    now_is = tell(once, view(once))
    for number in (1, 2, 3):
        now_is = tell(once, now_is, placed(f"r/a/{number}"), ended(f"r/a/{number}", cause="lost", token=""))
        assert last(now_is.attempts).not_before is None
    now_is = tell(once, now_is, *well("r/a/4", exit_code=1))
    assert attempts(now_is)["r/a/5"] == "queued"
    lost = tell(once, now_is, placed("r/a/5"), ended("r/a/5", cause="lost"))
    assert states(lost) == {"a": "failed", "run": "failed"}
    assert code(lost, "a") == "lost"


BEFORE = {
    "pending": (),
    "queued": (),
    "starting": (placed("r/a/1"),),
    "running": (placed("r/a/1"), running("r/a/1")),
}


@pytest.mark.parametrize(
    ("where", "attempt", "told_to"),
    [
        ("queued", "cancelled", []),
        ("starting", "stopping", [("stop", "r/a/1")]),
        ("running", "stopping", [("stop", "r/a/1")]),
    ],
)
def test_a_stop_in_each_state(where: str, attempt: str, told_to: list[tuple[str, str]]) -> None:
    two = plan(step("a"), step("b", needs=["a"]))
    now_is = asked_to_stop(tell(two, view(two), *BEFORE[where]))
    now_is, changes = told(two, now_is, at=after(5))
    assert attempts(now_is) == {"r/a/1": attempt}
    assert told_of(changes) == told_to
    assert all(i.why == "stopped by bob" for i in changes.instructions)
    assert states(now_is)["b"] == "cancelled"
    assert told(two, now_is, at=after(6))[1] == Changes()
    done = tell(two, now_is, ended("r/a/1", cause="stopped", signal=15), at=after(7))
    assert states(done) == {"a": "cancelled", "b": "cancelled", "run": "cancelled"}
    assert done.run.reason == Reason(ReasonCode.STOPPED, {"actor": "bob"})
    assert first(done.attempts).exit_class is ExitClass.STOPPED


def test_a_run_stopped_before_its_first_turn_starts_nothing() -> None:
    now_is, changes = told(CHAIN, asked_to_stop(view(CHAIN)))
    assert states(now_is) == {"a": "cancelled", "b": "cancelled", "c": "cancelled", "run": "cancelled"}
    assert (changes.attempts, changes.instructions) == ((), ())


def test_a_stop_while_backing_off_cancels_the_repetition() -> None:
    twice = plan(step("a", retry=1))
    now_is = asked_to_stop(tell(twice, view(twice), *well("r/a/1", exit_code=1)))
    now_is = tell(twice, now_is)
    assert attempts(now_is) == {"r/a/1": "failed", "r/a/2": "cancelled"}
    assert states(now_is) == {"a": "cancelled", "run": "cancelled"}


@pytest.mark.parametrize(
    ("end", "attempt", "run"),
    [
        (ended("r/a/1"), "succeeded", "succeeded"),
        (ended("r/a/1", 1), "cancelled", "cancelled"),
        (ended("r/a/1", cause="lost"), "cancelled", "cancelled"),
    ],
)
def test_what_ends_while_it_is_stopped_ends_as_it_did_and_is_not_repeated(
    end: Happening, attempt: str, run: str
) -> None:
    retried = plan(step("a", retry=3))
    now_is = asked_to_stop(tell(retried, view(retried), *BEFORE["running"]))
    now_is = tell(retried, now_is, end)
    assert attempts(now_is) == {"r/a/1": attempt}
    assert states(now_is)["run"] == run


def test_a_failure_that_arrives_with_the_stop_is_not_repeated() -> None:
    retried = plan(step("a", retry=3))
    now_is = asked_to_stop(tell(retried, view(retried), *BEFORE["running"]))
    now_is, _ = told(retried, now_is, ended("r/a/1", 1))
    assert attempts(now_is) == {"r/a/1": "failed"}
    assert states(now_is)["run"] == "failed"


def test_an_attempt_that_somebody_else_stopped_cancels_the_run() -> None:
    now_is = tell(CHAIN, view(CHAIN), placed("r/a/1"), ended("r/a/1", cause="stopped"))
    assert states(now_is) == {"a": "cancelled", "b": "skipped", "c": "skipped", "run": "cancelled"}
    assert now_is.run.reason == Reason(ReasonCode.STOPPED, {"actor": "somebody"})


@pytest.mark.parametrize(
    "happening",
    [
        ended("r/a/1", token="another"),
        ended("r/b/1"),
        placed("r/a/1"),
        running("r/a/1"),
        running("r/a/2"),
        Refusal(AttemptId("r/a/1"), Reason(ReasonCode.NEVER_FITS)),
    ],
)
def test_what_concerns_nobody_changes_nothing(happening: Happening) -> None:
    now_is = tell(ONE, view(ONE), *BEFORE["running"])
    assert told(ONE, now_is, happening, at=after(9))[1] == Changes()


def test_a_finished_run_changes_no_more() -> None:
    now_is = asked_to_stop(tell(ONE, view(ONE), *well("r/a/1")))
    assert told(ONE, now_is, ended("r/a/1", 1), running("r/a/1"))[1] == Changes()


@pytest.mark.parametrize("end", [ended("r/a/1", outputs=["x"]), ended("r/a/1", 1), ended("r/a/1", cause="lost")])
def test_happenings_that_come_doubled_and_out_of_order_change_nothing_twice(end: Happening) -> None:
    began, changes = told(CHAIN, tell(CHAIN, view(CHAIN)), placed("r/a/1"), placed("r/a/1"))
    assert told_of(changes) == [("start", "r/a/1")]
    jumbled, _ = told(CHAIN, began, end, running("r/a/1"), placed("r/a/1"), end)
    assert jumbled == tell(CHAIN, began, running("r/a/1"), end)
    assert told(CHAIN, jumbled, end, running("r/a/1"), end)[1] == Changes()


def test_why_an_attempt_waits_is_written_once() -> None:
    no = Refusal(AttemptId("r/a/1"), Reason(ReasonCode.WAITING_FOR_CAPACITY, {"shortfall": "cpu", "holders": "x"}))
    now_is, changes = told(ONE, tell(ONE, view(ONE)), no)
    assert (changes.attempts[0].reason, changes.steps[0].reason) == (no.reason, no.reason)
    assert told(ONE, now_is, no)[1] == Changes()
    assert first(tell(ONE, now_is, placed("r/a/1")).attempts).reason is None


JUDGED = plan(step("a", checks=["auc >= 0.8"]), step("b", needs=["a"]))


@pytest.mark.parametrize(
    ("metrics", "verdict", "state", "remedy"),
    [
        ({"auc": 0.9}, "passed", "succeeded", None),
        ({"auc": 0.7}, "failed", "failed", "mend what the check measures, or change check: of the step"),
        ({"auc": math.nan}, "not-a-number", "failed", "a value in the check is not a number: look for divergence"),
        ({}, "missing", "failed", "the check needs auc: log it in the step, or promote a model first"),
    ],
)
def test_a_check_decides(metrics: dict[str, float], verdict: str, state: str, remedy: str | None) -> None:
    now_is = tell(JUDGED, view(JUDGED), *well("r/a/1", metrics=metrics))
    judged = now_is.step(StepName("a"))
    assert [(g.expression, g.verdict) for g in judged.gates] == [("auc >= 0.8", verdict)]
    assert (judged.state, judged.reason and judged.reason.code) == (
        state, "succeeded" if remedy is None else "gate-failed",
    )  # fmt: skip
    assert remedy is None or (judged.reason and judged.reason.remedy()) == remedy
    assert attempts(now_is)["r/a/1"] == "succeeded"
    assert states(now_is)["b"] == ("queued" if state == "succeeded" else "skipped")


@pytest.mark.parametrize(
    ("required", "baselines", "verdict", "against"),
    [
        (False, None, "no-baseline", ""),
        (True, None, "missing", ""),
        (False, {"auc": 0.8}, "passed", "models/m/1"),
        (False, {"auc": 0.95}, "failed", "models/m/1"),
        (False, {"loss": 0.1}, "missing", "models/m/1"),
        (False, {"auc": math.nan}, "not-a-number", "models/m/1"),
    ],
)
def test_a_check_against_production(
    required: bool, baselines: dict[str, float] | None, verdict: str, against: str
) -> None:
    judged = plan(step("a", checks=['auc >= production["auc"]'], baseline="m", baseline_required=required))
    now_is = tell(judged, view(judged, baselines=baselines), *well("r/a/1", metrics={"auc": 0.9}))
    gate = first(now_is.steps).gates[0]
    assert (gate.verdict, gate.baseline) == (verdict, against)
    assert states(now_is)["run"] == ("succeeded" if gate.passed else "failed")


def test_a_stage_that_owes_metadata_fails_without_it_and_names_the_remedy() -> None:
    staged = plan(step("a", stage=Stage.TRAINING, out={"model": "model"}))
    bare = tell(staged, view(staged), *well("r/a/1", outputs=["model"], metrics={"loss": 0.1}))
    assert code(bare, "a") == "metadata-missing"
    reason = first(bare.steps).reason
    assert reason is not None
    assert reason.sentence() == "the stage training owes seed, device and the step did not give it"
    assert reason.remedy() == 'note it in the step: tw.params(seed=7); note it in the step: tw.params(device="cpu")'
    facts = {"seed": 7, "device": "cpu"}
    full = tell(staged, view(staged), *well("r/a/1", outputs=["model"], metrics={"loss": 0.1}, params=facts))
    assert states(full)["run"] == "succeeded"
    assert first(full.steps).metadata["seed"] == 7
    assert first(full.steps).metadata["final_metrics"] == {"loss": 0.1}


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_g09_a_training_that_ends_in_no_number_fails(value: float) -> None:
    staged = plan(step("a", stage=Stage.TRAINING, out={"model": "model"}))
    facts = {"seed": 7, "device": "cpu"}
    now_is = tell(
        staged, view(staged), *well("r/a/1", outputs=["model"], metrics={"loss": value, "auc": 0.9}, params=facts)
    )
    assert code(now_is, "a") == "not-a-number"
    assert first(now_is.steps).reason == Reason(ReasonCode.NOT_A_NUMBER, {"values": {"loss": encode_float(value)}})


def finished(of: Plan, now_is: RunView, auc: float = 0.9) -> RunView:
    return tell(
        of,
        now_is,
        *well("r/train/1", outputs=["model"], metrics={"loss": 0.1, "bad": math.nan}),
        *well("r/judge/1", metrics={"auc": auc}),
    )


def test_a_model_that_passed_its_check_is_registered() -> None:
    of = train_and_register("candidate")
    before = tell(of, view(of), *well("r/train/1", outputs=["model"], metrics={"loss": 0.1, "bad": math.nan}))
    now_is, changes = told(of, before, *well("r/judge/1", metrics={"auc": 0.9}))
    (made,) = changes.models
    assert (made.model, made.version, made.alias, made.step, made.output) == ("m", 1, "candidate", "train", "model")
    assert made.metrics == {"loss": 0.1, "auc": 0.9}
    assert made.content == first(now_is.outputs).content
    assert [g.verdict for g in made.gates] == ["passed"]
    assert now_is.step(StepName("register")).metadata["model_version"] == "models/m/1"
    assert states(now_is)["run"] == "succeeded"
    assert now_is.next_versions == {"m": 2}
    assert now_is.latest(StepName("register")) is None


def test_the_next_version_is_the_one_that_the_registry_says() -> None:
    of = train_and_register()
    now_is = finished(of, view(of, baselines={"auc": 0.1}))
    assert now_is.step(StepName("register")).metadata["model_version"] == "models/m/2"


def test_two_registrations_of_one_turn_get_different_numbers() -> None:
    of = plan(*train_and_register().steps, register("second"))
    now_is = finished(of, view(of))
    numbers = [s.metadata["model_version"] for s in now_is.steps if s.metadata]
    assert numbers == ["models/m/1", "models/m/2"]


def test_a_model_that_failed_its_check_is_not_registered() -> None:
    of = train_and_register()
    now_is = finished(of, view(of), auc=0.5)
    assert states(now_is) == {"train": "succeeded", "judge": "failed", "register": "skipped", "run": "failed"}


def test_a_model_that_nobody_checked_is_refused() -> None:
    of = plan(step("train", out={"model": "model"}), step("judge"), register("register"))
    now_is = finished(of, view(of))
    assert code(now_is, "register") == "not-registered"
    assert states(now_is)["run"] == "failed"


def test_the_same_view_and_happenings_give_the_same_changes() -> None:
    of = train_and_register()
    assert finished(of, view(of)) == finished(of, view(of))
