"""What a queue is told about itself: deserved, used, borrowed from whom, lent to whom, who may reclaim."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from build import NOW, cluster, node, workload
from trainwright.core.queue import Cohort, Queue, QueueName, Quota
from trainwright.core.snapshot import ClusterSnapshot
from trainwright.core.workload import Assignment, Standing, Workload
from trainwright.sched.memory import Memory
from trainwright.sched.policy import DEFAULT_POLICY, Ordering
from trainwright.sched.report import QueueReport, Use, report
from trainwright.sched.round import schedule
from worlds import History, beginnings

WIDE = node(cpu=64, cards_gi=(24,) * 16)


def job(name: str, queue: str, gpus: int = 1) -> Workload:
    return replace(workload(name, gpus=gpus), queue=QueueName(queue))


def held(name: str, queue: str, *devices: int) -> Workload:
    return replace(job(name, queue, len(devices)), standing=Standing((Assignment("n1", devices),)))


def queue(name: str, gpus: int, ceiling: int | None = None, weight: float = 1.0, cohort: str = "c") -> Queue:
    quota = Quota(gpus * 1000, None if ceiling is None else ceiling * 1000)
    return Queue(QueueName(name), cohort, weight, {"gpu": quota})


def told(snapshot: ClusterSnapshot, *queues: Queue, extra: int = 0) -> dict[str, QueueReport]:
    whole = replace(
        snapshot, queues={q.name: q for q in queues}, cohorts={"c": Cohort("c", {"gpu": extra * 1000})}
    )  # fmt: skip
    return {line.name: line for line in report(whole, DEFAULT_POLICY.ordering)}


def gpu(line: QueueReport) -> Use:
    return line.quotas["gpu"]


def test_a_lender_sees_who_has_its_guarantee_and_what_it_may_take_back() -> None:
    holding = held("h", "b", *range(6)), held("i", "d", 6, 7)
    lines = told(cluster(job("w", "a", 3), nodes=(WIDE,), holding=holding), queue("a", 4), queue("b", 2), queue("d", 2))
    assert gpu(lines["a"]) == Use(4000, None, 0, 3000, 3000, {}, {"b": 4000}, 3000)
    assert gpu(lines["b"]) == Use(2000, None, 6000, 0, 3000, {"a": 4000}, {}, 0)
    assert gpu(lines["d"]) == Use(2000, None, 2000, 0, 2000, {}, {}, 0)


def test_what_belongs_to_nobody_is_lent_first_then_what_those_have_who_lend_most() -> None:
    holding = (held("h", "z", *range(9)),)
    lines = told(cluster(nodes=(WIDE,), holding=holding), queue("a", 4), queue("b", 5), queue("z", 1), extra=2)
    assert gpu(lines["z"]).borrowed_from == {"cohort c": 2000, "b": 5000, "a": 1000}
    assert gpu(lines["a"]).lent_to == {"z": 1000}


def test_what_is_free_need_not_be_taken_back() -> None:
    lines = told(
        cluster(job("w", "a", 3), nodes=(WIDE,), holding=(held("h", "b", 0, 1, 2),)), queue("a", 4), queue("b", 2)
    )
    assert gpu(lines["a"]).may_reclaim == 0
    busy = cluster(job("w", "a", 3), nodes=(WIDE,), holding=(held("h", "b", 0, 1, 2, 3, 4),))
    assert gpu(told(busy, queue("a", 4), queue("b", 2))["a"]).may_reclaim == 2000


def test_what_is_lent_is_deserved_by_weight_up_to_what_is_wanted_and_may_be_held() -> None:
    waiting = [job(f"{q}{i}", q) for q in "bd" for i in range(9)]
    lines = told(cluster(*waiting, nodes=(WIDE,)), queue("a", 6), queue("b", 1, weight=2.0), queue("d", 1))
    assert [gpu(lines[name]).deserved for name in "abd"] == [0, 5000, 3000]
    lines = told(cluster(*waiting, nodes=(WIDE,)), queue("a", 6), queue("b", 1, 3, 2.0), queue("d", 1))
    assert [gpu(lines[name]).deserved for name in "abd"] == [0, 3000, 5000]
    lines = told(cluster(*waiting[:2], nodes=(WIDE,)), queue("a", 6), queue("b", 1), queue("d", 1))
    assert [gpu(lines[name]).deserved for name in "abd"] == [0, 2000, 0]


def test_the_last_thousandths_are_deserved_by_the_first_by_name() -> None:
    lines = told(
        cluster(*(job(q, q, 5) for q in "abd"), nodes=(WIDE,)), queue("a", 0), queue("b", 0), queue("d", 0), extra=4
    )
    assert [gpu(lines[name]).deserved for name in "abd"] == [1334, 1333, 1333]


def test_queues_that_nobody_declared_are_told_what_they_hold() -> None:
    snapshot = cluster(job("w", "x"), job("v", "x"), nodes=(WIDE,), holding=(held("h", "y", 0),))
    one, two = report(snapshot, Ordering(), Memory())
    assert (one.name, one.waiting, one.holding, one.used, one.cohort) == ("x", 2, 0, {}, "")
    assert (two.name, two.waiting, two.holding, two.used) == ("y", 0, 1, {"cpu": 1000, "gpu": 1000})
    assert two.share == 1 / 16
    assert two.weight == 1.0
    assert two.quotas == {}


def test_a_queue_alone_borrows_from_nobody() -> None:
    lines = told(cluster(nodes=(WIDE,), holding=(held("h", "a", 0, 1),)), queue("a", 1, 4, cohort=""))
    assert gpu(lines["a"]) == Use(4000, 4000, 2000, 0, 2000)


@given(beginnings(), st.data())
@settings(max_examples=40)
def test_what_is_borrowed_is_lent_and_no_more_is_deserved_than_there_is(
    beginning: ClusterSnapshot, data: st.DataObject
) -> None:
    world = History(beginning)
    world.carry_out(schedule(world.snapshot, DEFAULT_POLICY, NOW))
    world.happen(data)
    lines = {line.name: line for line in report(world.snapshot, DEFAULT_POLICY.ordering)}
    for line in lines.values():
        for resource, use in line.quotas.items():
            assert sum(use.borrowed_from.values()) == max(0, use.used - use.guaranteed)
            assert sum(use.lent_to.values()) <= max(0, use.guaranteed - use.used)
            assert use.ceiling is None or use.deserved <= use.ceiling
            assert use.deserved >= min(use.guaranteed, use.used + use.wanted)
            for lender, amount in use.borrowed_from.items():
                known = lines.get(QueueName(lender))
                assert known is None or known.quotas[resource].lent_to[line.name] == amount
