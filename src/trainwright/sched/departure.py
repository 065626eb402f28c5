"""The world once those who hold room have left it: at their end, or because they were told to."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta

from trainwright.core.ids import AttemptId
from trainwright.core.snapshot import ClusterSnapshot
from trainwright.core.workload import Standing, Workload
from trainwright.sched.policy import Policy
from trainwright.sched.room import Room
from trainwright.sched.victims import seconds_between


def ended(snapshot: ClusterSnapshot, attempts: Iterable[AttemptId]) -> ClusterSnapshot:
    """Return the world without these, and with their room free."""
    gone = sorted(set(attempts))
    room = Room(snapshot.nodes)
    for attempt in gone:
        _give_back(snapshot.holding[attempt], room)
    return replace(snapshot, nodes=room.nodes, holding=snapshot.holding.minus(gone))


def left(snapshot: ClusterSnapshot, attempts: Iterable[AttemptId], policy: Policy, now: datetime) -> ClusterSnapshot:
    """Return the world once these, who were told to leave, are gone.

    A resized one goes on in its new places; others wait again, and cool down first.
    """
    room = Room(snapshot.nodes)
    again, on = {}, {}
    for attempt in sorted(set(attempts)):
        workload = snapshot.holding[attempt]
        _give_back(workload, room)
        if workload.standing.claim:
            on[attempt] = goes_on = replace(workload, standing=_goes_on(workload, now))
            room.take(goes_on.shape, (place for place in goes_on.standing.places if place.node in room))
        else:
            again[attempt] = replace(workload, standing=_waits_again(workload, policy, now))
    holding = snapshot.holding.plus(on).minus(again)
    return replace(snapshot, nodes=room.nodes, pending=snapshot.pending.plus(again), holding=holding)


def _give_back(workload: Workload, room: Room) -> None:
    room.give(workload.shape, (place for place in workload.standing.places if place.node in room))


def _goes_on(workload: Workload, now: datetime) -> Standing:
    before = workload.standing
    served = before.served_s + seconds_between(before.started_at, now)
    return Standing(
        places=before.claim, started_at=now, served_s=served, preempted_at=before.preempted_at, rank=before.rank
    )


def _waits_again(workload: Workload, policy: Policy, now: datetime) -> Standing:
    before = workload.standing
    served = before.served_s + seconds_between(before.started_at, now)
    after = now + timedelta(seconds=policy.preempting.cool_down_s)
    return Standing(served_s=served, preempted_at=before.preempted_at, not_before=after, rank=before.rank)
