"""What queues may hold, and what they are told when it is not more."""

from dataclasses import replace

import pytest

from build import GI, NOW, asks, cluster, node, workload
from trainwright.core.decision import Round
from trainwright.core.node import Device, Node
from trainwright.core.queue import Cohort, Queue, QueueName, Quota
from trainwright.core.reasons import Reason
from trainwright.core.snapshot import ClusterSnapshot
from trainwright.core.workload import Assignment, Contract, PodSet, Preemption, Shape, Standing, Workload
from trainwright.sched.memory import Memory
from trainwright.sched.policy import DEFAULT_POLICY
from trainwright.sched.quota import Ledger
from trainwright.sched.round import schedule

NEVER = Contract(preemption=Preemption.NEVER)
WIDE = node(cpu=64, memory_gi=64, cards_gi=(24,) * 16)


def queue(name: str, cohort: str = "c", **quotas: Quota) -> Queue:
    """A queue of a cohort with quotas in whole units."""
    amounts = {
        r: Quota(q.guaranteed * 1000, None if q.ceiling is None else q.ceiling * 1000) for r, q in quotas.items()
    }
    return Queue(QueueName(name), cohort, quotas=amounts)


def job(name: str, queue: str = "a", gpus: float = 1, **more) -> Workload:
    return replace(workload(name, gpus=gpus, cpu=1), queue=QueueName(queue), **more)


def held(name: str, queue: str, *devices: int, **more) -> Workload:
    of = job(name, queue, len(devices), **more)
    return replace(of, standing=Standing(places=(Assignment("n1", devices),), started_at=NOW))


def world(*pending: Workload, queues: tuple[Queue, ...], holding: tuple[Workload, ...] = (), **more):
    nodes = more.pop("nodes", (WIDE,))
    extra = more.pop("extra", {})
    return replace(
        cluster(*pending, nodes=nodes, holding=holding),
        queues={q.name: q for q in queues}, cohorts={"c": Cohort("c", extra)},
    )  # fmt: skip


def decide(snapshot: ClusterSnapshot) -> Round:
    return schedule(snapshot, DEFAULT_POLICY, NOW)


def told(snapshot: ClusterSnapshot, name: str = "w") -> Reason:
    return decide(snapshot).waiting[workload(name).attempt]


A4, B4 = queue("a", gpu=Quota(4)), queue("b", gpu=Quota(4))


def test_a_queue_borrows_what_its_cohort_does_not_use() -> None:
    decided = decide(world(*(job(f"w{i}") for i in range(9)), queues=(A4, B4)))
    assert len(decided.placements) == 8
    (reason,) = decided.waiting.values()
    assert reason.sentence() == "waits for quota of the queue a (gpu: asked 1, free 0); used by a 8"


def test_who_uses_what_is_waited_for_is_named_with_numbers() -> None:
    reason = told(
        world(
            job("w", gpus=2), queues=(A4, B4),
            holding=(held("h", "a", 0, 1), held("i", "b", *range(2, 7), contract=NEVER)),
        )
    )  # fmt: skip
    assert reason.sentence() == "waits for quota of the queue a (gpu: asked 2, free 1); used by b 5, a 2"
    assert "tw queue explain a" in reason.remedy()


def test_of_many_users_the_largest_are_named() -> None:
    queues = tuple(queue(name, gpu=Quota(1)) for name in "abcdefg")
    holding = tuple(held(f"h{name}", name, i) for i, name in enumerate("abcdefg"))
    assert told(world(job("w"), queues=queues, holding=holding)).evidence["users"] == "a 1, b 1, c 1, d 1, 3 more"


def test_a_ceiling_bounds_what_a_queue_borrows() -> None:
    capped = queue("a", gpu=Quota(2, 3))
    decided = decide(world(*(job(f"w{i}") for i in range(5)), queues=(capped, B4)))
    assert len(decided.placements) == 3
    assert len(decided.waiting) == 2
    reason = next(iter(decided.waiting.values()))
    assert reason.sentence() == (
        "waits for work of its own queue: a may hold at most gpu 3 (gpu: asked 1, free 0)"
    )  # fmt: skip


def test_what_the_cohort_has_beside_guarantees_is_lent_too() -> None:
    snapshot = world(*(job(f"w{i}") for i in range(12)), queues=(A4, B4), extra={"gpu": 2000})
    assert len(decide(snapshot).placements) == 10


