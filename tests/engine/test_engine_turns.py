"""Turns of the loop on a real database, with a backend and a clock of our own."""

import logging
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from lab import Death, Killed, Lab

from build import GI, after, asks, content, first, insert, node, plan, step, train_and_register
from trainwright.core.errors import BackendError, TransientBackendError
from trainwright.core.ids import AttemptId, RunId
from trainwright.core.job import JobSpec, MemoryGrowth, Retry
from trainwright.core.states import AttemptState, ExitClass
from trainwright.ports.testing.fake import Script
from trainwright.store import runs

Make = Callable[..., Lab]
ONE = plan(step("a"))


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    labs: list[Lab] = []

    def lab(*given: object, **more: object) -> Lab:
        labs.append(Lab(tmp_path / str(len(labs)), *given, **more))  # type: ignore[arg-type]
        return labs[-1]

    yield lab
    for one in labs:
        one.close()


def good(job: JobSpec) -> Script:
    return Script(metrics={"auc": 0.9}, outputs={name: content(f"{job.attempt}{name}") for name in job.outputs})


def sentence(lab: Lab, run: str = "r") -> str:
    reason = first(lab.view(run).steps).reason
    return "" if reason is None else reason.sentence()


def test_a_pipeline_goes_from_submission_to_the_registry(make: Make) -> None:
    lab = make(good)
    insert(lab.database, train_and_register("candidate"))
    engine = lab.engine("e")
    assert engine.turn()
    assert lab.states() == {
        "train": "running", "judge": "pending", "register": "pending", "run": "running", "r/train/1": "starting",
    }  # fmt: skip
    assert [job.attempt for job in lab.backend.started] == ["r/train/1"]
    lab.carry(engine)
    assert lab.states()["run"] == "succeeded"
    judge = lab.backend.started[1]
    assert [(i.name, i.content) for i in judge.inputs] == [("train.model", content("r/train/1model"))]
    assert lab.versions() == [(1, "r")]
    assert lab.view().run.finished_at == after(2)
    assert not engine.has_work()
    assert not engine.turn()


def test_what_fits_runs_together_and_the_rest_waits_with_its_reason(make: Make) -> None:
    lab = make()
    for name in "abc":
        insert(lab.database, plan(step("x", asked=asks(cpu=2))), name)
    engine = lab.engine("e")
    engine.turn()
    assert [job.attempt for job in lab.backend.started] == ["a/x/1", "b/x/1"]
    assert sentence(lab, "c") == "waits for room (cpu: asked 2, free 0); held by pipe#1/x, pipe#2/x"
    engine.turn()  # sees both running
    events = lab.count("SELECT count(*) FROM event")
    assert not engine.turn()
    assert lab.count("SELECT count(*) FROM event") == events
    lab.carry(engine)
    assert [lab.states(name)["run"] for name in "abc"] == ["succeeded"] * 3


def test_a_repetition_starts_when_it_is_due(make: Make) -> None:
    lab = make(lambda job: Script(exit_code=0 if job.number == 2 else 1))
    insert(lab.database, plan(step("a", retry=1)))
    lab.carry(lab.engine("e"))
    first, second = lab.view().attempts
    assert (first.finished_at, second.not_before) == (after(1), after(6))
    assert lab.view().run.finished_at == after(7)


def test_a_transient_failure_to_start_is_tried_again_by_the_same_attempt(make: Make) -> None:
    refusals: list[Exception | None] = [TransientBackendError("TW6301", "busy")] * 3
    lab = make(lambda job: Script(refusal=refusals.pop() if refusals else None))
    insert(lab.database, ONE)
    lab.carry(lab.engine("e"))
    assert lab.states() == {"a": "succeeded", "run": "succeeded", "r/a/1": "succeeded"}
    assert lab.backend.asked == ["r/a/1"] * 4


def test_a_permanent_failure_to_start_fails_the_step_with_its_message(make: Make) -> None:
    lab = make(lambda job: Script(refusal=BackendError("TW6301", "the disk is full")))
    insert(lab.database, plan(step("a"), step("b", needs=["a"])))
    lab.carry(lab.engine("e"))
    assert lab.states() == {"a": "failed", "b": "skipped", "run": "failed", "r/a/1": "failed"}
    assert sentence(lab) == "the command could not be started: the disk is full"
    assert lab.count("SELECT count(*) FROM outbox WHERE done_at IS NULL") == 0


