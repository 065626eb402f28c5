"""Who is considered before whom."""

from dataclasses import replace
from datetime import timedelta
from math import log

import pytest

from build import NOW, cluster, node, workload
from trainwright.core.queue import Queue, QueueName, Quota
from trainwright.core.snapshot import ClusterSnapshot
from trainwright.core.workload import Assignment, Contract, Standing, Workload
from trainwright.sched.draft import Draft
from trainwright.sched.fairshare import Shares
from trainwright.sched.memory import Memory
from trainwright.sched.order import Line
from trainwright.sched.policy import DEFAULT_POLICY, Ordering
from trainwright.sched.quota import Ledger
from trainwright.sched.room import Room
from trainwright.sched.round import schedule

CARDS = node(cpu=64, cards_gi=(24,) * 10)


def job(name: str, queue: str = "a", *, age_s: float = 0, cpu: float = 1, gpus: float = 1, **more) -> Workload:
    of = workload(name, cpu=cpu, gpus=gpus)
    return replace(of, queue=QueueName(queue), queued_at=NOW - timedelta(seconds=age_s), **more)


def held(name: str, queue: str, *devices: int) -> Workload:
    return replace(job(name, queue, gpus=len(devices)), standing=Standing((Assignment("n1", devices),)))


def world(
    *pending: Workload, queues: tuple[Queue, ...] = (), holding: tuple[Workload, ...] = (), **more
) -> ClusterSnapshot:
    snapshot = cluster(*pending, nodes=(CARDS,), holding=holding)
    return replace(snapshot, queues={q.name: q for q in queues}, **more)


def order(snapshot: ClusterSnapshot) -> list[str]:
    return [str(p.attempt) for p in schedule(snapshot, DEFAULT_POLICY, NOW).placements]


def test_a_higher_priority_goes_before_everything_else() -> None:
    pending = job("old", age_s=9, queue="b"), job("high", priority=1), job("higher", priority=2, queue="c")
    assert order(world(*pending)) == ["higher", "high", "old"]


def test_queues_take_turns_as_their_shares_rise() -> None:
    pending = [job(f"{q}{i}", q, age_s=9 - i) for q in "ab" for i in range(3)]
    assert order(world(*pending)) == ["a0", "b0", "a1", "b1", "a2", "b2"]


def test_a_queue_with_twice_the_weight_gets_twice_as_much() -> None:
    pending = [job(f"{q}{i}", q, age_s=99 - i) for q in "ab" for i in range(9)]
    placed = order(world(*pending, queues=(Queue(QueueName("a"), weight=2.0),)))
    assert sum(name[0] == "a" for name in placed[:6]) == 4
    assert len(placed) == 10


def test_who_holds_more_now_comes_later() -> None:
    pending = job("w", "a", age_s=9), job("x", "b")
    assert order(world(*pending, holding=(held("h", "a", 0),))) == ["x", "w"]


def test_what_a_queue_used_lately_counts_and_is_forgotten() -> None:
    pending = job("w", "a", age_s=9), job("x", "b")
    week = DEFAULT_POLICY.ordering.half_life_s
    assert order(world(*pending, used={QueueName("a"): 0.1 * week})) == ["x", "w"]
    assert order(world(*pending, used={QueueName("a"): 0.1 * week, QueueName("b"): 0.2 * week})) == ["w", "x"]
    only_now = replace(DEFAULT_POLICY, ordering=Ordering(half_life_s=0))
    decided = schedule(world(*pending, used={QueueName("a"): 0.1 * week}), only_now, NOW)
    assert [str(p.attempt) for p in decided.placements] == ["w", "x"]


def test_the_dominant_resource_decides() -> None:
    pending = job("w", "a"), job("x", "b", age_s=9)
    many_cores = replace(job("h", "b", cpu=32, gpus=0), standing=Standing((Assignment("n1"),)))  # half of the cores
    assert order(world(*pending, holding=(held("g", "a", 0, 1, 2), many_cores))) == ["w", "x"]


def shares(snapshot: ClusterSnapshot) -> Shares:
    return Shares(snapshot, DEFAULT_POLICY.ordering, Ledger().as_of(snapshot))


def test_a_share_is_of_what_is_held_above_the_guarantee() -> None:
    guaranteed = Queue(QueueName("a"), "c", 2.0, {"gpu": Quota(2000)})
    snapshot = world(queues=(guaranteed,), holding=(held("g", "a", 0, 1, 2, 3), held("h", "b", 4)))
    assert shares(snapshot).share(QueueName("a")) == pytest.approx(0.1)
    assert shares(snapshot).share(QueueName("b")) == pytest.approx(0.1)
    assert shares(snapshot).share(QueueName("nobody")) == 0


def test_somebody_who_always_held_the_same_has_that_once_more_for_the_past() -> None:
    half_life = DEFAULT_POLICY.ordering.half_life_s
    for_ever = 0.1 * half_life / log(2)  # the integral of a tenth, decayed
    snapshot = world(holding=(held("h", "b", 4),), used={QueueName("b"): for_ever})
    assert shares(snapshot).share(QueueName("b")) == pytest.approx(0.2)