def test_a_queue_without_a_cohort_holds_its_ceiling_or_else_its_guarantee() -> None:
    alone = world(*(job(f"w{i}") for i in range(9)), queues=(queue("a", "", gpu=Quota(4)),))
    assert len(decide(alone).placements) == 4
    capped = world(*(job(f"w{i}") for i in range(9)), queues=(queue("a", "", gpu=Quota(0, 6)),))
    assert len(decide(capped).placements) == 6


@pytest.mark.parametrize(
    ("gpus", "sentence"),
    [
        (9, "asks for more than the queue a may ever hold (gpu: asked 9, at most 8)"),
        (12, "asks for more than the queue a may ever hold (gpu: asked 12, at most 8)"),
    ],
)
def test_g15_what_asks_more_than_its_cohort_ever_has_is_told_in_the_first_round(gpus: int, sentence: str) -> None:
    assert told(world(job("w", gpus=gpus), queues=(A4, B4))).sentence() == sentence


def test_what_asks_more_than_the_ceiling_never_starts_however_much_is_free() -> None:
    reason = told(world(job("w", gpus=4), queues=(queue("a", gpu=Quota(2, 3)), B4)))
    assert reason.sentence() == "asks for more than the queue a may ever hold (gpu: asked 4, at most 3)"


def test_what_never_fits_the_nodes_is_told_that_rather_than_its_quota() -> None:
    assert told(world(job("w", gpus=20), queues=(A4, B4))).code == "never-fits"
    busy = (held("h", "a", *range(8), contract=NEVER),)
    assert told(world(job("w", gpus=1, queue="b"), queues=(A4, B4), holding=busy)).code == "waiting-for-quota"
    large = replace(job("w", "b"), shape=Shape((PodSet(asks(65, 0, 1)),)))
    assert told(world(large, queues=(A4, B4), holding=busy)).code == "never-fits"


def test_a_queue_without_a_quota_for_a_resource_is_unbounded_there() -> None:
    decided = decide(world(*(job(f"w{i}", "free") for i in range(12)), queues=(A4, B4, queue("free"))))
    assert len(decided.placements) == 12
    assert len(decide(world(*(job(f"w{i}", gpus=0) for i in range(12)), queues=(A4, B4))).placements) == 12


def test_what_somebody_holds_who_is_leaving_still_counts() -> None:
    leaving = held("h", "b", *range(8))
    leaving = replace(leaving, standing=replace(leaving.standing, leaving=True))
    assert told(world(job("w"), queues=(A4, B4), holding=(leaving,))).code == "waiting-for-quota"


def test_what_is_never_told_to_leave_does_not_borrow() -> None:
    decided = decide(world(*(job(f"w{i}", contract=NEVER) for i in range(6)), queues=(A4, B4)))
    assert len(decided.placements) == 4
    reason = told(world(job("w", gpus=5, contract=NEVER), queues=(A4, B4)))
    assert reason.sentence() == "asks for more than the queue a may ever hold (gpu: asked 5, at most 4)"


def test_what_is_never_told_to_leave_takes_the_guarantee_before_borrowed_room_is_counted() -> None:
    holding = (held("h", "a", 0, 1, 2), held("i", "a", 3, contract=NEVER))
    snapshot = world(
        job("w", gpus=3, contract=NEVER), job("x", gpus=1, contract=NEVER), queues=(A4, B4), holding=holding
    )
    assert [str(p.attempt) for p in decide(snapshot).placements] == ["w"]


def models(name: str = "n1", **cards: int) -> Node:
    names = [model for model, count in cards.items() for _ in range(count)]
    total = asks(64, 64, len(names))
    return Node(name, total, total, tuple(Device(i, m, 24 * GI, 1000, 24 * GI) for i, m in enumerate(names)))


MIXED = models(a100=2, t4=4)
BY_MODEL = Queue(QueueName("a"), quotas={"gpu:a100": Quota(1000)})


def test_a_quota_of_one_model_leaves_the_others_free() -> None:
    decided = decide(world(*(job(f"w{i}") for i in range(6)), queues=(BY_MODEL,), nodes=(MIXED,)))
    assert sorted(a.devices[0] for p in decided.placements for a in p.places) == [0, 2, 3, 4, 5]


