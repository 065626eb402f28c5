"""What queues may spend, and what work may cost."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from build import NOW, asks, cluster, node, workload
from trainwright.core.pool import Pool
from trainwright.core.queue import Budget, Queue, QueueName
from trainwright.core.reasons import ReasonCode
from trainwright.core.resources import Resources
from trainwright.core.workload import PodSet, Shape, single
from trainwright.sched.budget import is_degraded, period_of
from trainwright.sched.policy import DEFAULT_POLICY
from trainwright.sched.price import cheapest_first, hourly_price, is_affordable
from trainwright.sched.round import schedule

ADS = QueueName("ads")
BIG = node("big", cpu=10, memory_gi=100, cards_gi=(80, 80, 80, 80))


def test_a_queue_over_its_budget_waits_for_the_next_period() -> None:
    queue = Queue(ADS, budget=Budget(100.0, 86_400))
    world = replace(cluster(replace(workload("a"), queue=ADS)), queues={ADS: queue})
    assert schedule(replace(world, spent={ADS: 99.99}), DEFAULT_POLICY, NOW).placements
    decided = schedule(replace(world, spent={ADS: 100.0}), DEFAULT_POLICY, NOW)
    (reason,) = decided.waiting.values()
    assert reason.code is ReasonCode.OVER_BUDGET
    assert reason.evidence["spent"] == "100.00"
    assert decided.wake_at == period_of(queue.budget or Budget(0), NOW)[1]


def test_a_queue_that_degrades_goes_on() -> None:
    queue = Queue(ADS, budget=Budget(100.0, degrade=True))
    world = replace(cluster(replace(workload("a"), queue=ADS)), queues={ADS: queue}, spent={ADS: 100.0})
    assert schedule(world, DEFAULT_POLICY, NOW).placements
    assert is_degraded(ADS, world)
    assert not is_degraded(ADS, replace(world, spent={ADS: 99.0}))
    assert not is_degraded(QueueName("other"), world)


def test_a_queue_that_degrades_gets_what_nobody_else_wants() -> None:
    queue = Queue(ADS, budget=Budget(100.0, degrade=True))
    rich = replace(workload("ads", cpu=3), queue=ADS, priority=1000)
    world = replace(cluster(rich, workload("other", cpu=3)), queues={ADS: queue}, spent={ADS: 100.0})
    assert [p.attempt for p in schedule(world, DEFAULT_POLICY, NOW).placements] == ["other"]
    assert [p.attempt for p in schedule(replace(world, spent={}), DEFAULT_POLICY, NOW).placements] == ["ads"]


def test_periods_are_counted_from_1970() -> None:
    start, end = period_of(Budget(1.0, 7 * 86_400), datetime(1970, 1, 9, 5, tzinfo=UTC))
    assert (start, end) == (datetime(1970, 1, 8, tzinfo=UTC), datetime(1970, 1, 15, tzinfo=UTC))
    assert period_of(Budget(1.0, 7 * 86_400), end)[0] == end


@pytest.mark.parametrize(
    ("asked", "count", "price"),
    [
        (asks(1, 0, 1), 1, 1.0),  # a quarter of the GPUs
        (asks(1, 50), 1, 2.0),  # half of the memory
        (asks(5), 2, 4.0),
        (Resources(0, 0), 3, 0.0),
        (asks(99), 1, 4.0),  # never more than the node
    ],
)
def test_a_workload_pays_for_the_part_of_a_node_that_it_takes(asked: Resources, count: int, price: float) -> None:
    shape = Shape((PodSet(asked, count, count),))
    assert hourly_price(shape, Pool("p", node=BIG, price=4.0)) == pytest.approx(price)
    assert hourly_price(shape, Pool("p", price=4.0)) == count * 4.0
    assert hourly_price(shape, Pool("p", node=BIG)) == 0.0


def test_pools_are_ranked_by_price_and_those_above_the_limit_are_left_out() -> None:
    pools = {"a": Pool("a", node=BIG, price=8.0), "b": Pool("b", node=BIG, price=4.0)}
    shape = replace(single(asks(1, 0, 2)), most_price=3.0)
    assert cheapest_first(shape, pools, ["a", "b", "free"]) == ("free", "b", "a")
    assert [is_affordable(shape, pools.get(name)) for name in ("a", "b", "free")] == [False, True, True]


def test_work_that_no_pool_serves_at_its_price_says_what_the_cheapest_costs() -> None:
    machine = replace(BIG, pool="a")
    pools = {"a": Pool("a", node=BIG, price=8.0)}
    dear = replace(workload("x"), shape=replace(single(asks(1, 0, 2)), most_price=3.0))
    world = replace(cluster(dear, nodes=(machine,)), pools=pools)
    (reason,) = schedule(world, DEFAULT_POLICY, NOW).waiting.values()
    assert reason.code is ReasonCode.TOO_EXPENSIVE
    assert reason.sentence() == "no pool costs at most 3 an hour; the cheapest that fits costs 4 (a)"
    cheap = replace(dear, shape=replace(dear.shape, most_price=4.0))
    assert schedule(replace(world, pending=cluster(cheap).pending), DEFAULT_POLICY, NOW).placements
