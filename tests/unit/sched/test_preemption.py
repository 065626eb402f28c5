"""Who is told to leave, for whom, and what becomes of the room."""

import random
from dataclasses import replace
from typing import Any

import pytest

from build import NOW, node
from rounds_of_time import World, at, gang, gpu_queue, on, world_of
from trainwright.core.decision import Round
from trainwright.core.workload import Preemption, Workload
from trainwright.sched.policy import DEFAULT_POLICY, Policy, Preempting
from trainwright.sched.round import schedule

FOUR = node("n1", cpu=16, cards_gi=(24,) * 4)
ONE_EACH = tuple(node(f"n{i}", cards_gi=(24,)) for i in range(4))
OLD: dict[str, Any] = {"began": -7200}


def told(decided: Round) -> set[str]:
    return {str(e.attempt) for e in decided.evictions}


def low(name: str, *devices: int, **more) -> Workload:
    """Work of priority 0 on n1 that has run two hours."""
    standing = {key: more.pop(key) for key in ("began", "saved_at", "preempted_at") if key in more}
    return on(gang(name, 1, len(devices), **more), ("n1", devices), **(OLD | standing))


def decide(*holding: Workload, claimant: Workload | None = None, policy: Policy = DEFAULT_POLICY) -> Round:
    world = world_of(claimant or gang("high", priority=10), nodes=(FOUR,), holding=holding)
    world.policy = policy
    return world.tick()


def test_the_victim_that_loses_least_work_is_told_and_its_room_is_held() -> None:
    decided = decide(low("a", 0), low("b", 1, saved_at=at(-60)), low("c", 2), low("d", 3))
    assert told(decided) == {"b"}
    (eviction,), (claim,) = decided.evictions, decided.claims
    assert eviction.beneficiary == "high"
    assert eviction.reason.sentence() == "was told to leave for high, which has a higher priority (1m00s of work lost)"
    assert [place.devices for place in claim.places] == [(1,)]
    assert decided.waiting[claim.attempt].sentence() == (
        "its room is held for it; waits for b to leave until 2026-01-01T00:00:10+00:00"
    )


@pytest.mark.parametrize("priority", [0, -1])
def test_nobody_of_equal_or_higher_priority_is_told(priority: int) -> None:
    decided = decide(low("a", 0, 1, 2, 3), claimant=gang("w", priority=priority))
    assert (decided.evictions, decided.claims) == ((), ())
    assert decided.waiting[gang("w").attempt].code == "waiting-for-capacity"


def test_who_is_never_preempted_is_not_told() -> None:
    never = low("a", 0, 1, 2, 3, preemption=Preemption.NEVER)
    assert decide(never).evictions == ()
    assert told(decide(low("a", 0, 1, 2, 3, preemption=Preemption.TIME_SLICED))) == {"a"}


def test_many_small_losses_are_weighed_against_a_large_one() -> None:
    two = gang("high", 1, 2, priority=10)
    small = (low("a", 0, saved_at=at(-60)), low("b", 1, saved_at=at(-60)))
    assert told(decide(*small, low("c", 2, 3, saved_at=at(-600)), claimant=two)) == {"a", "b"}
    assert told(decide(*small, low("c", 2, 3, saved_at=at(-10)), claimant=two)) == {"c"}


def test_nobody_is_told_in_vain() -> None:
    decided = decide(low("a", 0), low("b", 1, 2, 3, priority=20), claimant=gang("high", 1, 2, priority=10))
    assert decided.evictions == ()


def test_who_has_just_started_is_spared_where_others_do() -> None:
    young = low("young", 0, began=-60)
    assert told(decide(young, low("a", 1), low("b", 2), low("c", 3))) == {"a"}
    assert told(decide(young, low("b", 1, 2, 3, priority=10))) == {"young"}


def test_nobody_is_told_more_often_than_allowed() -> None:
    policy = Policy(preempting=Preempting(most=2, per_s=3600))
    often = low("a", 0, 1, 2, 3, preempted_at=(at(-3000), at(-100)))
    decided = decide(often, policy=policy)
    assert decided.evictions == ()
    assert decided.wake_at == at(600)
    assert told(decide(low("a", 0, 1, 2, 3, preempted_at=(at(-4000), at(-100))), policy=policy)) == {"a"}


def test_a_gang_takes_the_nodes_that_cost_least() -> None:
    holding = [on(gang(f"l{i}"), (f"n{i}", (0,)), began=-7200, saved_at=at(-600 + 100 * i)) for i in range(4)]
    world = world_of(gang("high", 2, priority=10), nodes=ONE_EACH, holding=tuple(holding))
    assert told(world.tick()) == {"l2", "l3"}


