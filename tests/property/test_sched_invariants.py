"""Scheduler invariants over random clusters."""

from collections import Counter
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from build import GI, NOW, asks, cluster, node, workload
from trainwright.core.decision import Placement, Round
from trainwright.core.node import Node, take
from trainwright.core.reasons import ReasonCode
from trainwright.core.snapshot import ClusterSnapshot
from trainwright.core.workload import Assignment, Workload
from trainwright.sched.gang import never_fits
from trainwright.sched.invariants import broken
from trainwright.sched.policy import DEFAULT_POLICY
from trainwright.sched.round import schedule

SHARES = st.sampled_from([0, 0, 0, 0.001, 0.25, 0.333, 0.5, 0.999, 1, 1, 2, 3])


@st.composite
def works(draw: st.DrawFn, name: str) -> Workload:
    gpus = draw(SHARES)
    return workload(
        name,
        cpu=draw(st.sampled_from([0, 0.1, 1, 2, 3.5, 9])),
        memory_gi=draw(st.sampled_from([0, 0, 0.5, 4, 11, 40])),
        gpus=gpus,
        vram_gi=draw(st.sampled_from([0, 0, 1, 8, 12, 24])) if gpus else 0,
        run=draw(st.integers(1, 3)),
        position=draw(st.integers(0, 2)),
    )


@st.composite
def machines(draw: st.DrawFn, name: str) -> Node:
    cards = draw(st.lists(st.sampled_from([8, 16, 23.5, 24]), max_size=4))
    return node(name, cpu=draw(st.integers(1, 8)), memory_gi=draw(st.integers(1, 32)), cards_gi=cards)


@st.composite
def worlds(draw: st.DrawFn) -> ClusterSnapshot:
    """Some machines; on the first, what an earlier round has placed goes on."""
    nodes = tuple(draw(machines(f"n{i}")) for i in range(draw(st.integers(1, 3))))
    before = tuple(draw(works(f"h{i}")) for i in range(draw(st.integers(0, 4))))
    placed_before = decide(cluster(*before, nodes=nodes[:1])).placements
    given_before = {p.attempt: p.places[0].devices for p in placed_before}
    holding = tuple(workload_with(w, given_before[w.attempt]) for w in before if w.attempt in given_before)
    pending = tuple(draw(works(f"w{i}")) for i in range(draw(st.integers(0, 8))))
    return cluster(*pending, nodes=nodes, holding=holding)


def workload_with(held: Workload, devices: tuple[int, ...]) -> Workload:
    return replace(held, standing=replace(held.standing, places=(Assignment("n0", devices),)))


def decide(snapshot: ClusterSnapshot) -> Round:
    return schedule(snapshot, DEFAULT_POLICY, NOW)


def used(snapshot: ClusterSnapshot, placements: list[Placement]) -> Counter[tuple[str, str, int]]:
    """Sum up what is given away of each node and card, in a way of its own."""
    asked = {w.attempt: w.shape.pod_sets[0].asked for w in (*snapshot.pending, *snapshot.holding)}
    given_away = [(a.node, asked[w.attempt], a.devices) for w in snapshot.holding for a in w.standing.places]
    given_away += [(a.node, asked[p.attempt], a.devices) for p in placements for a in p.places]
    total: Counter[tuple[str, str, int]] = Counter()
    for name, want, devices in given_away:
        total[name, "cpu", 0] += want.cpu_milli
        total[name, "memory", 0] += want.memory_bytes
        cards = {d.index: d for n in snapshot.nodes if n.name == name for d in n.devices}
        for index in devices:
            whole = want.gpu_milli >= 1000
            total[name, "card", index] += 1000 if whole else want.gpu_milli
            part = want.vram_bytes or cards[index].vram_bytes * want.gpu_milli // 1000
            total[name, "vram", index] += cards[index].vram_bytes if whole else part
    return total


@given(worlds())
@settings(max_examples=200, deadline=None)
def test_no_node_and_no_card_is_given_away_beyond_what_it_has(snapshot: ClusterSnapshot) -> None:
    placements = list(decide(snapshot).placements)
    total = used(snapshot, placements)
    for machine in snapshot.nodes:
        assert total[machine.name, "cpu", 0] <= machine.total.cpu_milli
        assert total[machine.name, "memory", 0] <= machine.total.memory_bytes
        for card in machine.devices:
            assert total[machine.name, "card", card.index] <= 1000
            assert total[machine.name, "vram", card.index] <= card.vram_bytes
    assert broken(snapshot, tuple(placements)) == ()


@given(worlds())
@settings(max_examples=100, deadline=None)
def test_every_pending_workload_has_one_decision_and_every_no_has_numbers(snapshot: ClusterSnapshot) -> None:
    decided = decide(snapshot)
    words = Counter([*(p.attempt for p in decided.placements), *decided.waiting])
    assert words == Counter(w.attempt for w in snapshot.pending)
    assert decide(snapshot) == decided
    for reason in decided.waiting.values():
        assert reason.code in {ReasonCode.WAITING_FOR_CAPACITY, ReasonCode.NEVER_FITS}
        assert "asked" in str(reason.evidence["shortfall"])
        assert "?" not in reason.sentence()


@given(worlds())
@settings(max_examples=100, deadline=None)
def test_who_is_refused_for_now_fits_an_empty_world_and_who_never_fits_does_not(snapshot: ClusterSnapshot) -> None:
    nodes = tuple(snapshot.nodes)
    for attempt, reason in decide(snapshot).waiting.items():
        alone = never_fits(snapshot.pending[attempt].shape, nodes)
        assert (alone is None) == (reason.code is ReasonCode.WAITING_FOR_CAPACITY)


@given(worlds())
@settings(max_examples=100, deadline=None)
def test_what_a_round_decided_is_found_broken_once_somebody_else_took_the_room(snapshot: ClusterSnapshot) -> None:
    placements = decide(snapshot).placements
    first = snapshot.nodes["n0"]
    room = asks(first.total.cpu_milli / 1000, first.total.memory_bytes / GI)
    robbed = replace(snapshot, nodes=snapshot.nodes.plus({"n0": take(first, room, ())}))
    needs = {
        p.attempt for p in placements
        if p.places[0].node == "n0" and snapshot.pending[p.attempt].shape.pod_sets[0].asked.cpu_milli
    }  # fmt: skip
    assert needs <= {p.attempt for p in broken(robbed, placements)}
