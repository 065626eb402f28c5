"""Gangs, preemption and requeue on the live engine: several nodes, people's words, and deaths at every line."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from lab import Death, Lab

from build import PROJECT, after, asks, insert, node, plan, step
from trainwright.core.ids import AttemptId, StepName
from trainwright.core.job import JobSpec
from trainwright.core.reasons import ReasonCode
from trainwright.core.scheduling import Gang, Scheduling
from trainwright.core.states import AttemptState, ExitClass
from trainwright.core.workload import Assignment
from trainwright.plan.plan import Plan
from trainwright.ports.testing.fake import Script
from trainwright.sched.policy import DEFAULT_POLICY
from trainwright.store import queues

Make = Callable[..., Lab]
COOL_DOWN_S = DEFAULT_POLICY.preempting.cool_down_s
FOUR = tuple(node(f"n{i}", cpu=4, cards_gi=[24]) for i in range(1, 5))


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    labs: list[Lab] = []

    def lab(*given: object, **more: object) -> Lab:
        labs.append(Lab(tmp_path / str(len(labs)), *given, **more))  # type: ignore[arg-type]
        return labs[-1]

    yield lab
    for one in labs:
        one.close()


def job(name: str = "a", *, cpu: float = 4, priority: int = 0, workers: int = 1, least: int | None = None,
        gpus: float = 0, **more: object) -> Plan:  # fmt: skip
    """One step that asks so much for each of its workers."""
    of = plan(step(name, asked=asks(cpu=cpu, gpus=gpus)))
    gangs = {StepName(name): Gang(workers, workers if least is None else least)} if workers > 1 else {}
    return replace(of, gangs=gangs, scheduling={StepName(name): Scheduling(priority=priority, **more)})  # type: ignore[arg-type]


def long(_: JobSpec) -> Script:
    return Script(lasts_s=600.0)


def audited(lab: Lab, action: str = "attempt.preempted") -> list[tuple[str, str]]:
    with lab.database.reading() as rows:
        found = rows.all("SELECT subject, details FROM audit WHERE action = :action ORDER BY seq", {"action": action})
    return [(row["subject"], row["details"]) for row in found]


def advance(lab: Lab, turns: int = 1, engine_name: str = "e") -> None:
    engine = lab.engine(engine_name)
    for _ in range(turns):
        engine.turn()


# gangs


def test_g10_a_gang_has_all_of_its_places_on_several_nodes_and_its_job_knows_them(make: Make) -> None:
    lab = make(long, nodes=FOUR)
    insert(lab.database, job(cpu=1, gpus=1, workers=4))
    insert(lab.database, job(cpu=1, gpus=1, workers=4), "s")
    engine = lab.engine("e")
    engine.turn()
    (given,) = lab.backend.started
    assert given.places == tuple(Assignment(f"n{i}", (0,)) for i in range(1, 5))
    assert given.devices == (0,)
    waiting = lab.view("s").attempts[AttemptId("s/a/1")]
    assert (waiting.state, waiting.places) == (AttemptState.QUEUED, ())
    assert waiting.reason is not None
    assert waiting.reason.code in {ReasonCode.WAITING_FOR_CAPACITY, ReasonCode.SCATTERED}
    lab.carry(engine)
    assert lab.states("r")["run"] == lab.states("s")["run"] == "succeeded"
    assert [job.attempt for job in lab.backend.started] == ["r/a/1", "s/a/1"]


def test_g10_gangs_of_three_on_four_nodes_start_one_after_the_other_in_two_engines(make: Make) -> None:
    lab = make(long, nodes=FOUR)
    insert(lab.database, job(cpu=1, gpus=1, workers=3))
    one = lab.engine("one")
    one.turn()
    insert(lab.database, job(cpu=1, gpus=1, workers=3), "s")
    two = lab.engine("two")
    for _ in range(3):
        two.turn()
        one.turn()
        lab.check_room()
    assert [job.attempt for job in lab.backend.started] == ["r/a/1"]
    for _ in range(10):
        for engine in (two, one):
            if not engine.turn():
                engine.wait(60)
    assert lab.states("s")["a"] in {"running", "succeeded"}


def test_places_survive_the_engine_and_room_is_told_by_all_of_them(make: Make) -> None:
    lab = make(long, nodes=FOUR)
    insert(lab.database, job(cpu=3, workers=4))
    advance(lab)
    lab.living.clear()
    insert(lab.database, job("b", cpu=2), "s")
    engine = lab.engine("second")
    engine.turn()
    assert lab.view("r").attempts[AttemptId("r/a/1")].places == tuple(Assignment(f"n{i}") for i in range(1, 5))
    assert lab.states("s")["s/b/1"] == "queued", "there is one core left on each node"


# leaving


def test_one_that_is_told_to_leave_gives_its_room_and_goes_on_after_a_cool_down(make: Make) -> None:
    lab = make(lambda j: Script(lasts_s=600.0 if j.run == "r" else 5.0, leaves_in_s=2.0))
    insert(lab.database, job(grace_s=30.0))
    engine = lab.engine("e")
    engine.turn()
    lab.clock.sleep(100)
    insert(lab.database, job("b", priority=10), "s")
    engine.turn()
    assert lab.states("r")["a"] == "preempting"
    assert lab.states("r")["r/a/1"] == "preempting"
    assert lab.states("s")["b"] == "queued"
    beneficiary = lab.view("s").attempts[AttemptId("s/b/1")]
    assert beneficiary.claim == (Assignment("n1"),)
    ((told, _, grace_s),) = lab.backend.notices
    assert (told, grace_s) == ("r/a/1", 30.0)
    assert [subject for subject, _ in audited(lab)] == ["runs/r/a/1"]
    assert '"beneficiary":"s/b/1"' in audited(lab)[0][1]
    assert '"rule":"preempted"' in audited(lab)[0][1]
    lab.clock.sleep(2)
    engine.turn()
    engine.turn()
    first, second = lab.view("r").attempts
    assert (first.state, first.exit_class) == (AttemptState.PREEMPTED, ExitClass.PREEMPTED)
    assert first.reason is not None
    assert first.reason.code is ReasonCode.PREEMPTED
    assert (second.state, second.not_before) == (AttemptState.QUEUED, after(102 + COOL_DOWN_S))
    assert (second.served_s, second.preempted_at) == (102.0, (after(100),))
    assert lab.states("s")["s/b/1"] in {"starting", "running"}
    lab.carry(engine)
    assert lab.states("r") == {
        "a": "succeeded", "r/a/1": "preempted", "r/a/2": "succeeded", "run": "succeeded",
    }  # fmt: skip
    assert len(audited(lab)) == 1
    assert len(lab.backend.notices) == 1


def test_one_that_is_done_when_it_is_told_to_leave_has_succeeded(make: Make) -> None:
    lab = make(lambda j: Script(lasts_s=100.0 if j.run == "r" else 5.0, leaves_in_s=None))
    insert(lab.database, job())
    engine = lab.engine("e")
    engine.turn()
    lab.clock.sleep(95)
    insert(lab.database, job("b", priority=10), "s")
    engine.turn()
    assert lab.states("r")["a"] == "preempting"
    lab.carry(engine)
    assert lab.states("r") == {"a": "succeeded", "r/a/1": "succeeded", "run": "succeeded"}
    assert lab.states("s")["run"] == "succeeded"


def test_making_room_spends_no_retry_however_often_it_happens(make: Make) -> None:
    lab = make(lambda j: Script(lasts_s=600.0 if j.run == "r" else 5.0))
    insert(lab.database, job())
    engine = lab.engine("e")
    for number in range(3):
        for _ in range(20):
            if not engine.turn():
                engine.wait(60)
            if lab.attempt(f"r/a/{number + 1}", AttemptState.RUNNING):
                break
        insert(lab.database, job("b", priority=10), f"s{number}")
        engine.turn()
    lab.carry(engine)
    assert lab.states("r")["a"] == "succeeded"
    assert lab.states("r")["r/a/4"] == "succeeded"
    assert len(lab.view("r").attempts[AttemptId("r/a/4")].preempted_at) == 3


def test_a_run_that_is_stopped_while_its_attempt_leaves_is_cancelled(make: Make) -> None:
    lab = make(lambda _: Script(lasts_s=600.0, leaves_in_s=None, stop_takes_s=1.0))
    insert(lab.database, job())
    engine = lab.engine("e")
    engine.turn()
    insert(lab.database, job("b", priority=10), "s")
    engine.turn()
    lab.stop("r")
    engine.turn()
    assert [attempt for attempt, _ in lab.backend.stops] == ["r/a/1"]
    lab.clock.sleep(20)
    engine.turn()
    assert lab.states("r")["run"] == "cancelled"


def test_deaths_at_every_line_lose_no_work_and_tell_nobody_twice(tmp_path: Path) -> None:
    point, died = 0, 1
    while died:
        point += 3 if point > 16 else 1
        lab = Lab(tmp_path / str(point), lambda j: Script(lasts_s=200.0 if j.run == "r" else 5.0, leaves_in_s=2.0))
        insert(lab.database, job())
        death = Death(frozenset({point, point + 3}))

        def arrives(_: int, lab: Lab = lab) -> None:
            if lab.attempt("r/a/1", AttemptState.RUNNING) and not lab.count("SELECT count(*) FROM run WHERE id = 's'"):
                insert(lab.database, job("b", priority=10), "s")

        died = lab.survive(death, arrives)
        assert lab.states("r") == {"a": "succeeded", "r/a/1": "preempted", "r/a/2": "succeeded", "run": "succeeded"}
        assert lab.states("s") == {"b": "succeeded", "s/b/1": "succeeded", "run": "succeeded"}
        assert [str(j.attempt) for j in lab.backend.started] == ["r/a/1", "s/b/1", "r/a/2"]
        assert [attempt for attempt, _, _ in lab.backend.notices] == ["r/a/1"]
        assert len(audited(lab)) == 1
        assert lab.count("SELECT count(*) FROM outbox WHERE done_at IS NULL") == 0
        ended = [*lab.view("r").attempts, *lab.view("s").attempts]
        held_s = sum((a.finished_at - a.placed_at).total_seconds() for a in ended if a.finished_at and a.placed_at)
        with lab.database.reading() as rows:
            used = queues.used(rows, PROJECT, lab.clock.now(), half_life_s=10.0**9)
        assert used["default"] == pytest.approx(held_s, rel=1e-4), "what each attempt used is counted once"  # type: ignore[index]
        lab.close()
    assert point > 40


# nodes


def test_g18_what_was_on_a_lost_node_is_made_again_elsewhere_and_its_room_is_free_once(make: Make) -> None:
    lab = make(long, nodes=FOUR)
    insert(lab.database, job(cpu=4, workers=2))
    engine = lab.engine("e")
    engine.turn()
    assert {p.node for p in lab.backend.started[0].places} == {"n1", "n2"}
    lab.backend._nodes = FOUR[1:]
    lab.clock.sleep(5)
    engine.turn()
    engine.turn()
    first, second = lab.view("r").attempts
    assert (first.state, first.exit_class) == (AttemptState.LOST, ExitClass.LOST)
    assert first.reason is not None
    assert first.reason.sentence() == "its node n1 was lost"
    assert {p.node for p in second.places} == {"n2", "n3"}
    assert [attempt for attempt, _ in lab.backend.stops] == ["r/a/1"], "should the node come back, it is told to end"
    lab.carry(engine)
    assert lab.states("r")["run"] == "succeeded"


def test_a_backend_that_tells_of_no_node_at_all_loses_nobody(make: Make) -> None:
    lab = make(long, nodes=FOUR)
    insert(lab.database, job())
    engine = lab.engine("e")
    engine.turn()
    lab.backend._nodes = ()
    lab.clock.sleep(5)
    engine.turn()
    assert lab.states("r")["r/a/1"] == "running"
