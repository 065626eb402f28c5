"""Those who share a queue by time take turns, and nobody else is touched."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from trainwright.core.decision import Round
from trainwright.core.ids import AttemptId
from trainwright.core.node import Device, Node
from trainwright.core.queue import QueueName
from trainwright.core.reasons import ReasonCode
from trainwright.core.resources import Resources
from trainwright.core.snapshot import ClusterSnapshot, nodes_of, workloads_of
from trainwright.core.workload import Assignment, Contract, Preemption, Standing, Workload, single
from trainwright.sched.policy import DEFAULT_POLICY
from trainwright.sched.room import Room, occupied
from trainwright.sched.round import after, schedule

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def _node(name: str, gpus: int) -> Node:
    total = Resources(cpu_milli=64_000, gpu_milli=gpus * 1000)
    return Node(name, total, total, tuple(Device(i, "H100", 1 << 36, free_vram_bytes=1 << 36) for i in range(gpus)))


def _one(name: str, gpus: int, expected_s: float | None, cost_s: float = 0.0) -> Workload:
    contract = Contract(Preemption.TIME_SLICED, restart_cost_s=cost_s, expected_s=expected_s, grace_s=0.0)
    asked = Resources(cpu_milli=1000, gpu_milli=gpus * 1000)
    return Workload(AttemptId(name), name, single(asked), NOW, contract=contract)


def _on(one: Workload, node: str, *devices: int, for_s: float = 60.0) -> Workload:
    return replace(one, standing=Standing((Assignment(node, devices),), NOW - timedelta(seconds=for_s)))


def _decided(nodes: tuple[Node, ...], holding: list[Workload], pending: list[Workload]) -> Round:
    left = occupied(nodes, holding)
    snapshot = ClusterSnapshot(left, workloads_of(*pending), workloads_of(*holding))
    return schedule(snapshot, DEFAULT_POLICY, NOW)


def test_the_shorter_one_takes_the_room_and_the_longer_one_waits_for_its_turn() -> None:
    decided = _decided(
        (_node("n", 1),), [_on(_one("long", 1, 9000), "n", 0)], [_one("short", 1, 60), _one("mid", 1, 600)]
    )
    assert [(e.attempt, e.beneficiary, e.reason.code) for e in decided.evictions] == [
        ("long", "short", ReasonCode.TIME_SLICED)
    ]
    assert decided.waiting[AttemptId("mid")].code is ReasonCode.WAITING_FOR_TIME_SLICE
    assert "gave its room to short" in decided.evictions[0].reason.sentence()


def test_who_restarts_dearly_first_runs_for_thirty_restarts() -> None:
    running = _on(_one("long", 1, 90_000, cost_s=60.0), "n", 0, for_s=600)
    waits = _decided((_node("n", 1),), [running], [_one("short", 1, 60, cost_s=60.0)])
    assert (waits.evictions, waits.wake_at) == ((), NOW + timedelta(seconds=1200))
    settled = _on(_one("long", 1, 90_000, cost_s=60.0), "n", 0, for_s=1800)
    assert len(_decided((_node("n", 1),), [settled], [_one("short", 1, 60, cost_s=60.0)]).evictions) == 1


def test_nobody_else_is_told_to_leave() -> None:
    nodes = (_node("n", 3),)
    others = [
        _on(replace(_one("important", 1, 90_000), priority=5), "n", 0),
        _on(replace(_one("of-others", 1, 90_000), queue=QueueName("others")), "n", 1),
        _on(replace(_one("unsliced", 1, 90_000), contract=Contract(expected_s=90_000)), "n", 2),
    ]
    decided = _decided(nodes, others, [_one("short", 1, 1)])
    assert decided.evictions == ()
    assert set(decided.waiting) == {"short"}


def test_one_that_can_never_fit_says_so() -> None:
    decided = _decided((_node("n", 1),), [], [_one("huge", 8, 1), _one("small", 1, 10)])
    assert decided.waiting[AttemptId("huge")].code is ReasonCode.NEVER_FITS
    assert [p.attempt for p in decided.placements] == ["small"]


def test_what_fits_in_number_and_not_in_pieces_moves_others_together() -> None:
    nodes = (_node("a", 2), _node("b", 2))
    holding = [_on(_one("x", 1, 10), "a", 0), _on(_one("y", 1, 10), "b", 0)]
    decided = _decided(nodes, holding, [_one("pair", 2, 10)])
    assert len(decided.evictions) == 1


def test_in_a_busy_queue_of_short_ones_a_long_one_ends() -> None:
    """One GPU, a job of 10 s every 10 s, and one of 100 s: it is owed a part of the time once it is overdue."""
    policy = replace(
        DEFAULT_POLICY,
        slicing=replace(DEFAULT_POLICY.slicing, floor_after_s=500.0, critical=1e9, floor_backlogs=0.0, floor=1 / 8),
    )
    snapshot = ClusterSnapshot(nodes_of(_node("n", 1)), workloads_of(_one("long", 1, 100)))
    now, came, done = NOW, 0, set()
    for _ in range(400):
        ended = [w for w in snapshot.holding if _left(w, now) <= 0]
        evicted_room = Room(snapshot.nodes)
        for one in ended:
            evicted_room.give(one.shape, one.standing.places)
            done.add(one.attempt)
        if "long" in done:
            break
        snapshot = replace(
            snapshot, nodes=evicted_room.nodes, holding=snapshot.holding.minus([one.attempt for one in ended])
        )
        while NOW + timedelta(seconds=10 * came) <= now:
            new = replace(_one(f"s{came}", 1, 10), queued_at=now)
            snapshot = replace(snapshot, pending=snapshot.pending.plus({new.attempt: new}))
            came += 1
        for _ in range(9):
            decided = schedule(snapshot, policy, now)
            snapshot = after(snapshot, decided, now)
            if not decided.evictions:
                break
            snapshot = _gone(snapshot, [e.attempt for e in decided.evictions], now)
        now += timedelta(seconds=5)
    assert "long" in done


def _left(one: Workload, now: datetime) -> float:
    assert one.standing.started_at is not None
    assert one.contract.expected_s is not None
    return one.contract.expected_s - one.standing.served_s - (now - one.standing.started_at).total_seconds()


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
