"""When pools grow and shrink."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from build import NOW, asks, cluster, node, workload
from trainwright.core.decision import Round
from trainwright.core.pool import Pool
from trainwright.core.reasons import ReasonCode
from trainwright.core.snapshot import ClusterSnapshot, nodes_of
from trainwright.core.workload import PodSet, Shape, Workload, single
from trainwright.sched.autoscale import Fleet, Scaling, arrived, autoscale
from trainwright.sched.policy import DEFAULT_POLICY, Autoscaling
from trainwright.sched.round import schedule

RULE = Autoscaling(up_after_s=30, down_after_s=600)
FOUR = node("four", cpu=4, cards_gi=(24, 24, 24, 24))
POOL = Pool("spot", node=FOUR, most=10, price=4.0, provision_s=120)
OLD = replace(FOUR, name="old", pool="spot")


def world(*pending: Workload, nodes: tuple[object, ...] = (OLD,), pools: tuple[Pool, ...] = (POOL,)) -> ClusterSnapshot:
    made = cluster(*pending, nodes=nodes)  # type: ignore[arg-type]
    return replace(made, pools={pool.name: pool for pool in pools})


def look(snapshot: ClusterSnapshot, fleet: Fleet, now: datetime) -> tuple[tuple[Scaling, ...], Fleet]:
    return autoscale(snapshot, schedule(snapshot, DEFAULT_POLICY, now), fleet, RULE, now)


def later(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


GPUS = [workload(f"w{i}", gpus=2) for i in range(6)]


def test_a_pool_grows_by_what_waits_once_it_has_waited_long_enough() -> None:
    snapshot = world(*GPUS)  # two of six fit
    found, fleet = look(snapshot, Fleet(), NOW)
    assert found == ()
    assert fleet.wanting == {"spot": NOW}
    found, fleet = look(snapshot, fleet, later(29))
    assert found == ()
    found, fleet = look(snapshot, fleet, later(30))
    assert found == (Scaling("spot", add=2, serves=("w2", "w3", "w4")),)
    assert fleet.coming == {"spot": (later(150), later(150))}
    assert look(snapshot, fleet, later(31))[0] == ()  # what comes is counted


def test_nodes_that_came_are_not_expected_any_more_and_lost_ones_are_asked_for_again() -> None:
    fleet = Fleet(coming={"spot": (later(150), later(90))}, wanting={"spot": NOW})
    assert arrived(fleet, "spot", 1).coming == {"spot": (later(150),)}
    assert arrived(fleet, "spot", 2).coming == {}
    found, _ = look(world(*GPUS), fleet, later(150 + 601))
    assert [s.add for s in found] == [2]


def test_a_pool_never_grows_beyond_its_most() -> None:
    found, _ = look(world(*GPUS, pools=(replace(POOL, most=2),)), Fleet(wanting={"spot": NOW}), later(60))
    assert [s.add for s in found] == [1]
    assert look(world(*GPUS, pools=(replace(POOL, most=1),)), Fleet(wanting={"spot": NOW}), later(60))[0] == ()


@pytest.mark.parametrize(
    "shape",
    [
        single(asks(1, 0, 8)),
        replace(single(asks(1, 0, 4)), pools=("other",)),
        Shape((PodSet(asks(1, 0, 4), models=("H100",)),)),
        replace(single(asks(1, 0, 4)), most_price=1.0),
    ],
)
def test_g15_no_node_is_added_that_would_not_help(shape: Shape) -> None:
    useless = replace(workload("x"), shape=shape)
    assert look(world(useless), Fleet(wanting={"spot": NOW}), later(3600))[0] == ()


def test_a_gang_gets_all_its_nodes_or_none() -> None:
    gang = replace(workload("g"), shape=Shape((PodSet(asks(1, 0, 4), 3, 3),)))
    decided = Round(waiting={gang.attempt: next(iter(schedule(world(*GPUS), DEFAULT_POLICY, NOW).waiting.values()))})
    found, _ = autoscale(world(gang), decided, Fleet(wanting={"spot": NOW}), RULE, later(60))
    assert [s.add for s in found] == [3]
    small = world(gang, pools=(replace(POOL, most=3),))
    assert autoscale(small, decided, Fleet(wanting={"spot": NOW}), RULE, later(60))[0] == ()


def test_work_that_only_a_new_node_can_hold_waits_for_one() -> None:
    empty = replace(world(GPUS[0], nodes=()), nodes=nodes_of())
    assert [r.code for r in schedule(empty, DEFAULT_POLICY, NOW).waiting.values()] == [ReasonCode.WAITING_FOR_CAPACITY]
    found, _ = look(empty, Fleet(wanting={"spot": NOW}), later(60))
    assert [s.add for s in found] == [1]
    full = replace(empty, pools={"spot": replace(POOL, most=0)})
    assert [r.code for r in schedule(full, DEFAULT_POLICY, NOW).waiting.values()] == [ReasonCode.NEVER_FITS]


def test_the_cheapest_pool_that_serves_grows() -> None:
    dear = Pool("dear", node=FOUR, most=10, price=9.0)
    found, _ = look(world(*GPUS, pools=(dear, POOL)), Fleet(wanting={"spot": NOW, "dear": NOW}), later(60))
    assert [s.pool for s in found] == ["spot"]


def test_idle_nodes_go_after_a_while_and_the_least_stay() -> None:
    nodes = tuple(replace(OLD, name=f"n{i}") for i in range(4))
    snapshot = replace(world(nodes=nodes, pools=(replace(POOL, least=1),)))
    found, fleet = look(snapshot, Fleet(), NOW)
    assert found == ()
    found, fleet = look(snapshot, fleet, later(599))
    assert found == ()
    found, fleet = look(snapshot, fleet, later(600))
    assert found == (Scaling("spot", remove=("n0", "n1", "n2")),)


def test_a_node_that_is_used_in_between_is_not_idle_for_long() -> None:
    nodes = (OLD, replace(OLD, name="young"))
    _, fleet = look(world(nodes=nodes), Fleet(), NOW)
    used = world(nodes=nodes)
    used = replace(used, holding=cluster(holding=(workload("h"),), nodes=(OLD,)).holding)
    _, fleet = look(used, fleet, later(300))
    assert fleet.idle == {"young": NOW}
    found, _ = look(world(nodes=nodes), fleet, later(700))
    assert found == (Scaling("spot", remove=("young",)),)


def test_a_pool_below_its_least_is_filled() -> None:
    found, fleet = look(world(nodes=(), pools=(replace(POOL, least=2),)), Fleet(), NOW)
    assert found == (Scaling("spot", add=2),)
    again = replace(world(pools=(replace(POOL, least=2),)), nodes=nodes_of())
    assert look(again, fleet, later(10))[0] == ()


def test_a_pool_that_says_nothing_of_its_nodes_is_left_alone() -> None:
    assert look(world(*GPUS, pools=(Pool("spot", most=9),)), Fleet(wanting={"spot": NOW}), later(60))[0] == ()
