"""Turns do not depend on what is remembered, nor on the order in which workloads are told."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from trainwright.core.ids import AttemptId
from trainwright.core.node import Device, Node
from trainwright.core.resources import Resources
from trainwright.core.snapshot import ClusterSnapshot, nodes_of, workloads_of
from trainwright.core.workload import Contract, Preemption, Standing, Workload, single
from trainwright.sched.memory import Memory
from trainwright.sched.policy import DEFAULT_POLICY
from trainwright.sched.room import Room
from trainwright.sched.round import after, schedule

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
JOBS = st.lists(
    st.tuples(
        st.sampled_from([1, 2, 3, 4]),
        st.one_of(st.none(), st.integers(1, 9000)),
        st.sampled_from([0, 1]),
        st.booleans(),
    ),
    min_size=1,
    max_size=25,
)


def _node(name: str) -> Node:
    total = Resources(cpu_milli=64_000, gpu_milli=4000)
    return Node(name, total, total, tuple(Device(i, "H100", 1 << 36, free_vram_bytes=1 << 36) for i in range(4)))


def _workload(i: int, gpus: int, expected_s: int | None, priority: int, *, sliced: bool) -> Workload:
    kind = Preemption.TIME_SLICED if sliced else Preemption.BY_PRIORITY
    contract = Contract(kind, restart_cost_s=0.0, expected_s=expected_s, kin=f"kin-{gpus}")
    asked = single(Resources(cpu_milli=1000, gpu_milli=gpus * 1000))
    return Workload(
        AttemptId(f"a{i}"), f"a{i}", asked, NOW + timedelta(seconds=i), (i, 0), priority=priority, contract=contract
    )


@settings(max_examples=25, deadline=None)
@given(jobs=JOBS, seed=st.integers(0, 9))
def test_turns_are_the_same_with_a_memory_without_one_and_in_any_order(jobs: list, seed: int) -> None:
    snapshot = ClusterSnapshot(nodes_of(_node("m"), _node("n")))
    memory, now = Memory(), NOW
    for i, (gpus, expected_s, priority, sliced) in enumerate(jobs):
        new = _workload(i, gpus, expected_s, priority, sliced=sliced)
        snapshot = replace(snapshot, pending=snapshot.pending.plus({new.attempt: new}))
        now += timedelta(seconds=50)
        for _ in range(20):
            decided = schedule(snapshot, DEFAULT_POLICY, now, memory)
            assert decided == schedule(snapshot, DEFAULT_POLICY, now)
            assert decided == schedule(_shuffled(snapshot, Random(seed)), DEFAULT_POLICY, now)
            snapshot = after(snapshot, decided, now)
            sliced_out = [e.attempt for e in decided.evictions]
            assert all(
                snapshot.holding[e.attempt].priority <= snapshot.pending[e.beneficiary].priority
                for e in decided.evictions
                if e.beneficiary in snapshot.pending
            )
            if not sliced_out:
                break
            snapshot = _gone(snapshot, sliced_out, now)
        else:
            raise AssertionError("they are told to leave for ever")


def _shuffled(snapshot: ClusterSnapshot, chance: Random) -> ClusterSnapshot:
    pending, holding = list(snapshot.pending), list(snapshot.holding)
    chance.shuffle(pending)
    chance.shuffle(holding)
    return replace(snapshot, pending=workloads_of(*pending), holding=workloads_of(*holding))


def _gone(snapshot: ClusterSnapshot, attempts: list[AttemptId], now: datetime) -> ClusterSnapshot:
    room, back = Room(snapshot.nodes), {}
    for attempt in attempts:
        one = snapshot.holding[attempt]
        room.give(one.shape, one.standing.places)
        assert one.standing.started_at is not None
        served = one.standing.served_s + (now - one.standing.started_at).total_seconds()
        back[attempt] = replace(one, standing=Standing(served_s=served, preempted_at=(now,)))
    return replace(
        snapshot, nodes=room.nodes, pending=snapshot.pending.plus(back), holding=snapshot.holding.minus(attempts)
    )
