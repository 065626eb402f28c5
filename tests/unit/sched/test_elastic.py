"""Elastic workloads start with fewer, grow on idle room when that gains, and shrink before anybody is told to leave."""

from dataclasses import replace

import pytest

from build import node
from rounds_of_time import World, at, gang, gpu_queue, on, world_of
from trainwright.core.decision import Resize
from trainwright.core.workload import Workload

FOUR = node("n1", cpu=16, cards_gi=(24,) * 4)


def elastic(name: str, *devices: int, least: int = 1, count: int = 4, began: float = -7200, **more) -> Workload:
    """A gang of one GPU a replica that holds these."""
    standing = {key: more.pop(key) for key in ("saved_at",) if key in more}
    work = gang(name, count, least=least, **more)
    return on(work, *(("n1", (device,)) for device in devices), began=began, **standing) if devices else work


def of(world: World) -> list[Resize]:
    return list(world.rounds[-1][1].resizes)


def test_it_starts_with_what_there_is_and_grows_when_more_gets_idle() -> None:
    world = world_of(elastic("e", expected_s=100_000), nodes=(FOUR,), holding=(on(gang("h", 1, 2), ("n1", (0, 1))),))
    world.tick()
    assert len(world.snapshot.holding[gang("e").attempt].standing.places) == 2
    world.end("h")
    assert world.tick(60).wake_at == at(1800)
    world.tick(1740)
    (resize,) = of(world)
    assert resize.reason.sentence() == "goes on with 4 instead of 2 replicas: there is idle room"
    world.submit(gang("w"))
    world.tick(1)
    assert world.reason("w") == "waiting-for-capacity"
    world.tick(5)
    grown = world.snapshot.holding[gang("e").attempt]
    assert len(grown.standing.places) == 4
    assert grown.standing.served_s == 1806
    world.tick(1)
    assert of(world) == []


def test_it_does_not_grow_while_somebody_waits_for_room() -> None:
    world = world_of(gang("big", 1, 4), nodes=(FOUR,), holding=(elastic("e", 0),))
    assert world.tick().resizes == ()


@pytest.mark.parametrize(
    ("change", "grows"),
    [({}, True), ({"expected_s": 7500}, False), ({"most_s": 7300}, False), ({"restart_cost_s": 4000.0}, False)],
)
def test_it_grows_only_when_that_saves_more_than_the_restart_costs(change: dict, grows: bool) -> None:
    world = world_of(nodes=(FOUR,), holding=(elastic("e", 0, saved_at=at(-60), **change),))
    assert bool(world.tick().resizes) == grows


def test_it_grows_no_further_than_its_quota() -> None:
    held = elastic("e", 0, queue="a", saved_at=at(0))
    world = world_of(nodes=(FOUR,), holding=(held,), queues=(gpu_queue("a", 1, 3), gpu_queue("b", 4)))
    (resize,) = world.tick().resizes
    assert len(resize.places) == 3


def test_it_shrinks_before_anybody_is_told_to_leave_and_no_more_than_needed() -> None:
    cheap = on(gang("cheap"), ("n1", (3,)), began=-7200, saved_at=at(-1))
    world = world_of(gang("high", priority=10), nodes=(FOUR,), holding=(elastic("e", 0, 1, 2), cheap))
    decided = world.tick()
    assert decided.evictions == ()
    (resize,) = decided.resizes
    assert resize.reason.sentence() == "goes on with 2 instead of 3 replicas: room for high"
    assert [place.devices for place in resize.places] == [(0,), (1,)]
    assert world.reason("high") == "waiting-for-victims"
    world.tick(6)
    assert world.holds("high")
    shrunk = world.snapshot.holding[gang("e").attempt]
    assert (len(shrunk.standing.places), shrunk.standing.preempted_at) == (2, ())


def test_who_would_not_make_room_by_shrinking_is_told_to_leave() -> None:
    world = world_of(gang("high", 1, 4, priority=10), nodes=(FOUR,), holding=(elastic("e", 0, 1, 2, 3),))
    decided = world.tick()
    assert (len(decided.evictions), decided.resizes) == (1, ())


def test_a_claimant_that_is_elastic_makes_room_for_its_minimum_and_takes_what_more_there_is() -> None:
    holding = tuple(on(gang(f"l{i}"), ("n1", (i,)), began=-7200, saved_at=at(-i)) for i in range(4))
    world = world_of(elastic("high", least=2, priority=10), nodes=(FOUR,), holding=holding)
    assert sorted(e.attempt for e in world.tick().evictions) == ["l0", "l1"]
    world.end("l2")
    world.tick(6)
    assert len(world.snapshot.holding[gang("high").attempt].standing.places) == 3


def test_one_that_is_told_is_not_resized_as_well() -> None:
    world = world_of(gang("high", 1, 3, priority=10), nodes=(FOUR,), holding=(elastic("e", 0, 1, least=2),))
    decided = world.tick()
    assert (len(decided.evictions), decided.resizes) == (1, ())
    assert replace(decided.claims[0], places=()).attempt == "high"
