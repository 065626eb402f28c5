"""Making room: who is told to leave, for whom, and that nobody else takes the room meanwhile.

A claim is room that is held for one beneficiary from the moment its victims are told until it starts or gives up. It
is taken from the room of the round before anybody else is considered, so that a victim never gets its room back first.
"""

from collections.abc import Hashable, Iterable
from datetime import timedelta

from trainwright.core.decision import Claim, Eviction, Resize
from trainwright.core.quantity import show_duration
from trainwright.core.reasons import Reason, ReasonCode
from trainwright.core.scalar import Plain
from trainwright.core.workload import Assignment, Workload
from trainwright.sched.choosing import SHRINKS, Choice
from trainwright.sched.draft import Draft
from trainwright.sched.room import Room
from trainwright.sched.victims import Unit, Way, leaves_at, units_for, was_told

MOST_IN_VAIN = 256
"""So many kinds of claimants are looked at in one round for which nobody can be told to leave."""


def make_room(workload: Workload, draft: Draft, lack: Reason) -> Reason | None:
    """Tell the cheapest sufficient set to leave when that lets ``workload`` start; return why it waits now.

    None when it needs nothing but room that was held for somebody of a lower priority: then it has its place.
    """
    likes = _likes(workload, draft)
    if likes in draft.in_vain or len(draft.in_vain) >= MOST_IN_VAIN:
        return lack
    if draft.made_room >= draft.policy.preempting.most_at_once:
        draft.wake(draft.now + timedelta(seconds=1))
        return lack
    units = units_for(workload, draft)
    best = Choice(workload, draft, units).best() if units else None
    if best is None:
        draft.in_vain.add(likes)
        return lack
    chosen, places = best
    draft.made_room += 1
    for unit in chosen:
        _tell(unit, workload, draft)
    draft.let_go(workload)
    if is_free(workload, places, draft.room) and draft.ledger.excess(workload, places) is None:
        draft.place(workload, places)
        return None
    return claim(workload, places, draft)


def claim(workload: Workload, places: tuple[Assignment, ...], draft: Draft) -> Reason:
    """Hold these places for it; return why it waits."""
    draft.room.take(workload.shape, places)
    draft.ledger.charge(workload, places)
    draft.claims.append(Claim(workload.attempt, places))
    nodes = {place.node for place in places}
    waited_for = [one for one in draft.giving if nodes & {place.node for place in one.standing.places}]
    waited_for = waited_for or draft.giving  # what they give is quota
    ends = [leaves_at(one) or draft.now + timedelta(seconds=one.contract.grace_s) for one in waited_for]
    evidence: dict[str, Plain] = {
        "victims": [one.label for one in waited_for],
        "at": max(ends, default=draft.now).isoformat(),
    }
    return Reason(ReasonCode.WAITING_FOR_VICTIMS, evidence)


def is_free(workload: Workload, places: Iterable[Assignment], room: Room) -> bool:
    """Tell whether there is room at all of these places."""
    trial = Room(room.nodes)
    trial.take(workload.shape, places)
    return not any(trial[place.node].is_over for place in places)


def _tell(unit: Unit, beneficiary: Workload, draft: Draft) -> None:
    """Do what a unit says."""
    victim = unit.workload
    if unit.way is Way.CLAIM:
        draft.room.give(victim.shape, unit.gives)
        draft.ledger.discharge(victim, unit.gives)
        draft.let_go(victim)
        draft.no_room.clear()
        evidence = {"ahead": beneficiary.label, "why": "the room that was held for it goes to a higher priority"}
        draft.refuse(victim, Reason(ReasonCode.BEHIND, dict(evidence)))
        return
    draft.giving.append(unit.gone)
    if unit.way in SHRINKS:
        before, count = len(victim.standing.places), len(unit.keeps)
        why = f"room for {beneficiary.label}"
        reason = Reason(ReasonCode.RESIZED, {"count": count, "before": before, "why": why})
        draft.resizes.append(Resize(victim.attempt, unit.keeps, reason))
        return
    reason = Reason(
        unit.rule,
        {"beneficiary": beneficiary.label, "queue": beneficiary.queue, "lost": show_duration(unit.lost_s)},
    )
    draft.evictions.append(Eviction(victim.attempt, beneficiary.attempt, reason))


def _likes(workload: Workload, draft: Draft) -> Hashable:
    """Return what all have in common that would find the same victims."""
    told = was_told(workload, draft)
    return workload.queue, workload.priority, workload.shape, workload.contract.preemption, told
