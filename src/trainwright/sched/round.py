"""One scheduling round. World in, decisions out: no clock, no chance, no memory that would decide anything."""

from dataclasses import replace
from datetime import datetime

from trainwright.core.decision import Round
from trainwright.core.ids import AttemptId
from trainwright.core.reasons import Reason, ReasonCode
from trainwright.core.snapshot import ClusterSnapshot
from trainwright.core.workload import Shape, Workload
from trainwright.sched.admission import never, never_fits, not_admitted
from trainwright.sched.claims import keep_claims
from trainwright.sched.draft import Draft
from trainwright.sched.elastic import grow
from trainwright.sched.gang import find_places, lack_of_room
from trainwright.sched.last import Last
from trainwright.sched.memory import Memory
from trainwright.sched.order import Line
from trainwright.sched.permitted import permitted
from trainwright.sched.policy import Policy
from trainwright.sched.preempt import make_room
from trainwright.sched.reserve import find_beside, reserve, would_delay
from trainwright.sched.room import Room
from trainwright.sched.slices import slice_time


def schedule(snapshot: ClusterSnapshot, policy: Policy, now: datetime, memory: Memory | None = None) -> Round:
    """Decide for every pending workload: it starts, or it waits for a reason. Same snapshot, same decisions.

    A workload that does not fit now is passed by later ones that do. ``memory`` of earlier rounds of the same caller
    makes it faster and changes nothing.
    """
    memory = memory or Memory()
    last = memory.part(Last)
    known = last.again(snapshot, policy, now)
    if known is not None:
        return known
    draft = Draft(snapshot, policy, now, memory, Room(snapshot.nodes))
    keep_claims(draft)
    slice_time(draft)
    _turns(draft)
    grow(draft)
    return last.keep(snapshot, policy, now, draft.finish(), drifts=draft.drifts)


def _turns(draft: Draft) -> None:
    """Let everybody start who may, one after the other."""
    line = Line(draft)
    while (workload := line.next()) is not None:
        done = _done(draft)
        reason = _start(workload, draft)
        if reason is None:
            line.go_on()
        elif done != _done(draft) or reason.code is ReasonCode.WAITING_FOR_VICTIMS:
            draft.refuse(workload, reason)  # something is done for this one; the next like it may ask for it too
            line.go_on()
        else:
            draft.refuse(workload, reason, line.leave())


def _done(draft: Draft) -> tuple[int, ...]:
    return len(draft.evictions), len(draft.resizes), len(draft.claims), len(draft.reservations)


def _start(workload: Workload, draft: Draft) -> Reason | None:
    """Let it start, now or when its room is free; return why it waits."""
    reason = not_admitted(workload, draft)
    if reason is not None:
        return never(workload, draft) or reason
    lack = draft.ledger.refusal(workload)
    if lack is not None:
        never_placed = never_fits(workload, draft) or (lack if lack.code is ReasonCode.NEVER_WITHIN_QUOTA else None)
        return never_placed or make_room(workload, draft, lack)
    shape = permitted(workload, draft.ledger)
    places = None if shape in draft.no_room else find_places(shape, draft.room)
    if places is None:
        return _wait(workload, shape, draft)
    refused = draft.ledger.excess(workload, places) or would_delay(workload, places, draft)
    if refused is not None and refused.code is ReasonCode.BEHIND_RESERVATION:
        beside = find_beside(shape, workload, draft)
        if beside is not None:
            places, refused = beside, draft.ledger.excess(workload, beside) or would_delay(workload, beside, draft)
    if refused is None:
        draft.place(workload, places)
    return refused


def _wait(workload: Workload, shape: Shape, draft: Draft) -> Reason | None:
    """Return why there is no room for it, and do what can be done about that; None when it has found some."""
    impossible = never_fits(workload, draft)
    if impossible is not None:
        return impossible
    if shape not in draft.no_room:
        draft.no_room[shape] = lack_of_room(shape, draft.room, draft.holders())
    lack = draft.no_room[shape]
    reason = make_room(workload, draft, lack)
    reserved = reserve(workload, draft) if reason is lack else None
    if reserved is None:
        return reason
    at = "" if reserved.at is None else reserved.at.isoformat()
    nodes = sorted({place.node for place in reserved.places})
    return Reason(lack.code, {**lack.evidence, "reserved": ", ".join(nodes), "by": at})


def after(snapshot: ClusterSnapshot, decided: Round, now: datetime) -> ClusterSnapshot:
    """Return the world once these decisions are carried out, and nothing else has happened.

    Who is told to leave is still there and is leaving.
    """
    room = Room(snapshot.nodes)
    started: dict[AttemptId, Workload] = {}
    for placement in decided.placements:
        workload = snapshot.pending[placement.attempt]
        room.take(workload.shape, placement.places)
        standing = replace(
            workload.standing, places=placement.places, started_at=now, saved_at=None, claim=(), claimed_at=None
        )
        started[placement.attempt] = replace(workload, standing=standing)
    leaving = {}
    for eviction in decided.evictions:
        workload = snapshot.holding[eviction.attempt]
        told = (*workload.standing.preempted_at, now)
        standing = replace(workload.standing, leaving=True, told_at=now, preempted_at=told)
        leaving[workload.attempt] = replace(workload, standing=standing)
    for resize in decided.resizes:
        workload = snapshot.holding[resize.attempt]
        standing = replace(workload.standing, leaving=True, told_at=now, claim=resize.places, claimed_at=now)
        leaving[workload.attempt] = replace(workload, standing=standing)
    return replace(
        snapshot,
        nodes=room.nodes,
        pending=snapshot.pending.plus(_claiming(snapshot, decided, now)).minus(started),
        holding=snapshot.holding.plus({**leaving, **started}),
    )


def _claiming(snapshot: ClusterSnapshot, decided: Round, now: datetime) -> dict[AttemptId, Workload]:
    """Return those whose claim is another one than before, or none any more."""
    claims = {claim.attempt: claim.places for claim in decided.claims}
    changed = {}
    for attempt in {*claims, *(one.attempt for one in snapshot.pending if one.standing.claim)}:
        workload, places = snapshot.pending[attempt], claims.get(attempt, ())
        if workload.standing.claim != places:
            standing = replace(workload.standing, claim=places, claimed_at=now if places else None)
            changed[attempt] = replace(workload, standing=standing)
    return changed
