"""What must hold whatever the policy decides; checked at every commit and by property tests."""

from collections import Counter
from collections.abc import Iterable

from trainwright.core.decision import Placement
from trainwright.core.snapshot import ClusterSnapshot
from trainwright.core.workload import Assignment, Shape
from trainwright.sched.room import Room


def broken(snapshot: ClusterSnapshot, placements: Iterable[Placement]) -> tuple[Placement, ...]:
    """Return the placements that no longer hold in ``snapshot``, in order; the others may be committed together."""
    room = Room(snapshot.nodes)
    placed: set[str] = set()
    bad: list[Placement] = []
    for placement in placements:
        workload = snapshot.pending.get(placement.attempt)
        if workload is None or placement.attempt in placed or not _may_take(workload.shape, placement.places, room):
            bad.append(placement)
            continue
        placed.add(placement.attempt)  # nobody is placed twice
        room.take(workload.shape, placement.places)
    return tuple(bad)


def _may_take(shape: Shape, places: tuple[Assignment, ...], room: Room) -> bool:
    """Tell whether these are places for a gang that may run, and there is room on every one."""
    counts = Counter(place.pod_set for place in places)
    if not all(p.least <= counts[i] <= p.count for i, p in enumerate(shape.pod_sets)) or len(counts) > len(
        shape.pod_sets
    ):
        return False
    if not all(place.node in room and _are_devices(shape, place, room) for place in places):
        return False
    trial = Room(room.nodes)
    trial.take(shape, places)
    return not any(trial[place.node].is_over for place in places)


def _are_devices(shape: Shape, place: Assignment, room: Room) -> bool:
    """Tell whether these are as many different devices of the node, of a model it can use, as were asked for."""
    pod_set, devices = shape.pod_sets[place.pod_set], place.devices
    known = {d.index for d in room[place.node].devices if not pod_set.models or d.model in pod_set.models}
    return len(devices) == len(set(devices)) == pod_set.asked.devices and set(devices) <= known
