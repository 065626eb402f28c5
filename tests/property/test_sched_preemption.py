"""Over random full clusters: nobody is told upward, in vain, or without need; stated times of reservations are kept."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from build import node
from rounds_of_time import World, at, gang, gpu_queue, on, world_of
from trainwright.core.workload import Preemption, Workload
from trainwright.sched.gang import find_places
from trainwright.sched.gathering import least_of
from trainwright.sched.quota import Ledger
from trainwright.sched.room import Room

QUEUES = (gpu_queue("a", 3), gpu_queue("b", 3), gpu_queue("c", 2, 4))
NODES = tuple(node(f"n{i}", cpu=16, cards_gi=(24,) * 4) for i in range(2))


@st.composite
def holders(draw: st.DrawFn) -> list[Workload]:
    """Work of one to three GPUs a replica on devices that are side by side."""
    found: list[Workload] = []
    for machine in NODES:
        device = 0
        while device < 4:
            gpus = draw(st.integers(1, 4 - device))
            if draw(st.sampled_from([True, True, True, False])):
                work = gang(
                    f"h{len(found)}", 1, gpus, queue=draw(st.sampled_from("abc")), priority=draw(st.integers(-1, 3)),
                    preemption=draw(st.sampled_from([*Preemption, Preemption.BY_PRIORITY])),
                    most_s=draw(st.sampled_from([None, 3600.0, 9000.0])),
                )  # fmt: skip
                places = (machine.name, tuple(range(device, device + gpus)))
                began = -draw(st.integers(1, 3000))
                found.append(on(work, places, began=began, saved_at=at(-draw(st.integers(0, -began)))))
            device += gpus
    return found


@st.composite
def claimants(draw: st.DrawFn) -> Workload:
    count, gpus = draw(st.sampled_from([(1, 1), (1, 2), (1, 4), (2, 1), (2, 3), (3, 2)]))
    return gang("w", count, gpus, queue=draw(st.sampled_from("abc")), priority=draw(st.integers(-1, 4)), queued=-1000)


def would_fit(world: World, claimant: Workload, without: list[Workload]) -> bool:
    """Judge it in a way of its own: on nodes, and in quota, once these are gone."""
    room = Room(world.snapshot.nodes)
    for victim in without:
        room.give(victim.shape, victim.standing.places)
    ledger = Ledger().as_of(world.snapshot)
    return find_places(least_of(claimant.shape), room) is not None and ledger.would_fit(claimant, without)


@given(holders(), claimants())
@settings(max_examples=150, deadline=None)
def test_victims_are_sufficient_needed_and_lawful(holding: list[Workload], claimant: Workload) -> None:
    world = world_of(claimant, nodes=NODES, holding=tuple(holding), queues=QUEUES)
    before = world.snapshot
    ledger = Ledger().as_of(before)
    decided = world.tick()
    victims = [before.holding[eviction.attempt] for eviction in decided.evictions]
    world.snapshot = before
    if not victims:
        return
    assert would_fit(world, claimant, victims)
    for spared in victims:
        assert not would_fit(world, claimant, [one for one in victims if one is not spared])
    for victim, eviction in zip(victims, decided.evictions, strict=True):
        assert victim.contract.preemption is not Preemption.NEVER
        if eviction.reason.code == "preempted":
            assert victim.priority < claimant.priority
        else:
            assert victim.queue != claimant.queue
            assert ledger.borrowed(victim.queue)
            assert ledger.is_guaranteed(claimant)


@given(holders(), claimants())
@settings(max_examples=100, deadline=None)
def test_who_makes_room_starts_once_its_victims_are_gone(holding: list[Workload], claimant: Workload) -> None:
    world = world_of(claimant, nodes=NODES, holding=tuple(holding), queues=QUEUES)
    if world.tick().claims and not world.rounds[-1][1].claims[0].collects:
        world.submit(gang("other", 1, 1, queue="a", queued=-9000), gang("another", 1, 2, queue="b", queued=-9000))
        world.run(2, 5)
        assert world.holds("w")


@given(holders(), claimants(), st.lists(st.sampled_from([300.0, 2000.0, None]), max_size=6))
@settings(max_examples=100, deadline=None)
def test_a_reservation_with_a_time_is_kept_when_ends_are(
    holding: list[Workload], claimant: Workload, arrivals: list[float | None]
) -> None:
    holding = [replace(h, priority=9) for h in holding]  # nobody can be told: only ends make room
    world = world_of(claimant, nodes=NODES, holding=tuple(holding))
    decided = world.tick()
    by = "" if world.holds("w") else str(decided.waiting[claimant.attempt].evidence.get("by", ""))
    if not by:
        return
    for number, most_s in enumerate(arrivals):
        world.submit(gang(f"s{number}", 1, 1 + number % 3, most_s=most_s, queued=number, priority=claimant.priority))
        world.tick(250)
    while world.now.isoformat() < by:
        world.tick(min(250.0, (at(20_000) - world.now).total_seconds()))
    assert world.holds("w")