def test_who_stays_within_a_guarantee_goes_before_who_borrows() -> None:
    queues = (
        Queue(QueueName("a"), "c", quotas={"gpu": Quota(2000)}),
        Queue(QueueName("b"), "c", quotas={"gpu": Quota()}),
    )
    pending = [job(f"{q}{i}", q, age_s=ord(q) * 10 - i) for q in "ab" for i in range(3)]
    assert order(world(*pending, queues=queues)) == ["a0", "a1"]  # nothing is left to lend
    free = (*queues, Queue(QueueName("d"), "c", quotas={"gpu": Quota(2000)}))
    assert order(world(*pending, queues=free)) == ["a0", "a1", "b0", "a2"]


def test_within_a_queue_a_person_decides_then_age_then_run_and_step() -> None:
    first = replace(job("moved"), standing=Standing(rank=-1))
    last = replace(job("put-off", age_s=99), standing=Standing(rank=1))
    pending = job("young"), last, job("old", age_s=9), first, job("z", order=(0, 0)), job("b", order=(0, 1))
    assert order(world(*pending)) == ["moved", "old", "z", "b", "young", "put-off"]


def next_of(queue: Line) -> str:
    one = queue.next()
    return "" if one is None else str(one.attempt)


def line(snapshot: ClusterSnapshot, **first: float) -> list[str]:
    draft = Draft(snapshot, DEFAULT_POLICY, NOW, Memory(), Room(snapshot.nodes))
    draft.first.update({workload(name).attempt: at for name, at in first.items()})
    queue, seen = Line(draft), []
    while (one := queue.next()) is not None:
        seen.append(str(one.attempt))
        queue.go_on()
    return seen


def test_those_whose_turn_it_is_go_first_and_the_others_by_age() -> None:
    pending = [job(name, age_s=99 - i) for i, name in enumerate("vwxyz")]
    assert line(world(*pending), y=0.5, x=1.5) == ["y", "x", "v", "w", "z"]
    moved = replace(job("m"), standing=Standing(rank=-1))
    assert line(world(*pending, moved), y=0.5) == ["m", "y", "v", "w", "x", "z"]


def test_all_of_a_bucket_are_refused_together() -> None:
    snapshot = world(*(job(name, age_s=99 - i) for i, name in enumerate("vwx")), job("other", cpu=2))
    draft = Draft(snapshot, DEFAULT_POLICY, NOW, Memory(), Room(snapshot.nodes))
    queue = Line(draft)
    assert next_of(queue) == "v"
    queue.go_on()
    assert queue.leave() == ["w", "x"]
    assert next_of(queue) == "other"
    assert queue.leave() == ["other"]
    assert next_of(queue) == ""


def test_who_was_decided_before_the_turns_is_not_asked_again() -> None:
    snapshot = world(*(job(name) for name in "vwx"))
    draft = Draft(snapshot, DEFAULT_POLICY, NOW, Memory(), Room(snapshot.nodes))
    draft.place(snapshot.pending[workload("w").attempt], (Assignment("n1", (0,)),))
    queue = Line(draft)
    assert next_of(queue) == "v"
    assert queue.leave() == ["v", "x"]


STRICT = Queue(QueueName("a"), strict=True)


def test_in_a_strict_queue_nobody_passes_the_first() -> None:
    pending = job("first", gpus=8, age_s=9), job("w", gpus=0), job("low", gpus=0, priority=-1), job("other", "b")
    snapshot = world(*pending, queues=(STRICT,), holding=(held("h", "b", 0, 1, 2, 3, 4),))
    decided = schedule(snapshot, DEFAULT_POLICY, NOW)
    assert [str(p.attempt) for p in decided.placements] == ["other"]
    waiting = {str(attempt): reason for attempt, reason in decided.waiting.items()}
    assert waiting["first"].code == "waiting-for-capacity"
    assert waiting["w"].sentence() == "waits behind first, which comes first: the queue a is strict"
    assert waiting["low"] is waiting["w"]


def test_what_can_never_start_or_is_held_by_a_person_lets_a_strict_queue_pass() -> None:
    pending = (
        job("never", gpus=11, age_s=99), replace(job("held", age_s=50), standing=Standing(held=True)),
        job("w", age_s=1), job("first", gpus=10, age_s=0), job("behind", gpus=11, priority=-1),
    )  # fmt: skip
    decided = schedule(world(*pending, queues=(STRICT,)), DEFAULT_POLICY, NOW)
    assert [str(p.attempt) for p in decided.placements] == ["w"]
    codes = {str(attempt): str(reason.code) for attempt, reason in decided.waiting.items()}
    assert codes == {
        "never": "never-fits", "held": "on-hold", "first": "waiting-for-capacity", "behind": "never-fits",
    }  # fmt: skip


def test_a_contract_of_another_kin_is_another_bucket_but_one_reason() -> None:
    pending = [replace(job(f"w{i}", gpus=10), contract=Contract(kin=str(i))) for i in range(3)]
    decided = schedule(world(*pending, holding=(held("h", "b", 0),)), DEFAULT_POLICY, NOW)
    assert len({id(reason) for reason in decided.waiting.values()}) == 1
