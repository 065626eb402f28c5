"""All replicas of a workload together, or none."""

from collections.abc import Iterable

from trainwright.core.node import Node, emptied
from trainwright.core.reasons import Reason, ReasonCode
from trainwright.core.records import Records
from trainwright.core.workload import Assignment, PodSet, Shape
from trainwright.sched.fitting import devices_for, obstacles
from trainwright.sched.room import Room


def find_places(shape: Shape, room: Room) -> tuple[Assignment, ...] | None:
    """Return a place for every wanted replica, for fewer where the shape is elastic; None below its minimum.

    Nothing is taken: ``room`` is as before.
    """
    trial = Room(room.nodes)
    places: list[Assignment] = []
    for index, pod_set in enumerate(shape.pod_sets):
        found = 0
        while found < pod_set.count:
            place = _find_place(index, pod_set, shape, trial)
            if place is None:
                break
            trial.take(shape, (place,))
            places.append(place)
            found += 1
        if found < pod_set.least:
            return None
    return tuple(places)


def never_fits(shape: Shape, nodes: Iterable[Node]) -> Reason | None:
    """Return the reason why these nodes, were they empty, could not hold this; None when they could."""
    empty = [emptied(node) for node in nodes]
    if find_places(shape, Room(Records.of(empty, lambda node: node.name))) is not None:
        return None
    nearest = _nearest(shape, empty)
    shortfall = ", ".join(nearest).replace("free", "has")
    return Reason(ReasonCode.NEVER_FITS, {"shortfall": shortfall, "asked": show_shape(shape)})


def lack_of_room(shape: Shape, room: Room, holders: Iterable[str]) -> Reason:
    """Return the reason why there is no room now, with the nearest node's numbers."""
    nodes = sorted(room.nodes, key=lambda node: node.name)
    foreign = [name for node in nodes for name in node.foreign]
    evidence = {
        "shortfall": ", ".join(_nearest(shape, nodes)),
        "holders": ", ".join((*holders, *foreign)) or "nobody we know of",
    }
    return Reason(ReasonCode.WAITING_FOR_CAPACITY, dict(evidence))


def show_shape(shape: Shape) -> str:
    """Return it for people: ``4 × (cpu 2, gpu 1)``."""
    parts = [f"{p.count} × ({p.asked})" if p.count > 1 else str(p.asked) for p in shape.pod_sets]
    return " + ".join(parts)


def _find_place(index: int, pod_set: PodSet, shape: Shape, room: Room) -> Assignment | None:
    for node in sorted(room.nodes, key=lambda node: node.name):
        if node.ready and not obstacles(pod_set, shape, node):
            return Assignment(node.name, devices_for(pod_set, node), index)
    return None


def _nearest(shape: Shape, nodes: list[Node]) -> tuple[str, ...]:
    """Return what the node lacks that lacks the least; where each replica alone would fit, that they are too many."""
    found = [obstacles(pod_set, shape, node) for pod_set in shape.pod_sets for node in nodes if node.ready]
    nearest = min(found, key=len, default=("no node",))
    wanted = sum(pod_set.least for pod_set in shape.pod_sets)
    return nearest or (f"nodes: asked room for {wanted} replicas at once, free for fewer",)
