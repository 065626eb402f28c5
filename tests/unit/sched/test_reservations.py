"""The first in line that waits for much is not overtaken for ever, and nobody waits for it in vain."""

from dataclasses import replace

import pytest

from build import node
from rounds_of_time import at, gang, gpu_queue, on, world_of
from trainwright.core.workload import Workload
from trainwright.sched.policy import Policy, Reserving

EIGHT = node("n1", cpu=32, cards_gi=(24,) * 8)
TWO = (node("n1", cpu=8, cards_gi=(24,) * 2), node("n2", cpu=8, cards_gi=(24,) * 2))


def busy(ends: float | None, *devices: int, name: str = "busy", on_node: str = "n1", **more) -> Workload:
    """Work on some devices that is killed at a stated time."""
    return on(gang(name, 1, len(devices), most_s=ends, **more), (on_node, devices))


def waits_since(name: str, count: int, gpus: float, **more) -> Workload:
    return gang(name, count, gpus, queued=-1000, **more)


def test_a_gang_gets_a_reservation_after_the_stated_time_and_only_what_ends_before_passes() -> None:
    world = world_of(gang("big", 1, 8), nodes=(EIGHT,), holding=(busy(3600, *range(6)),))
    assert world.tick().wake_at == at(600)
    world.submit(gang("early", most_s=7200))
    world.tick(1)
    assert world.holds("early")
    world.end("early")
    world.submit(gang("long", most_s=7200), gang("endless"), gang("short", most_s=1800))
    decided = world.tick(600)
    assert [p.attempt for p in decided.placements] == ["short"]
    assert decided.waiting[gang("long").attempt].sentence() == (
        f"would delay big, which has a reservation from {at(3600).isoformat()}; only what ends before may pass"
    )
    assert world.reason("endless") == "behind-reservation"
    assert decided.waiting[gang("big").attempt].evidence["by"] == at(3600).isoformat()
    assert [claim.collects for claim in decided.claims] == [True]
    world.tick(2999)
    assert world.holds("big")


def test_work_beside_the_reserved_room_passes_at_once() -> None:
    free = node("n3", cpu=4)
    world = world_of(
        waits_since("big", 2, 2), gang("cpu", 1, 0), gang("gpu"), nodes=(*TWO, free),
        holding=(busy(3600, 0, name="a"), busy(3600, 0, name="b", on_node="n2")),
    )  # fmt: skip
    world.tick()
    assert world.holds("cpu")
    assert world.reason("gpu") == "behind-reservation"


def test_who_would_delay_at_one_place_goes_to_another() -> None:
    nodes = (*TWO, node("n3", cpu=4, cards_gi=(24,)))
    world = world_of(
        waits_since("big", 2, 2), gang("gpu"), nodes=nodes,
        holding=(busy(3600, 0, name="a"), busy(3600, 0, name="b", on_node="n2")),
    )  # fmt: skip
    world.tick()
    assert [place.node for place in world.snapshot.holding[gang("gpu").attempt].standing.places] == ["n3"]


def test_room_that_is_left_beside_the_gang_is_used() -> None:
    world = world_of(
        waits_since("big", 1, 6), gang("a"), gang("b"), gang("c"), nodes=(EIGHT,), holding=(busy(3600, 0, 1, 2, 3),)
    )
    world.tick()
    assert sorted(w.label for w in world.snapshot.holding) == ["a", "b", "busy"]
    world.tick(3600)
    assert world.holds("big")


def test_a_higher_priority_is_not_bound_by_a_reservation() -> None:
    world = world_of(waits_since("big", 1, 8), nodes=(EIGHT,), holding=(busy(3600, 0),))
    world.tick()
    world.submit(gang("high", priority=1))
    world.tick(1)
    assert world.holds("high")


