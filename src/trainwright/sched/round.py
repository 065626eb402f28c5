"""One scheduling round. World in, decisions out: no clock, no chance, no memory that would decide anything."""

from dataclasses import replace
from datetime import datetime

from trainwright.core.decision import Round
from trainwright.core.ids import AttemptId
from trainwright.core.reasons import Reason
from trainwright.core.snapshot import ClusterSnapshot
from trainwright.core.workload import Shape, Workload
from trainwright.sched.draft import Draft
from trainwright.sched.gang import find_places, lack_of_room, never_fits
from trainwright.sched.memory import Memory
from trainwright.sched.order import turns
from trainwright.sched.policy import Policy
from trainwright.sched.room import Room


def schedule(snapshot: ClusterSnapshot, policy: Policy, now: datetime, memory: Memory | None = None) -> Round:
    """Decide for every pending workload: it starts, or it waits for a reason. Same snapshot, same decisions.

    A workload that does not fit now is passed by later ones that do. ``memory`` of earlier rounds of the same caller
    makes it faster and changes nothing.
    """
    draft = Draft(snapshot, policy, now, memory or Memory(), Room(snapshot.nodes))
    refused: dict[Shape, Reason] = {}  # room only shrinks within a round: what did not fit once never does again
    holders = sorted(workload.label for workload in snapshot.holding)
    for workload in turns(draft):
        reason = refused.get(workload.shape) or never_fits(workload.shape, snapshot.nodes)
        places = None if reason else find_places(workload.shape, draft.room)
        if places is not None:
            draft.place(workload, places)
            holders.append(workload.label)
            continue
        refused[workload.shape] = reason = reason or lack_of_room(workload.shape, draft.room, holders)
        draft.refuse((workload,), reason)
    return draft.finish()


def after(snapshot: ClusterSnapshot, decided: Round, now: datetime) -> ClusterSnapshot:
    """Return the world once these decisions are carried out, and nothing else has happened.

    Who is told to leave is still there and is leaving.
    """
    room = Room(snapshot.nodes)
    started: dict[AttemptId, Workload] = {}
    for placement in decided.placements:
        workload = snapshot.pending[placement.attempt]
        room.take(workload.shape, placement.places)
        standing = replace(workload.standing, places=placement.places, started_at=now, claim=())
        started[placement.attempt] = replace(workload, standing=standing)
    leaving = {}
    for eviction in decided.evictions:
        workload = snapshot.holding[eviction.attempt]
        leaving[workload.attempt] = replace(workload, standing=replace(workload.standing, leaving=True))
    claiming = {}
    for claim in decided.claims:
        workload = snapshot.pending[claim.attempt]
        claiming[claim.attempt] = replace(workload, standing=replace(workload.standing, claim=claim.places))
    return replace(
        snapshot,
        nodes=room.nodes,
        pending=snapshot.pending.plus(claiming).minus(started),
        holding=snapshot.holding.plus({**leaving, **started}),
    )
