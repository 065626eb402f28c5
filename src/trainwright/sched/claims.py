"""Claims of earlier rounds: kept, filled, or dropped."""

from collections import Counter

from trainwright.core.workload import Workload
from trainwright.sched.admission import not_admitted
from trainwright.sched.buckets import Buckets
from trainwright.sched.draft import Draft
from trainwright.sched.gang import find_places
from trainwright.sched.permitted import permitted
from trainwright.sched.preempt import claim, is_free
from trainwright.sched.reserve import keep_collecting, would_delay
from trainwright.sched.room import Room
from trainwright.sched.victims import coming, difference, holders


def keep_claims(draft: Draft) -> None:
    """Hold the room that earlier rounds made for somebody, before anybody else is considered.

    Who finds room now, there or elsewhere, starts. A claim is dropped, and its beneficiary considered like everybody
    else, when its room is not coming any more: a node was lost, a victim is stuck, its shape or its right has changed.
    """
    draft.giving.extend(coming(draft))
    _hold_resized(draft)
    future = Room(draft.room.nodes)
    for leaving in draft.giving:
        future.give(leaving.shape, (place for place in leaving.standing.places if place.node in future))
    kept = []
    for workload in _claimants(draft):
        if not _is_coming(workload, future):
            keep_collecting(workload, draft)
        elif _may_have(workload, draft):
            future.take(workload.shape, workload.standing.claim)
            draft.room.take(workload.shape, workload.standing.claim)
            draft.ledger.charge(workload, workload.standing.claim)
            kept.append(workload)
    for workload in kept:
        _start_or_hold(workload, draft)


def _claimants(draft: Draft) -> list[Workload]:
    """Return those who have a claim, in the order of their turns as far as that does not depend on shares."""
    buckets = draft.memory.part(Buckets).as_of(draft.snapshot.pending)
    found = [one for bucket in buckets if bucket.members[0].standing.claim for one in bucket.members]
    return sorted(found, key=lambda one: (-one.priority, one.standing.rank, one.queued_at, one.order, one.attempt))


def _is_coming(workload: Workload, future: Room) -> bool:
    """Tell whether its places are still there, are places for its shape, and will be free once victims are gone."""
    places = workload.standing.claim
    if not all(place.node in future and future[place.node].ready for place in places):
        return False
    counts = Counter(place.pod_set for place in places)
    sets = workload.shape.pod_sets
    if any(not pod_set.least <= counts.pop(i, 0) <= pod_set.count for i, pod_set in enumerate(sets)) or counts:
        return False
    return is_free(workload, places, future)


def _may_have(workload: Workload, draft: Draft) -> bool:
    return not_admitted(workload, draft) is None and draft.ledger.would_fit(workload, draft.giving)


def _start_or_hold(workload: Workload, draft: Draft) -> None:
    """Let it start where there is room by now, beside what is held for others; hold its room otherwise."""
    places = workload.standing.claim
    draft.room.give(workload.shape, places)
    draft.ledger.discharge(workload, places)
    if draft.ledger.lack(workload) is None:
        elsewhere = find_places(permitted(workload, draft.ledger), draft.room)
        there = places if is_free(workload, places, draft.room) else None
        for found in (there, elsewhere) if elsewhere is None or len(elsewhere) <= len(places) else (elsewhere, there):
            if found is not None and draft.ledger.excess(workload, found) is None:
                if found is not places and would_delay(workload, found, draft) is not None:
                    continue
                draft.place(workload, found)
                return
    draft.refuse(workload, claim(workload, places, draft))


def _hold_resized(draft: Draft) -> None:
    """Hold the room that those will have more who are leaving in order to go on elsewhere."""
    for workload in holders(draft).leaving:
        more = difference(workload.standing.claim, workload.standing.places)
        more = tuple(place for place in more if place.node in draft.room)
        draft.room.take(workload.shape, more)
        draft.ledger.charge(workload, more)
