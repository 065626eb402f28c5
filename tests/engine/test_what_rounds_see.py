"""What an engine shows its rounds: work of other engines, what was learnt, used and spent; and what it leaves out."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest
from lab import Lab

from build import CHANCE, PROJECT, asks, insert, node, plan, step
from trainwright.core.codec import to_json
from trainwright.core.decision import Round
from trainwright.core.governance import AppliedDocument
from trainwright.core.history import bin_of
from trainwright.core.ids import AttemptId, StepName
from trainwright.core.job import JobSpec
from trainwright.core.pool import Pool
from trainwright.core.queue import Budget, Queue, QueueName
from trainwright.core.reasons import ReasonCode
from trainwright.core.scheduling import Gang, Scheduling
from trainwright.core.snapshot import ClusterSnapshot
from trainwright.engine import rounds
from trainwright.lifecycle.advance import advance as lifecycle
from trainwright.plan.plan import Plan
from trainwright.ports.testing.fake import Script
from trainwright.sched.memory import Memory
from trainwright.sched.policy import Policy
from trainwright.sched.round import schedule
from trainwright.store import documents, runs

Make = Callable[..., Lab]
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


# several engines, and what never fits


def test_an_engine_leaves_the_room_to_more_important_work_of_another_engine(make: Make) -> None:
    lab = make(long, nodes=FOUR[:1])
    insert(lab.database, job("b", priority=10), "s")
    one = lab.engine("one")
    one._claim(lab.clock.now())  # it holds the run, and has not come to decide about it
    assert lab.holder() == "one"
    now_is = lab.view("s")
    changes = lifecycle(job("b", priority=10), now_is, (), lab.clock.now(), CHANCE)
    with lab.database.writing() as rows:
        runs.apply(rows, now_is.run, changes, lab.clock.now(), "one")
    insert(lab.database, job(), "r")
    two = lab.engine("two")
    two.turn()
    two.turn()
    assert lab.states("r")["r/a/1"] == "queued"
    one.turn()
    assert [job.attempt for job in lab.backend.started] == ["s/b/1"]


def test_a_start_is_dropped_alone_when_its_room_was_taken_before_the_commit(make: Make) -> None:
    lab = make(long, nodes=FOUR[:2])
    of = plan(step("a", asked=asks(cpu=4)), step("b", asked=asks(cpu=4)))
    insert(lab.database, of)
    other = lab.engine("other")
    mine = lab.engine("mine")
    mine._claim(lab.clock.now())

    def somebody_starts() -> None:
        insert(lab.database, job(), "s")
        other.turn()

    mine._world.database.before.append(somebody_starts)  # type: ignore[attr-defined]
    mine.turn()
    started = [job.attempt for job in lab.backend.started]
    assert started[0] == "s/a/1"
    assert len(started) == 2, "of the two that were to start there was room for one"
    lab.check_room()


def test_g13_shares_of_one_card_are_never_more_than_the_card_in_several_engines(make: Make) -> None:
    lab = make(long, nodes=(node("n1", cpu=16, cards_gi=[24]),))
    of = plan(step("a", asked=asks(cpu=1, gpus=0.5, vram_gi=12)))
    engines = [lab.engine(name) for name in ("one", "two", "three")]
    for number in range(3):
        insert(lab.database, of, f"r{number}")
        engines[number].turn()
    for engine in engines:
        engine.turn()
    assert len(lab.backend.started) == 2
    lab.living.clear()
    again = lab.engine("four")
    again.turn()
    assert len(lab.backend.started) == 2
    assert lab.states("r2")["r2/a/1"] == "queued"


def test_g15_what_never_fits_says_so_in_the_first_round_and_a_fitting_node_clears_it(make: Make) -> None:
    lab = make(long, nodes=(node("n1", cpu=8, cards_gi=[24] * 8),))
    insert(lab.database, plan(step("a", asked=asks(cpu=1, gpus=16))))
    engine = lab.engine("e")
    engine.turn()
    reason = lab.view().attempts[AttemptId("r/a/1")].reason
    assert reason is not None
    assert reason.code is ReasonCode.NEVER_FITS
    lab.backend._nodes = (*lab.backend._nodes, node("n2", cpu=16, cards_gi=[24] * 16))
    engine.turn()
    assert [str(job.attempt) for job in lab.backend.started] == ["r/a/1"]


def test_a_turn_in_which_nothing_changed_asks_for_no_round(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    lab = make(long, nodes=FOUR[:1])
    insert(lab.database, job())
    insert(lab.database, job(), "s")
    engine = lab.engine("e")
    for _ in range(5):
        engine.turn()
    asked: list[object] = []
    monkeypatch.setattr(rounds, "schedule", lambda *given: asked.append(given))
    for _ in range(5):
        assert not engine.turn()
    assert asked == []


# what is learnt


def test_ends_teach_how_long_work_runs_also_an_engine_that_comes_later(make: Make) -> None:
    lab = make(lambda _: Script(lasts_s=100.0), nodes=FOUR[:1])
    insert(lab.database, job(gpus=1))
    lab.carry(lab.engine("one"))
    lab.living.clear()
    insert(lab.database, job(gpus=1), "s")
    insert(lab.database, job(gpus=1), "t")
    later = lab.engine("two")
    later.turn()
    learnt = later._rounds._learning.history
    assert {size: dict(lives.ended) for size, lives in learnt.by_size.items()} == {1: {bin_of(100.0): 1}}
    lab.carry(later)
    assert later._rounds._learning.history.by_size[1].ended == {bin_of(100.0): 3}


def test_what_queues_used_and_spent_is_seen_by_the_next_round(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    lab = make(lambda _: Script(lasts_s=3600.0), nodes=(replace(FOUR[0], pool="p"),))
    with lab.database.writing() as rows:
        for kind, name, value in (
            ("Pool", "p", to_json(Pool("p", price=8.0))),
            ("Queue", "ads", to_json(Queue(QueueName("ads"), budget=Budget(6.0)))),
        ):
            said = AppliedDocument(kind, name, 1, {}, value, "", lab.clock.now(), "ada")
            documents.add(rows, PROJECT, said)
    insert(lab.database, job(cpu=2, gpus=0.5, queue="ads"))
    engine = lab.engine("e")
    lab.carry(engine)
    seen: list[ClusterSnapshot] = []

    def watched(snapshot: ClusterSnapshot, policy: Policy, now: datetime, memory: Memory | None = None) -> Round:
        seen.append(snapshot)
        return schedule(snapshot, policy, now, memory)

    monkeypatch.setattr(rounds, "schedule", watched)
    insert(lab.database, job(cpu=2, gpus=0.5, queue="ads"), "s")
    engine.turn()
    assert seen[0].spent == {"ads": pytest.approx(4.0)}
    assert seen[0].used == {"ads": pytest.approx(1800.0, rel=0.01)}
    lab.clock.sleep(1800)
    insert(lab.database, job(cpu=2, gpus=0.5, queue="ads"), "t")
    engine.turn()
    assert seen[-1].spent == {"ads": pytest.approx(6.0)}, "what still runs is spent too"
    reason = lab.view("t").attempts[AttemptId("t/a/1")].reason
    assert reason is not None
    assert reason.code is ReasonCode.OVER_BUDGET