def test_what_can_use_one_model_alone_waits_for_the_quota_of_that() -> None:
    pinned = replace(job("w"), shape=Shape((PodSet(asks(1, 0, 1), models=("a100",)),)))
    second = replace(pinned, attempt=workload("v").attempt)
    decided = decide(world(pinned, second, queues=(BY_MODEL,), nodes=(MIXED,)))
    assert len(decided.placements) == 1
    (reason,) = decided.waiting.values()
    assert reason.evidence["shortfall"] == "gpu:a100: asked 1, free 0"


def test_where_every_model_has_a_quota_the_nearest_is_named() -> None:
    both = Queue(QueueName("a"), quotas={"gpu:a100": Quota(1000), "gpu:t4": Quota(3000)})
    reason = told(world(job("w", gpus=4), queues=(both,), nodes=(MIXED,)))
    assert reason.sentence() == "asks for more than the queue a may ever hold (gpu:t4: asked 4, at most 3)"
    holding = (held("h", "a", 2, 3, 4),)
    reason = told(world(job("w", gpus=2), queues=(both,), nodes=(MIXED,), holding=holding))
    assert reason.sentence() == "waits for quota of the queue a (gpu:t4: asked 2, free 0); used by a 3"


def elastic(name: str, least: int, count: int) -> Workload:
    return replace(job(name), shape=Shape((PodSet(asks(1, 0, 1), count, least),)))


@pytest.mark.parametrize(("least", "count", "replicas"), [(2, 8, 4), (4, 4, 4), (1, 3, 3)])
def test_an_elastic_workload_starts_with_as_many_replicas_as_quota_allows(
    least: int, count: int, replicas: int
) -> None:
    alone = queue("a", "", gpu=Quota(4))
    (placement,) = decide(world(elastic("w", least, count), queues=(alone,))).placements
    assert len(placement.places) == replicas


def test_an_elastic_workload_whose_minimum_is_above_its_quota_never_starts() -> None:
    assert told(world(elastic("w", 5, 8), queues=(queue("a", "", gpu=Quota(4)),))).code == "never-within-quota"


def ledger(snapshot: ClusterSnapshot) -> Ledger:
    return Ledger().as_of(snapshot)


def test_it_is_told_whom_a_guarantee_is_taken_back_from() -> None:
    holding = (held("h", "b", *range(6)), held("i", "d", 6, 7, 8), held("j", "a", 9))
    snapshot = world(job("w", gpus=3), queues=(A4, B4, queue("d", gpu=Quota(2))), holding=holding)
    known = ledger(snapshot)
    assert known.borrowers(job("w", gpus=3)) == ("b", "d")
    assert known.borrowed(QueueName("b")) == {"gpu": 2000}
    assert known.borrowed(QueueName("a")) == {}
    assert known.borrowers(job("w", gpus=4)) == ()  # more than its guarantee: it takes nothing back
    assert not known.would_fit(job("w", gpus=3))
    assert known.would_fit(job("w", gpus=3), without=holding[:1])
    assert not known.would_fit(job("w", gpus=3), without=holding[2:])


def test_a_charge_lasts_for_a_round_and_can_be_taken_back() -> None:
    snapshot, memory = world(queues=(A4, B4)), Memory()
    known = memory.part(Ledger).as_of(snapshot)
    places = (Assignment("n1", (0, 1)),)
    known.charge(job("w", gpus=2), places)
    assert known.used(QueueName("a"))["gpu"] == 2000
    known.discharge(job("w", gpus=2), places)
    assert known.used(QueueName("a"))["gpu"] == 0
    known.charge(job("w", gpus=2), places)
    assert memory.part(Ledger).as_of(snapshot).used(QueueName("a"))["gpu"] == 0


def test_a_ledger_follows_what_comes_and_goes() -> None:
    memory, first = Memory(), world(queues=(A4, B4), holding=(held("h", "a", 0, 1), held("i", "b", 2)))
    memory.part(Ledger).as_of(first)
    gone = world(queues=(A4, B4), holding=(held("i", "b", 2), held("k", "b", 3)))
    assert memory.part(Ledger).as_of(gone).used(QueueName("a"))["gpu"] == 0
    assert memory.part(Ledger).as_of(gone).used(QueueName("b"))["gpu"] == 2000
    smaller = replace(gone, queues={QueueName("b"): queue("b", gpu=Quota(1))})
    assert memory.part(Ledger).as_of(smaller).borrowed(QueueName("b")) == {"gpu": 1000}