def test_one_gang_on_many_nodes_is_one_victim() -> None:
    wide = on(gang("wide", 3), *((f"n{i}", (0,)) for i in range(3)), began=-7200, saved_at=at(-10))
    world = world_of(
        gang("high", 2, priority=10), nodes=ONE_EACH,
        holding=(wide, on(gang("one"), ("n3", (0,)), began=-7200, saved_at=at(-10))),
    )  # fmt: skip
    assert told(world.tick()) == {"wide"}


def test_the_beneficiary_starts_where_its_victims_were_once_all_are_gone() -> None:
    world = world_of(
        gang("high", 1, 2, priority=10), nodes=(FOUR,), holding=(low("a", 0, 1, 2), low("b", 3, priority=99))
    )
    world.leaves_s["a"] = 8
    world.tick()
    world.submit(gang("later", 1, 3, priority=10))
    world.run(3, 2)
    assert not world.holds("high")
    world.tick(2)
    assert world.holds("high")
    assert [w.label for w in world.snapshot.pending] == ["later", "a"]
    assert world.reason("a") == "cooling-down"
    world.end("high", "b")
    world.tick(1)
    assert world.holds("later")


def test_room_that_gets_free_elsewhere_is_taken_at_once() -> None:
    world = world_of(gang("high", priority=10), nodes=(FOUR,), holding=(low("a", 0, 1), low("b", 2, 3, priority=10)))
    world.leaves_s["a"] = 60
    world.tick()
    world.end("b")
    world.tick(1)
    assert world.holds("high")
    assert world.holds("a")


def test_a_stuck_victim_blocks_neither_its_beneficiary_nor_the_queue() -> None:
    world = world_of(
        gang("high", priority=10), nodes=(FOUR,),
        holding=(low("a", 0, saved_at=at(-1)), low("b", 1), low("c", 2), low("d", 3)),
    )  # fmt: skip
    world.leaves_s["a"] = float("inf")
    assert told(world.tick()) == {"a"}
    world.run(6, 10)
    assert sum(world.told.values()) == 1
    decided = world.tick(10)
    assert told(decided) == {"b"}
    world.tick(6)
    assert world.holds("high")
    assert world.told == {"a": 1, "b": 1}


def test_a_claim_is_dropped_when_its_node_is_lost() -> None:
    nodes = (FOUR, replace(FOUR, name="n2"))
    other = on(gang("other", 1, 4, priority=10), ("n2", (0, 1, 2, 3)))
    world = world_of(gang("high", priority=10), nodes=nodes, holding=(low("a", 0, 1, 2, 3), other))
    world.leaves_s["a"] = 60
    assert len(world.tick().claims) == 1
    lost = replace(world.snapshot.nodes["n1"], ready=False)
    world.snapshot = replace(world.snapshot, nodes=world.snapshot.nodes.plus({"n1": lost}))
    assert world.tick(1).claims == ()
    assert world.reason("high") == "waiting-for-capacity"
    world.end("other")
    world.tick(1)
    assert world.holds("high")


def test_the_room_of_a_claim_whose_beneficiary_is_gone_is_everybodys() -> None:
    world = world_of(gang("high", 1, 4, priority=10), gang("w", 1, 4), nodes=(FOUR,), holding=(low("a", 0, 1, 2, 3),))
    world.tick()
    world.snapshot = replace(world.snapshot, pending=world.snapshot.pending.minus([gang("high").attempt]))
    world.tick(6)
    assert world.holds("w")


def test_a_higher_priority_takes_the_room_that_is_held_for_a_lower_one() -> None:
    world = world_of(gang("high", 1, 4, priority=10), nodes=(FOUR,), holding=(low("a", 0, 1, 2, 3),))
    world.tick()
    world.submit(gang("urgent", 1, 4, priority=20))
    decided = world.tick(1)
    assert decided.evictions == ()
    assert [c.attempt for c in decided.claims] == ["urgent"]
    assert world.reason("high") == "behind"
    world.tick(5)
    assert world.holds("urgent")
    assert world.reason("high") == "waiting-for-capacity"


def test_many_like_one_another_get_room_in_one_round() -> None:
    highs = [gang(f"high{i}", priority=10) for i in range(6)]
    holding = tuple(low(f"l{i}", i) for i in range(4))
    decided = world_of(*highs, nodes=(FOUR,), holding=holding).tick()
    assert told(decided) == {"l0", "l1", "l2", "l3"}
    assert len(decided.claims) == 4
    assert len({id(reason) for reason in decided.waiting.values() if reason.code == "waiting-for-capacity"}) == 1


# quota


A3, B0 = gpu_queue("a", 3), gpu_queue("b", 0)
THREE = node("n1", cards_gi=(24,) * 3)


def g11(high: Workload, *holding: Workload) -> World:
    world = world_of(high, nodes=(THREE,), holding=holding, queues=(A3, B0))
    world.policy = Policy(preempting=Preempting(cool_down_s=0))
    return world


