"""Reservations: the first in line that waits for much is not overtaken for ever by those who want little.

The first of a queue that does not fit and has waited ``Reserving.after_s`` gets a reservation.

* Where those who hold the room state their ends (``max_duration``), it has a time: the earliest at which the gang fits
  when everybody is gone by the stated end. Until then the room is used by whoever ends before (EASY backfill). Its
  time never moves back while ends are honoured, and it starts earlier wherever it fits.
* Where they state none, it collects: it chooses the places that are likely to be free first. What gets free on them is
  given to nobody but what is killed within ``Reserving.fill_s``; once nobody is left there but such, it has a time. So
  the gang starts no later than ``fill_s`` after the last of those has ended who held its places when it got them.

The places are kept from round to round as a claim, so that nobody of its priority takes them, whatever the order of
turns. What could not be had within ``Reserving.collect_s`` is let go, and places are chosen anew. Work that does not
touch the reserved room passes at once, and a higher priority is not bound by a reservation.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from trainwright.core.decision import Claim
from trainwright.core.node import Node, give, take
from trainwright.core.quantity import show_duration
from trainwright.core.reasons import Reason, ReasonCode
from trainwright.core.resources import Resources
from trainwright.core.workload import Assignment, Shape, Workload
from trainwright.sched.draft import Draft, Reservation
from trainwright.sched.gang import find_places
from trainwright.sched.gathering import Gathering
from trainwright.sched.room import Room
from trainwright.sched.victims import leaves_at, seconds_between

MOST_ENDS = 4096
"""So many of the next ends are looked at; a gang that needs more of them gets no reservation yet."""

SHORTEST_S = 600.0
"""Who has just begun is expected to run so long when nobody knows."""


@dataclass(frozen=True, slots=True)
class End:
    """When somebody gives room back.

    Attributes:
        at: the latest, where it is stated, which may be past; else when that is likely.
        gone: holds nothing but what it gives back.
    """

    at: datetime
    is_stated: bool
    gone: Workload


def reserve(workload: Workload, draft: Draft) -> Reservation | None:
    """Reserve room for one that does not fit now, when it has waited long enough; None when it gets none."""
    policy = draft.policy.reserving
    for known in draft.reservations:
        if known.holder.attempt == workload.attempt:
            return known
    due = workload.queued_at + timedelta(seconds=policy.after_s)
    if due > draft.now:
        draft.wake(due)
        return None
    is_full = len(draft.reservations) >= policy.most
    if is_full or any(known.holder.queue == workload.queue for known in draft.reservations):
        return None
    ends = _ends(draft)
    made = _timed(workload, [end for end in ends if end.is_stated], draft) or _collecting(workload, ends, draft)
    if made is not None:
        draft.reservations.append(made)
        draft.claims.append(Claim(workload.attempt, made.places, collects=True))
    return made


def keep_collecting(workload: Workload, draft: Draft) -> None:
    """Go on collecting the room that an earlier round has chosen, when all who are on it may still go."""
    standing, policy = workload.standing, draft.policy.reserving
    if standing.claimed_at is not None:
        until = standing.claimed_at + timedelta(seconds=policy.collect_s)
        if until <= draft.now:
            return
        draft.wake(until)
    then = _once_free(workload.shape, standing.claim, draft)
    if then is not None and len(draft.reservations) < policy.most:
        draft.reservations.append(Reservation(workload, standing.claim, *then))
        draft.claims.append(Claim(workload.attempt, standing.claim, collects=True))


def would_delay(workload: Workload, places: tuple[Assignment, ...], draft: Draft) -> Reason | None:
    """Return the reservation that these places would delay; None when they delay nobody.

    In that case they are counted as taken.
    """
    binding = _binding(workload, draft)
    for reservation in binding:
        if any(node.is_over for node in _taken(reservation, workload, places).values()):
            return _behind(reservation, draft)
    for reservation in binding:
        reservation.left.update(_taken(reservation, workload, places))
    return None


def find_beside(shape: Shape, workload: Workload, draft: Draft) -> tuple[Assignment, ...] | None:
    """Return places that delay nobody; None when there are none."""
    narrow: dict[str, Node] = {}
    for reservation in _binding(workload, draft):
        for name, node in reservation.left.items():
            narrow[name] = _narrower(narrow.get(name, draft.room[name]), node)
    return find_places(shape, Room(draft.room.nodes.plus(narrow)))


# what binds whom


def _binding(workload: Workload, draft: Draft) -> list[Reservation]:
    """Return the reservations that it must leave alone: those of others that it does not outrank, if it stays on."""
    most_s = workload.contract.most_s
    found = []
    for reservation in draft.reservations:
        if reservation.holder.attempt == workload.attempt or reservation.holder.priority < workload.priority:
            continue
        if most_s is not None:
            within = draft.policy.reserving.fill_s
            if reservation.at is not None:
                within = seconds_between(draft.now, reservation.at)
            if most_s <= within:
                continue
        found.append(reservation)
    return found


def _behind(reservation: Reservation, draft: Draft) -> Reason:
    at, before = "the end of those who hold its room", f"within {show_duration(draft.policy.reserving.fill_s)}"
    if reservation.at is not None:
        at, before = reservation.at.isoformat(), "before then"
    evidence = {"holder": reservation.holder.label, "at": at, "before": before}
    return Reason(ReasonCode.BEHIND_RESERVATION, dict(evidence))


def _taken(reservation: Reservation, workload: Workload, places: Iterable[Assignment]) -> dict[str, Node]:
    """Return those reserved nodes that these places touch, with what is left on them then."""
    found: dict[str, Node] = {}
    for place in places:
        node = found.get(place.node) or reservation.left.get(place.node)
        if node is not None:
            found[place.node] = take(node, workload.shape.pod_sets[place.pod_set].asked, place.devices)
    return found


def _narrower(one: Node, other: Node) -> Node:
    """Return the node with no more free, of each kind and on each device, than either of the two."""
    free = Resources(
        cpu_milli=min(one.free.cpu_milli, other.free.cpu_milli),
        memory_bytes=min(one.free.memory_bytes, other.free.memory_bytes),
        gpu_milli=min(one.free.gpu_milli, other.free.gpu_milli),
    )
    devices = tuple(
        replace(
            a, free_milli=min(a.free_milli, b.free_milli), free_vram_bytes=min(a.free_vram_bytes, b.free_vram_bytes)
        )
        for a, b in zip(one.devices, other.devices, strict=True)
    )
    return replace(one, free=free, devices=devices)


# making one


def _ends(draft: Draft) -> list[End]:
    """Return when everybody who holds room is gone, soonest first."""
    leaving = {one.attempt for one in draft.giving}
    found = []
    for one in draft.giving:
        at = leaves_at(one)
        likely = at or draft.now + timedelta(seconds=one.contract.grace_s)
        found.append(End(likely, is_stated=at is not None, gone=one))
    placed = {p.attempt: p.places for p in draft.placements}
    found += [_end_of(one, draft.now) for one in draft.snapshot.holding if one.attempt not in leaving]
    for attempt, places in placed.items():
        one = draft.snapshot.pending[attempt]
        standing = replace(one.standing, places=places, started_at=draft.now)
        found.append(_end_of(replace(one, standing=standing), draft.now))
    return sorted(found, key=lambda end: (end.at, end.gone.attempt))


def _end_of(one: Workload, now: datetime) -> End:
    """Return the stated end, or a guess: as expected, else as long again as it has run."""
    contract, began = one.contract, one.standing.started_at or now
    if contract.most_s is not None:
        return End(began + timedelta(seconds=contract.most_s), is_stated=True, gone=one)
    ran = seconds_between(began, now)
    rest = max(SHORTEST_S, ran)
    if contract.expected_s is not None and contract.expected_s > ran:
        rest = contract.expected_s - ran
    return End(now + timedelta(seconds=rest), is_stated=False, gone=one)


def _timed(workload: Workload, ends: list[End], draft: Draft) -> Reservation | None:
    """Return the reservation for the earliest time at which it fits by stated ends alone."""
    found = _gather(workload, ends, draft)
    if found is None:
        return None
    at, places, room = found
    room.take(workload.shape, places)
    return Reservation(workload, places, at, {place.node: room[place.node] for place in places})


def _collecting(workload: Workload, ends: list[End], draft: Draft) -> Reservation | None:
    """Return the reservation of what is likely to be free first."""
    found = _gather(workload, ends, draft)
    then = None if found is None else _once_free(workload.shape, found[1], draft)
    return None if found is None or then is None else Reservation(workload, found[1], *then)


def _gather(workload: Workload, ends: list[End], draft: Draft) -> tuple[datetime, tuple[Assignment, ...], Room] | None:
    """Return when and where it fits if these end one after the other, and the room that there is then."""
    room = Room(draft.room.nodes)
    for known in draft.reservations:
        room.take(known.holder.shape, known.places)
    gathering = Gathering(workload.shape, room)
    for end in ends[:MOST_ENDS]:
        gathering.give(end.gone)
        if gathering.fits():
            places = gathering.places()
            if places is not None and draft.ledger.would_fit(workload, [end.gone for end in ends]):
                return end.at, places, gathering.room
    return None


def _once_free(
    shape: Shape, places: tuple[Assignment, ...], draft: Draft
) -> tuple[datetime | None, dict[str, Node]] | None:
    """Return when those who stand in the way at these places are gone, if all of them say, and the nodes as of then.

    None when the places would not be free then either.
    """
    nodes = {place.node for place in places}
    if not all(node in draft.room and draft.room[node].ready for node in nodes):
        return None
    room = Room(draft.room.nodes)
    room.take(shape, places)
    left = {name: room[name] for name in nodes}
    ends: list[End] = []
    on: dict[str, list[tuple[End, Assignment]]] = {}
    for end in _ends(draft):
        for place in end.gone.standing.places:
            if place.node in nodes:
                on.setdefault(place.node, []).append((end, place))
    for name in nodes:
        mine = {device for place in places if place.node == name for device in place.devices}
        there = sorted(on.get(name, ()), key=lambda pair: (not mine & set(pair[1].devices), not pair[0].is_stated))
        for end, place in there:
            if left[name].is_over:
                left[name] = give(left[name], end.gone.shape.pod_sets[place.pod_set].asked, place.devices)
                ends.append(end)
    if any(node.is_over for node in left.values()):
        return None
    return (max((e.at for e in ends), default=draft.now) if all(e.is_stated for e in ends) else None), left
