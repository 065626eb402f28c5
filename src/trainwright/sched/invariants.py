"""What must hold whatever the policy decides; checked at every commit and by property tests."""

from collections import Counter
from collections.abc import Iterable, Iterator

from trainwright.core.decision import Eviction, Placement, Round
from trainwright.core.ids import AttemptId
from trainwright.core.reasons import ReasonCode
from trainwright.core.snapshot import ClusterSnapshot
from trainwright.core.workload import Assignment, Preemption, Shape, Standing, Workload
from trainwright.sched.memory import Memory
from trainwright.sched.quota import Ledger
from trainwright.sched.room import Room


def broken(
    snapshot: ClusterSnapshot, placements: Iterable[Placement], memory: Memory | None = None
) -> tuple[Placement, ...]:
    """Return the placements that no longer hold in ``snapshot``, in order; the others may be committed together.

    A placement holds when it is for a gang that waits, each replica has room where it is put, and quota allows it.
    """
    room = Room(snapshot.nodes)
    ledger = (memory or Memory()).part(Ledger).as_of(snapshot) if snapshot.queues else None
    placed: set[str] = set()
    bad: list[Placement] = []
    for placement in placements:
        workload, places = snapshot.pending.get(placement.attempt), placement.places
        if workload is None or placement.attempt in placed or not _may_take(workload.shape, places, room):
            bad.append(placement)
            continue
        if ledger is not None:
            if ledger.excess(workload, places) is not None:
                bad.append(placement)
                continue
            ledger.charge(workload, places)
        placed.add(placement.attempt)  # nobody is placed twice
        room.take(workload.shape, places)
    return tuple(bad)


def check(snapshot: ClusterSnapshot, decided: Round) -> tuple[str, ...]:
    """Return what is wrong with a round, a sentence each; empty when all invariants hold."""
    wrong = [f"{p.attempt} is placed where it cannot be" for p in broken(snapshot, decided.placements)]
    wrong += _undecided(snapshot, decided)
    wrong += _upward(snapshot, decided.evictions)
    wrong += _overtaken(snapshot, decided)
    wrong += _not_kept(snapshot, decided)
    wrong += _resized(snapshot, decided)
    return tuple(wrong)


def _undecided(snapshot: ClusterSnapshot, decided: Round) -> Iterator[str]:
    """Everybody who waits is placed or has a reason, and nobody else is."""
    words = Counter([*(p.attempt for p in decided.placements), *decided.waiting])
    yield from (f"{w.attempt} has {words[w.attempt]} decisions" for w in snapshot.pending if words[w.attempt] != 1)
    yield from (f"{attempt} does not wait" for attempt in words if attempt not in snapshot.pending)
    for reason in decided.waiting.values():
        if "?" in reason.sentence():
            yield f"a reason has gaps: {reason.sentence()}"


def _upward(snapshot: ClusterSnapshot, evictions: Iterable[Eviction]) -> Iterator[str]:
    """Nobody is told to leave who agreed not to be, or for somebody who is not more important.

    Two have that right without being more important: whose turn it is among those that share by time, and the owner of
    a guarantee that the victim's queue has borrowed.
    """
    ledger = Ledger().as_of(snapshot)
    seen: set[AttemptId] = set()
    for eviction in evictions:
        victim, gains = snapshot.holding.get(eviction.attempt), snapshot.pending.get(eviction.beneficiary)
        if victim is None or victim.standing.leaving or victim.attempt in seen:
            yield f"{eviction.attempt} is told to leave and holds nothing, or was told before"
            continue
        seen.add(victim.attempt)
        code, contract = eviction.reason.code, victim.contract.preemption
        if contract is Preemption.NEVER:
            yield f"{victim.attempt} is never told to leave, and was"
        if code is ReasonCode.TIME_SLICED and contract is not Preemption.TIME_SLICED:
            yield f"{victim.attempt} does not share by time"
        if code is ReasonCode.RECLAIMED and not ledger.borrowed(victim.queue):
            yield f"{victim.queue} has borrowed nothing that could be taken back from {victim.attempt}"
        if code is ReasonCode.PREEMPTED and (gains is None or gains.priority <= victim.priority):
            yield f"{victim.attempt} is told to leave for {eviction.beneficiary}, which is not more important"