def test_g11_a_victim_is_preempted_once_and_the_preemptor_starts() -> None:
    owner = on(gang("low", 1, 3, queue="a", queued=-9000), ("n1", (0, 1, 2)), began=-7200)
    world = g11(gang("high", 1, 2, queue="b", priority=10), owner)
    world.run(200, 10)
    assert world.holds("high")
    assert world.told == {"low": 1}
    assert len(world.started["high"]) == 1
    evictions = [e for _, decided in world.rounds for e in decided.evictions]
    assert [(e.attempt, e.beneficiary, e.reason.code) for e in evictions] == [("low", "high", "preempted")]


@pytest.mark.parametrize("priority", [-5, 0, 10])
def test_g11_an_owner_takes_its_guarantee_back_once_from_a_borrower_of_any_priority(priority: int) -> None:
    borrower = on(gang("borrower", 1, 2, queue="b", priority=priority, queued=-9000), ("n1", (0, 1)), began=-7200)
    world = g11(gang("owner", 1, 3, queue="a"), borrower)
    world.run(200, 10)
    assert world.holds("owner")
    assert world.told == {"borrower": 1}
    (eviction,) = [e for _, decided in world.rounds for e in decided.evictions]
    assert eviction.reason.sentence() == (
        "was told to leave for owner, which has a higher priority (2h00m of work lost)" if priority < 0 else
        "was told to leave: a takes back what it had lent, for owner (2h00m of work lost)"
    )  # fmt: skip
    world.end("owner")
    world.tick(1)
    assert world.holds("borrower")


def test_a_borrower_is_told_only_as_long_as_its_queue_borrows() -> None:
    queues = (gpu_queue("a", 2), gpu_queue("b", 2))
    holding = tuple(on(gang(f"b{i}", queue="b"), ("n1", (i,)), began=-7200) for i in range(3))
    mine = on(gang("a0", queue="a"), ("n1", (3,)), began=-7200)
    one = world_of(gang("w", queue="a"), nodes=(FOUR,), holding=(*holding, mine), queues=queues)
    assert len(told(one.tick())) == 1
    two = world_of(gang("w", 2, queue="a"), nodes=(FOUR,), holding=(*holding, mine), queues=queues)
    assert told(two.tick()) == set()


def test_a_ceiling_is_made_room_under_by_own_work_alone() -> None:
    queues = (gpu_queue("a", 0, 2), gpu_queue("b", 4))
    holding = (
        on(gang("own", 1, 2, queue="a"), ("n1", (0, 1)), began=-7200),
        on(gang("other", queue="b"), ("n1", (2,)), began=-7200, saved_at=NOW),
    )
    world = world_of(gang("high", queue="a", priority=10), nodes=(FOUR,), holding=holding, queues=queues)
    assert told(world.tick()) == {"own"}


def test_what_a_claim_holds_of_the_quota_goes_to_nobody_else() -> None:
    queues = (gpu_queue("a", 2), gpu_queue("b", 2))
    world = world_of(
        gang("owner", 1, 2, queue="a"), nodes=(replace(FOUR, name="n1"),),
        holding=(on(gang("b", 1, 4, queue="b"), ("n1", (0, 1, 2, 3)), began=-7200),), queues=queues,
    )  # fmt: skip
    world.leaves_s["b"] = 30
    world.tick()
    world.submit(gang("other", 1, 3, queue="b", queued=-9000))
    world.run(20, 5)
    assert world.holds("owner")
    assert not world.holds("other")


# gangs


@pytest.mark.parametrize(("a", "b"), [(4, 4), (3, 3)])
def test_g10_of_two_gangs_one_has_all_and_the_other_none(a: int, b: int) -> None:
    for seed in range(100):
        chance = random.Random(seed)
        world = world_of(nodes=ONE_EACH)
        works = [gang("a", a), gang("b", b), *(gang(f"s{i}", priority=chance.choice([-1, 0, 1])) for i in range(4))]
        world.needs = {w.attempt: chance.choice([20, 60, 300]) for w in works}
        chance.shuffle(works)
        while works or len(world.snapshot.pending) or len(world.snapshot.holding):
            while works and chance.random() < 0.5:
                world.submit(works.pop())
            world.tick(chance.choice([1, 5, 30]))  # what must hold is looked at in every tick
            assert len(world.rounds) < 2000
        assert len(world.started["a"]) >= 1
        assert len(world.started["b"]) >= 1


def test_the_same_snapshot_gives_the_same_evictions_in_whatever_order_it_came() -> None:
    holding = [low(f"l{i}", i, saved_at=at(-60)) for i in range(4)]
    worlds = [world_of(gang("high", priority=10), nodes=(FOUR,), holding=tuple(h)) for h in (holding, holding[::-1])]
    first, second = (schedule(w.snapshot, DEFAULT_POLICY, NOW) for w in worlds)
    assert first == second