def test_an_exception_of_a_plugin_fails_the_step_and_keeps_its_traceback(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    lab = make(lambda job: Script(refusal=ZeroDivisionError("by zero")))
    insert(lab.database, ONE)
    lab.carry(lab.engine("e"))
    assert lab.states()["run"] == "failed"
    assert "ZeroDivisionError: by zero" in sentence(lab)
    assert "Traceback" in sentence(lab)
    assert "fake.py" in sentence(lab)
    assert [r.getMessage() for r in caplog.records] == ["a backend broke"]


def test_a_run_whose_turn_fails_holds_up_no_other(make: Make, caplog: pytest.LogCaptureFixture) -> None:
    lab = make()
    insert(lab.database, ONE, "bad")
    insert(lab.database, ONE, "good")
    engine = lab.engine("e")
    engine.turn()
    lab.backend.broken[AttemptId("bad/a/1")] = RuntimeError("odd")
    lab.clock.sleep(1)
    engine.turn()
    assert (lab.states("bad")["run"], lab.states("good")["run"]) == ("running", "succeeded")
    assert any(record.exc_info for record in caplog.records)
    lab.backend.broken[AttemptId("bad/a/1")] = TransientBackendError("TW6301", "asleep")
    assert not engine.turn()
    lab.backend.broken.clear()
    lab.carry(engine)
    assert lab.states("bad")["run"] == "succeeded"


def test_a_stop_in_mid_run_ends_what_runs_and_starts_nothing_more(make: Make) -> None:
    lab = make(lambda job: Script(lasts_s=None, stop_takes_s=5))
    insert(lab.database, plan(step("a"), step("b", needs=["a"]), step("c", asked=asks(cpu=4))))
    engine = lab.engine("e")
    engine.turn()
    engine.turn()
    lab.stop("r")
    engine.turn()
    assert lab.states() == {
        "a": "running", "b": "cancelled", "c": "cancelled", "run": "running",
        "r/a/1": "stopping", "r/c/1": "cancelled",
    }  # fmt: skip
    assert lab.backend.stops == [("r/a/1", "stopped by bob")]
    lab.carry(engine)
    assert lab.states()["run"] == "cancelled"
    assert lab.clock.now() == after(5)


def test_a_stop_that_fails_is_tried_again_and_room_stays_held(make: Make) -> None:
    lab = make(lambda job: Script(lasts_s=None))
    insert(lab.database, plan(step("a", asked=asks(cpu=4))))
    insert(lab.database, plan(step("a", asked=asks(cpu=4))), "next")
    engine = lab.engine("e")
    engine.turn()
    lab.backend.stop_failures = [BackendError("TW6301", "no"), PermissionError("no"), TransientBackendError("T", "no")]
    lab.stop("r")
    for _ in range(3):
        engine.turn()
        assert lab.states()["r/a/1"] == "stopping"
        assert lab.states("next")["next/a/1"] == "queued"
    engine.turn()
    engine.turn()
    assert lab.states()["r/a/1"] == "cancelled"
    assert lab.attempt("next/a/1", AttemptState.STARTING)


def test_an_end_that_is_told_late_is_taken_when_it_comes(make: Make) -> None:
    lab = make(good)
    insert(lab.database, train_and_register())
    lab.backend.late = {AttemptId("r/train/1"): 7, AttemptId("r/judge/1"): 2}
    lab.carry(lab.engine("e"))
    assert lab.states()["run"] == "succeeded"
    assert len(lab.backend.started) == 2


def test_a_lost_attempt_is_made_again_with_another_name(make: Make) -> None:
    lab = make(lambda job: Script(lasts_s=None if job.number == 1 else 1.0))
    insert(lab.database, ONE)
    engine = lab.engine("e")
    engine.turn()
    engine.turn()
    lab.backend.lose(AttemptId("r/a/1"))
    lab.carry(engine)
    assert lab.states() == {"a": "succeeded", "run": "succeeded", "r/a/1": "lost", "r/a/2": "succeeded"}


def test_an_attempt_that_the_backend_never_heard_of_is_lost(make: Make) -> None:
    lab = make()
    insert(lab.database, ONE)
    engine = lab.engine("e", Death(frozenset({5})))
    with pytest.raises(Killed):  # after the commit, before the start
        engine.turn()
    with lab.database.writing() as rows:
        rows.write("UPDATE outbox SET done_at = 'x'", {})
    lab.living.clear()
    lab.carry(lab.engine("f"))
    assert lab.states() == {"a": "succeeded", "run": "succeeded", "r/a/1": "lost", "r/a/2": "succeeded"}
    assert first(lab.view().attempts).exit_class is ExitClass.LOST


def test_two_runs_that_swap_their_room_do_not_wait_for_each_other(make: Make) -> None:
    lab = make()
    wide, tall = asks(cpu=3, memory_gi=4), asks(cpu=1, memory_gi=12)
    insert(lab.database, plan(step("a", asked=wide), step("b", needs=["a"], asked=tall)), "first")
    insert(lab.database, plan(step("a", asked=tall), step("b", needs=["a"], asked=wide)), "second")
    lab.carry(lab.engine("e"))
    assert [lab.states(name)["run"] for name in ("first", "second")] == ["succeeded", "succeeded"]
    assert lab.clock.now() < after(3)


def test_g13_a_share_without_stated_memory_starts_when_there_is_room_for_its_part(make: Make) -> None:
    lab = make(nodes=(node(cards_gi=(24,)),))
    insert(lab.database, plan(step("a", asked=asks(gpus=0.3, vram_gi=20))), "first")
    insert(lab.database, plan(step("a", asked=asks(gpus=0.5))), "second")
    engine = lab.engine("e")
    engine.turn()
    assert "gpu memory on one device: asked 12Gi, free 4Gi" in sentence(lab, "second")
    lab.carry(engine)
    assert lab.states("second")["run"] == "succeeded"


def test_g26_twenty_runs_that_register_one_model_at_once_get_twenty_versions(make: Make) -> None:
    lab = make(good, nodes=(node(cpu=64),))
    for number in range(20):
        insert(lab.database, train_and_register("candidate"), f"r{number:02}")
    engines = [lab.engine("a"), lab.engine("b")]
    for turn in range(200):
        if not engines[turn % 2].turn():
            engines[turn % 2].wait()
    assert [version for version, _ in lab.versions()] == list(range(1, 21))
    assert {run for _, run in lab.versions()} == {f"r{number:02}" for number in range(20)}
    assert lab.count("SELECT count(*) FROM alias_move") == 20


def test_two_engines_that_take_turns_harm_nothing(make: Make) -> None:
    lab = make(good)
    engines = [lab.engine("a"), lab.engine("b")]
    for number in range(6):
        insert(
            lab.database, plan(step("x", asked=asks(cpu=2)), step("y", needs=["x"], asked=asks(cpu=3))), f"r{number}"
        )
        engines[number % 2].turn()
        lab.check_room()
    for turn in range(300):
        if not engines[turn % 2].turn():
            engines[turn % 2].wait()
        lab.check_room()
    assert [lab.states(f"r{number}")["run"] for number in range(6)] == ["succeeded"] * 6
    assert sorted(lab.backend.asked) == sorted({job.attempt for job in lab.backend.started})
    assert len(lab.backend.started) == 12


def test_an_engine_takes_a_run_only_when_its_holder_is_gone_or_silent(make: Make) -> None:
    lab = make(lambda job: Script(lasts_s=None))
    insert(lab.database, ONE)
    lab.engine("a").turn()
    other = lab.engine("b")
    assert not other.turn()
    lab.clock.sleep(runs.LEASE.total_seconds() + 1)
    assert other.turn()
    assert lab.holder() == "b"
    lab.living.discard("b")
    lab.engine("c").turn()
    assert lab.holder() == "c"


def test_a_lease_is_renewed_while_its_holder_turns(make: Make) -> None:
    lab = make(lambda job: Script(lasts_s=None))
    insert(lab.database, ONE)
    engine, other = lab.engine("a"), lab.engine("b")
    for _ in range(20):
        engine.turn()
        assert not other.turn()
        lab.clock.sleep(5)


def test_room_that_another_engine_gave_away_in_between_is_not_given_again(make: Make) -> None:
    lab = make()
    big = plan(step("a", asked=asks(cpu=3)))
    insert(lab.database, big, "mine")
    insert(lab.database, big, "yours")
    theirs, ours = lab.engine("b"), lab.engine("a")
    with lab.database.writing() as rows:
        assert runs.take_lease(rows, RunId("yours"), "b", None, after(15))
    lab.opened[-1].before = [lambda: None, lambda: theirs.turn() and None]  # type: ignore[attr-defined] # before our commit
    ours.turn()
    assert lab.states("yours")["yours/a/1"] == "starting"
    assert lab.states("mine")["mine/a/1"] == "queued"
    ours.turn()
    assert sentence(lab, "mine") == "waits for room (cpu: asked 3, free 1); held by pipe#2/a"
    for _ in range(20):
        for engine in (ours, theirs):
            if not engine.turn():
                engine.wait()
            lab.check_room()
    assert lab.states("mine")["run"] == "succeeded"


def test_an_engine_that_was_overtaken_while_it_slept_acts_no_more(make: Make, caplog: pytest.LogCaptureFixture) -> None:
    lab = make(lambda job: Script(lasts_s=0.0))
    insert(lab.database, plan(step("a"), step("b", needs=["a"])))
    ours = lab.engine("a")
    slept = lab.opened[-1]
    theirs = lab.engine("b")
    lab.living.discard("a")

    def overtaken() -> None:
        theirs.turn()  # they start a, which we were about to do
        lab.backend.death = Death(frozenset({1}))
        with pytest.raises(Killed):  # they take a's end, decide b, and do not get to start it
            theirs.turn()
        lab.backend.death = Death()

    slept.afterwards = [lambda: None, overtaken]  # type: ignore[attr-defined] # after our lease and our commit
    ours.turn()
    assert lab.attempt("r/b/1", AttemptState.STARTING)
    lab.carry(theirs)
    assert not ours.turn()
    assert lab.states()["run"] == "succeeded"
    assert [job.attempt for job in lab.backend.started] == ["r/a/1", "r/b/1"]
    assert [r for r in caplog.records if r.levelno >= logging.WARNING] == []


def test_a_decision_made_on_old_records_is_dropped_and_made_anew(make: Make) -> None:
    lab = make(lambda job: Script(lasts_s=None))
    insert(lab.database, ONE)
    engine = lab.engine("a")
    lab.opened[-1].before = [lambda: None, lambda: lab.stop("r")]  # type: ignore[attr-defined]
    assert not engine.turn()
    assert lab.states() == {"a": "pending", "run": "pending"}
    engine.turn()
    assert lab.states() == {"a": "cancelled", "run": "cancelled"}
    assert lab.backend.asked == []


def test_more_memory_after_running_out_of_it_counts_as_room_and_as_limit(make: Make) -> None:
    def hungry(job: JobSpec) -> Script:
        enough = job.resources.memory_bytes > 8 * GI
        return Script(lasts_s=5.0) if enough else Script(cause="out-of-memory", exit_code=None)

    grows = Retry(max=3, on=(ExitClass.OOM,), memory=MemoryGrowth(2000))
    lab = make(hungry, nodes=(node(memory_gi=16),))
    insert(lab.database, plan(step("a", retry=grows, asked=asks(memory_gi=4))))
    lab.carry(lab.engine("e"))
    assert [job.resources.memory_bytes // GI for job in lab.backend.started] == [4, 8, 16]
    assert lab.states()["run"] == "succeeded"


def test_grown_memory_is_held_against_others_also_after_the_engine_died(make: Make) -> None:
    def hungry(job: JobSpec) -> Script:
        return Script(cause="out-of-memory", exit_code=None) if job.attempt == "r/a/1" else Script(lasts_s=1000.0)

    grows = Retry(max=3, on=(ExitClass.OOM,), memory=MemoryGrowth(3000))
    lab = make(hungry, nodes=(node(memory_gi=16),))
    insert(lab.database, plan(step("a", retry=grows, asked=asks(memory_gi=4))))
    first_engine = lab.engine("e")
    while not lab.attempt("r/a/2", AttemptState.RUNNING):
        if not first_engine.turn():
            first_engine.wait(60)
    insert(lab.database, plan(step("b", asked=asks(memory_gi=6))), "s")
    lab.living.discard("e")
    other = lab.engine("f")
    for _ in range(3):
        other.turn()
    assert lab.states("s")["b"] == "queued"
    assert sentence(lab, "s") == "waits for room (memory: asked 6Gi, free 4Gi); held by pipe#1/a"


def test_memory_that_outgrows_the_machine_fails_the_run(make: Make) -> None:
    grows = Retry(max=9, on=(ExitClass.OOM,), memory=MemoryGrowth(2000))
    lab = make(lambda _: Script(cause="out-of-memory", exit_code=None), nodes=(node(memory_gi=10),))
    insert(lab.database, plan(step("a", retry=grows, asked=asks(memory_gi=4))))
    lab.carry(lab.engine("e"))
    assert lab.states() == {"a": "failed", "run": "failed", "r/a/1": "failed", "r/a/2": "failed", "r/a/3": "failed"}
    assert sentence(lab) == "asks for more than this machine has (memory: asked 16Gi, has 10Gi)"