def _overtaken(snapshot: ClusterSnapshot, decided: Round) -> Iterator[str]:
    """Of equals, none starts while a more important one waits."""
    best: dict[object, Workload] = {}
    for one in snapshot.pending:
        kind = (one.queue, one.shape, one.contract)
        if one.standing == Standing() and one.attempt in decided.waiting:
            before = best.get(kind)
            best[kind] = one if before is None or one.priority > before.priority else before
    for placement in decided.placements:
        placed = snapshot.pending.get(placement.attempt)
        if placed is None or placed.standing.claim:
            continue
        waits = best.get((placed.queue, placed.shape, placed.contract))
        if waits is not None and waits.priority > placed.priority:
            yield f"{placed.attempt} overtakes {waits.attempt}"


def _not_kept(snapshot: ClusterSnapshot, decided: Round) -> Iterator[str]:
    """Room that is held for somebody is given to nobody else: only those who leave may still be there.

    Room that is collected is not held against everybody: see ``sched.reserve``.
    """
    room = Room(snapshot.nodes)
    goes_on: dict[AttemptId, tuple[Assignment, ...]] = dict.fromkeys((e.attempt for e in decided.evictions), ())
    goes_on |= {resize.attempt: resize.places for resize in decided.resizes}
    for held in snapshot.holding:
        if held.standing.leaving or held.attempt in goes_on:
            room.give(held.shape, tuple(p for p in held.standing.places if p.node in room))
            stays = goes_on.get(held.attempt, held.standing.claim)
            room.take(held.shape, tuple(p for p in stays if p.node in room))
    placed = {p.attempt: p.places for p in decided.placements}
    claimed = {c.attempt: c.places for c in decided.claims if c.attempt not in placed and not c.collects}
    for attempt, places in {**placed, **claimed}.items():
        one = snapshot.pending.get(attempt)
        if one is None:
            yield f"room is held for {attempt}, which does not wait"
            continue
        known = tuple(p for p in places if p.node in room)
        before = {place.node for place in known if room[place.node].is_over}
        room.take(one.shape, known)
        if attempt in claimed and any(place.node not in before and room[place.node].is_over for place in known):
            yield f"room is held for {attempt} that is not there"


def _resized(snapshot: ClusterSnapshot, decided: Round) -> Iterator[str]:
    """Who goes on with other places has at least its minimum, at most what it wanted, and leaves nobody short."""
    room = Room(snapshot.nodes)
    for placement in decided.placements:
        one = snapshot.pending.get(placement.attempt)
        if one is not None:
            room.take(one.shape, (p for p in placement.places if p.node in room))
    for resize in decided.resizes:
        held = snapshot.holding.get(resize.attempt)
        if held is None or held.standing.leaving:
            yield f"{resize.attempt} holds nothing that could be resized"
            continue
        room.give(held.shape, (p for p in held.standing.places if p.node in room))
        if not _may_take(held.shape, resize.places, room):
            yield f"{resize.attempt} goes on where it cannot"
        room.take(held.shape, (p for p in resize.places if p.node in room))


def _may_take(shape: Shape, places: tuple[Assignment, ...], room: Room) -> bool:
    """Tell whether these are places for a gang that may run, and there is room on every one."""
    counts = Counter(place.pod_set for place in places)
    if not all(p.least <= counts[i] <= p.count for i, p in enumerate(shape.pod_sets)):
        return False
    if not counts.keys() <= set(range(len(shape.pod_sets))):
        return False
    if not all(place.node in room and room[place.node].ready and _are_devices(shape, place, room) for place in places):
        return False
    trial = room.copy()
    trial.take(shape, places)
    return not any(trial[place.node].is_over for place in places)


def _are_devices(shape: Shape, place: Assignment, room: Room) -> bool:
    """Tell whether these are as many different devices of the node, of a model it can use, as were asked for."""
    pod_set, devices = shape.pod_sets[place.pod_set], place.devices
    known = {d.index for d in room[place.node].devices if not pod_set.models or d.model in pod_set.models}
    return len(devices) == len(set(devices)) == pod_set.asked.devices and set(devices) <= known
