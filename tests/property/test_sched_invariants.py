"""Scheduler invariants over random clusters."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from build import GI, cluster, node, workload
from trainwright.core.node import Node
from trainwright.core.reasons import ReasonCode
from trainwright.core.workload import ClusterSnapshot, Placement, Refusal, Workload
from trainwright.sched.invariants import broken
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
    given_before = {
        d.attempt: d.devices for d in schedule(cluster(*before, nodes=nodes[:1])) if isinstance(d, Placement)
    }
    holding = tuple(
        workload_with(w, given_before[w.attempt]) for w in before if w.attempt in given_before
    )  # fmt: skip
    pending = tuple(draw(works(f"w{i}")) for i in range(draw(st.integers(0, 8))))
    return cluster(*pending, nodes=nodes, holding=holding)


def workload_with(held: Workload, devices: tuple[int, ...]) -> Workload:
    return Workload(held.attempt, held.label, held.asked, held.run_number, held.position, held.queued_at, devices)


def used(snapshot: ClusterSnapshot, placements: list[Placement]) -> Counter[tuple[str, str, int]]:
    """Sum up what is given away of each node and card, in a way of its own."""
    asked = {w.attempt: w.asked for w in snapshot.pending}
    given_away = [(snapshot.nodes[0].name, w.asked, w.devices) for w in snapshot.holding]
    given_away += [(p.node, asked[p.attempt], p.devices) for p in placements]
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
    placements = [d for d in schedule(snapshot) if isinstance(d, Placement)]
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
    decided = schedule(snapshot)
    assert Counter(d.attempt for d in decided) == Counter(w.attempt for w in snapshot.pending)
    assert schedule(snapshot) == decided
    for refusal in decided:
        if isinstance(refusal, Refusal):
            code = refusal.reason.code
            assert code in {ReasonCode.WAITING_FOR_CAPACITY, ReasonCode.NEVER_FITS}
            assert "asked" in str(refusal.reason.evidence["shortfall"])
            assert "?" not in refusal.reason.sentence()


@given(worlds())
@settings(max_examples=100, deadline=None)
def test_who_is_refused_for_now_fits_an_empty_world_and_who_never_fits_does_not(snapshot: ClusterSnapshot) -> None:
    pending = {w.attempt: w for w in snapshot.pending}
    for refusal in schedule(snapshot):
        if isinstance(refusal, Refusal):
            alone = schedule(cluster(pending[refusal.attempt], nodes=snapshot.nodes))[0]
            assert isinstance(alone, Placement) == (refusal.reason.code is ReasonCode.WAITING_FOR_CAPACITY)


@given(worlds())
@settings(max_examples=100, deadline=None)
def test_what_a_round_decided_is_found_broken_once_somebody_else_took_the_room(snapshot: ClusterSnapshot) -> None:
    placements = tuple(d for d in schedule(snapshot) if isinstance(d, Placement))
    first = snapshot.nodes[0]
    taken = workload("thief", cpu=first.total.cpu_milli / 1000, memory_gi=first.total.memory_bytes / GI)
    robbed = ClusterSnapshot(snapshot.nodes, snapshot.pending, (*snapshot.holding, taken))
    asked = {w.attempt: w.asked for w in snapshot.pending}
    needs = {p.attempt for p in placements if p.node == first.name and asked[p.attempt].cpu_milli}
    assert needs <= {p.attempt for p in broken(robbed, placements)}