def test_one_a_queue_and_only_so_many_at_one_time() -> None:
    bigs = [waits_since(f"{queue}{i}", 1, 8, queue=queue) for queue in "ab" for i in range(2)]
    world = world_of(*bigs, nodes=(EIGHT, replace(EIGHT, name="n2"), replace(EIGHT, name="n3")), holding=())
    world.snapshot = world_of(
        *bigs, nodes=tuple(replace(EIGHT, name=f"n{i}") for i in (1, 2, 3)),
        holding=tuple(busy(None, 0, name=f"h{i}", on_node=f"n{i}") for i in (1, 2, 3)),
        queues=(gpu_queue("a", 24), gpu_queue("b", 24)),
    ).snapshot  # fmt: skip
    assert [c.attempt for c in world.tick().claims] == ["a0", "b0"]
    world.policy = Policy(reserving=Reserving(most=1))
    assert len(world.tick(1).claims) == 1


# where nobody states an end


def test_without_stated_ends_the_gang_collects_what_gets_free_and_keeps_its_places() -> None:
    holding = tuple(busy(None, i, name=f"h{i}") for i in range(8))
    world = world_of(waits_since("big", 1, 4), nodes=(EIGHT,), holding=holding)
    (first,) = world.tick().claims
    assert first.collects
    mine = set(first.places[0].devices)
    world.submit(*(gang(f"s{i}") for i in range(3)))
    for device in sorted(set(range(8)) - mine)[:3]:
        world.end(f"h{device}")
    world.tick(1)
    assert all(world.holds(f"s{i}") for i in range(3))
    world.submit(gang("late"), gang("short", most_s=600), gang("not-so-short", most_s=601))
    for device in sorted(mine)[:3]:
        world.end(f"h{device}")
        (claim,) = world.tick(1).claims
        assert claim.places == first.places
    assert (world.reason("late"), world.reason("not-so-short")) == ("behind-reservation", "behind-reservation")
    assert world.holds("short")
    world.end(f"h{sorted(mine)[3]}")
    world.run(60, 10)
    assert world.holds("big")


def test_what_cannot_be_collected_is_chosen_anew() -> None:
    world = world_of(waits_since("big", 1, 8), nodes=(EIGHT,), holding=(busy(None, 0),))
    world.policy = Policy(reserving=Reserving(collect_s=100))
    decided = world.tick()
    assert decided.wake_at is None
    assert world.tick(50).wake_at == at(100)
    two = replace(EIGHT, name="n2")
    world.snapshot = replace(world.snapshot, nodes=world.snapshot.nodes.plus({"n2": two}))
    world.tick(1)
    assert world.holds("big")


@pytest.mark.parametrize(("ends", "fills"), [(7200.0, True), (7200.0, False), (None, True), (None, False)])
def test_g12_neither_the_head_blocks_the_queue_nor_is_the_gang_overtaken_for_ever(
    ends: float | None, fills: bool
) -> None:
    """8 GPUs, 6 busy for two hours; a gang of 8, three CPU jobs, then a GPU job of ten minutes every five minutes."""
    world = world_of(
        gang("gang", 1, 8), *(gang(f"cpu{i}", 1, 0) for i in range(3)), nodes=(EIGHT,), holding=(busy(ends, *range(6)),)
    )  # fmt: skip
    world.needs["busy"] = 7200
    idle = 0.0
    for tick in range(500):
        if tick % 5 == 0:
            name = f"small{tick}"
            world.submit(gang(name, queued=tick * 60, most_s=600.0 if fills else None))
            world.needs[name] = 600
        world.tick(60)
        if tick == 0:
            assert all(world.holds(f"cpu{i}") for i in range(3))
        if world.now > at(600) and "gang" not in world.started:
            idle += world.idle_gpus() * 60
        waiting = world.rounds[-1][1].waiting.values()
        assert all("?" not in reason.sentence() for reason in waiting)
    bound = 7200 + 60 + (600 if ends is None and fills else 0)  # the last end, a tick, and what may fill in
    (started,) = world.started["gang"]
    assert started <= at(bound)
    smalls = [name for name in world.started if name.startswith("small")]
    assert len(smalls) > (20 if fills else 1)
    assert idle == {(7200.0, True): 780, (None, True): 2460}.get(
        (ends, fills), 12780
    )  # GPU-seconds under it; docs say so
