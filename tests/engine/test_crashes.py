"""An engine that dies between any two lines of a turn is followed by another, and nobody notices."""

from pathlib import Path

import pytest
from lab import Death, Lab

from build import asks, content, first, insert, plan, register, step
from trainwright.core.job import JobSpec
from trainwright.ports.testing.fake import Script

PIPE = plan(
    step("side", asked=asks(cpu=3)),
    step("train", out={"model": "model"}, retry=1, asked=asks(cpu=2)),
    step("judge", reads=["train.model"], checks=["auc >= 0.8"], asked=asks(cpu=2)),
    register("register", alias="candidate"),
)
ATTEMPTS = {"r/side/1", "r/train/1", "r/train/2", "r/judge/1"}


def goes(job: JobSpec) -> Script:
    """The first attempt at training fails."""
    if job.step == "train" and job.number == 1:
        return Script(exit_code=1)
    return Script(metrics={"auc": 0.9}, outputs={name: content(name) for name in job.outputs})


def survived(folder: Path, death: Death) -> int:
    lab = Lab(folder, goes)
    insert(lab.database, PIPE)
    died = lab.survive(death)
    assert lab.states() == {
        "side": "succeeded", "train": "succeeded", "judge": "succeeded", "register": "succeeded", "run": "succeeded",
        "r/side/1": "succeeded", "r/train/1": "failed", "r/train/2": "succeeded", "r/judge/1": "succeeded",
    }  # fmt: skip
    assert sorted(job.attempt for job in lab.backend.started) == sorted(ATTEMPTS)
    assert [(o.attempt, o.name) for o in lab.view().outputs] == [("r/train/2", "model")]
    assert lab.versions() == [(1, "r")]
    assert lab.count("SELECT count(*) FROM alias_move") == 1
    assert lab.count("SELECT count(*) FROM audit WHERE action = 'model.registered'") == 1
    assert lab.count("SELECT count(*) FROM outbox WHERE done_at IS NULL") == 0
    assert lab.count("SELECT count(*) FROM outbox") == 4
    lab.close()
    return died


@pytest.mark.parametrize("again", [0, 2])
def test_a_crash_at_any_point_and_again_soon_after_costs_nothing(tmp_path: Path, again: int) -> None:
    point = 0
    while True:
        point += 1
        death = Death(frozenset({point, point + again}))
        if survived(tmp_path / str(point), death) == 0:
            break
    assert point > 30, "the points were not reached"
    assert any("before start r/judge/1" in seen for seen in death.seen)


def test_engines_that_die_after_every_few_acts_still_finish(tmp_path: Path) -> None:
    for every in (3, 5, 7):
        assert survived(tmp_path / str(every), Death(frozenset(range(every, 500, every)))) > 5


STUBBORN = plan(step("a"), step("b", needs=["a"]))


def test_a_stop_reaches_its_job_through_a_crash_at_any_point(tmp_path: Path) -> None:
    point = 0
    died = 1
    while died:
        point += 1
        lab = Lab(tmp_path / str(point), lambda _: Script(lasts_s=None, stop_takes_s=1.0))
        insert(lab.database, STUBBORN)
        died = lab.survive(Death(frozenset({point})), lambda turn, lab=lab: lab.stop("r") if turn == 3 else None)  # type: ignore[misc]
        states = lab.states()
        assert states.pop("r/a/1") == "cancelled"
        assert states == {"a": "cancelled", "b": "cancelled", "run": "cancelled"}
        assert lab.backend.stops == [("r/a/1", "stopped by bob")]
        assert len(lab.backend.started) == 1
        lab.close()
    assert point > 10


def test_a_start_that_fails_for_good_keeps_its_words_through_a_crash_at_any_point(tmp_path: Path) -> None:
    point = 0
    died = 1
    while died:
        point += 1
        lab = Lab(tmp_path / str(point), lambda _: Script(refusal=RuntimeError("no such wind")))
        insert(lab.database, plan(step("a")))
        died = lab.survive(Death(frozenset({point})))
        assert lab.states() == {"a": "failed", "run": "failed", "r/a/1": "failed"}
        reason = first(lab.view().steps).reason
        assert reason is not None
        assert "no such wind" in reason.sentence()
        lab.close()
    assert point > 5


def test_g16_a_step_that_ended_while_no_engine_lived_is_taken_as_it_ended(tmp_path: Path) -> None:
    lab = Lab(tmp_path, lambda _: Script(exit_code=0, metrics={"auc": 0.5}))
    insert(lab.database, plan(step("a")))
    lab.engine("first").turn()
    lab.living.clear()
    lab.clock.sleep(3600)
    second = lab.engine("second")
    lab.carry(second)
    assert lab.states() == {"a": "succeeded", "run": "succeeded", "r/a/1": "succeeded"}
    (attempt,) = lab.view().attempts
    assert (attempt.exit_code, attempt.metrics["auc"].last) == (0, 0.5)
    assert lab.backend.asked == ["r/a/1"]
    lab.close()
