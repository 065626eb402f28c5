"""Rounds over random clusters, queues and gangs, one after another, while work comes and goes and nodes are lost."""

from collections import Counter
from collections.abc import Iterator
from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from trainwright.core.queue import QueueName
from trainwright.core.snapshot import ClusterSnapshot
from trainwright.core.workload import Preemption, Workload
from trainwright.sched.invariants import check
from trainwright.sched.memory import Memory
from trainwright.sched.policy import DEFAULT_POLICY
from trainwright.sched.round import schedule
from worlds import History, beginnings

ROUNDS = 5


def over_capacity(world: ClusterSnapshot) -> list[str]:
    """Sum up what is held of every node and device, in a way of its own."""
    held: Counter[tuple[str, str, int]] = Counter()
    for one in world.holding:
        for place in one.standing.places:
            asked = one.shape.pod_sets[place.pod_set].asked
            held[place.node, "cpu", 0] += asked.cpu_milli
            held[place.node, "memory", 0] += asked.memory_bytes
            for device in place.devices:
                held[place.node, "card", device] += min(1000, asked.gpu_milli)
    allowed = {(n.name, "cpu", 0): n.total.cpu_milli for n in world.nodes}
    allowed |= {(n.name, "memory", 0): n.total.memory_bytes for n in world.nodes}
    allowed |= {(n.name, "card", d.index): 1000 for n in world.nodes for d in n.devices}
    return [f"{key}: {amount}" for key, amount in held.items() if amount > allowed.get(key, 0)]


def parts(world: ClusterSnapshot) -> Iterator[tuple[Workload, str, int]]:
    """Yield who holds how much of what."""
    cards = {(n.name, d.index): d.model for n in world.nodes for d in n.devices}
    for one in world.holding:
        for place in one.standing.places:
            pod_set = one.shape.pod_sets[place.pod_set]
            yield one, "cpu", pod_set.asked.cpu_milli
            yield one, "gpu", pod_set.asked.gpu_milli
            for device in place.devices:
                model = pod_set.models[0] if len(pod_set.models) == 1 else cards[place.node, device]
                yield one, f"gpu:{model}", min(1000, pod_set.asked.gpu_milli)


def over_quota(world: ClusterSnapshot) -> list[str]:
    """Sum up what is held of every queue and cohort, in a way of its own."""
    held, fixed, shared, capacity = (Counter[tuple[str, str]]() for _ in range(4))
    for one, resource, amount in parts(world):
        held[one.queue, resource] += amount
        if one.contract.preemption is Preemption.NEVER:
            fixed[one.queue, resource] += amount
    for cohort in world.cohorts.values():
        capacity.update({(cohort.name, resource): amount for resource, amount in cohort.extra.items()})
    wrong = []
    for queue in world.queues.values():
        for resource, quota in queue.quotas.items():
            key = queue.name, resource
            most = quota.guaranteed if quota.ceiling is None and not queue.cohort else quota.ceiling
            wrong += [f"{key} above {most}"] if most is not None and held[key] > most else []
            if queue.cohort:
                wrong += [f"{key} for ever above its guarantee"] if fixed[key] > quota.guaranteed else []
                shared[queue.cohort, resource] += held[key]
                capacity[queue.cohort, resource] += quota.guaranteed
    return wrong + [f"{key} holds {amount}" for key, amount in shared.items() if amount > capacity[key]]


def below_minimum(world: ClusterSnapshot) -> list[str]:
    counts = [(one, Counter(place.pod_set for place in one.standing.places)) for one in world.holding]
    return [
        str(one.attempt)
        for one, has in counts
        if not all(pod_set.least <= has[i] <= pod_set.count for i, pod_set in enumerate(one.shape.pod_sets))
    ]


@given(beginnings(), st.data())
@settings(max_examples=50)
def test_the_invariants_hold_round_after_round(beginning: ClusterSnapshot, data: st.DataObject) -> None:
    world = History(beginning)
    for _ in range(ROUNDS):
        decided = schedule(world.snapshot, DEFAULT_POLICY, world.now)
        assert check(world.snapshot, decided) == ()
        world.carry_out(decided)
        assert over_capacity(world.snapshot) == []
        assert over_quota(world.snapshot) == []
        assert below_minimum(world.snapshot) == []
        world.happen(data)


@given(beginnings(), st.data())
@settings(max_examples=50)
def test_a_round_with_a_memory_decides_what_one_without_decides(
    beginning: ClusterSnapshot, data: st.DataObject
) -> None:
    world, memory = History(beginning), Memory()
    for _ in range(ROUNDS):
        decided = schedule(world.snapshot, DEFAULT_POLICY, world.now, memory)
        assert decided == schedule(world.snapshot, DEFAULT_POLICY, world.now)
        assert list(decided.waiting) == list(schedule(world.snapshot, DEFAULT_POLICY, world.now).waiting)
        later = world.now + timedelta(seconds=data.draw(st.sampled_from([0, 1, 100, 10_000])))
        assert schedule(world.snapshot, DEFAULT_POLICY, later, memory) == schedule(
            world.snapshot, DEFAULT_POLICY, later
        )
        if data.draw(st.booleans()):
            world.carry_out(decided)
        world.happen(data)


@given(beginnings())
@settings(max_examples=50)
def test_equal_reasons_are_one_object(beginning: ClusterSnapshot) -> None:
    reasons = schedule(beginning, DEFAULT_POLICY, History(beginning).now).waiting.values()
    assert len({id(reason) for reason in reasons}) == len({(r.code, str(r.evidence)) for r in reasons})


@given(beginnings())
@settings(max_examples=50)
def test_the_same_world_in_another_order_is_decided_the_same(beginning: ClusterSnapshot) -> None:
    world = History(beginning)
    turned = type(beginning.pending).of(reversed(beginning.pending), lambda w: w.attempt)
    nodes = type(beginning.nodes).of(reversed(beginning.nodes), lambda n: n.name)
    queues = {QueueName(name): beginning.queues[name] for name in reversed(list(beginning.queues))}
    other = ClusterSnapshot(
        nodes, turned, beginning.holding, queues, beginning.cohorts, beginning.pools, beginning.used
    )
    one, two = schedule(beginning, DEFAULT_POLICY, world.now), schedule(other, DEFAULT_POLICY, world.now)
    assert one == two
    assert list(one.waiting) == list(two.waiting)
