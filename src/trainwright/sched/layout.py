"""Where those are to run whose turn it is, and who has to leave for that."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from trainwright.core.node import Node
from trainwright.core.workload import Assignment, Shape, Workload
from trainwright.sched.gang import find_places
from trainwright.sched.room import Room


@dataclass(slots=True)
class Layout:
    """A plan for the room of those who share it.

    Attributes:
        places: of those who are to start, in the order in which they were found.
        moved: run, and are to go on elsewhere.
        gone: run, and are not to.
    """

    places: list[tuple[Workload, tuple[Assignment, ...]]] = field(default_factory=list)
    moved: list[Workload] = field(default_factory=list)
    gone: list[Workload] = field(default_factory=list)


def lay_out(
    starting: Sequence[Workload],
    gone: Sequence[Workload],
    movable: Sequence[Workload],
    others: Sequence[Workload],
    room: Room,
) -> Layout:
    """Return a place for each of ``starting`` once ``gone`` have left; ``room`` stays as it is.

    Where they fit in number and not in pieces, those who are ``movable`` may go elsewhere. Where that does not help
    either, who does not fit is left out, and ``others``, best first, have what it leaves, those who are gone too.
    """
    fixed = _freed(room, gone)
    layout, missing = _placed(starting, fixed, gone)
    if not missing:
        return layout
    if movable:
        moved = _repacked(starting, movable, _freed(room, (*gone, *movable)), gone)
        if moved is not None:
            return moved
    return _filled(layout, fixed, others)


def blockers(places: Iterable[Assignment], running: Iterable[Workload]) -> list[Workload]:
    """Return those who run on one of the devices, or on one of the nodes where no device is asked for."""
    devices: dict[str, set[int]] = {}
    for place in places:
        devices.setdefault(place.node, set()).update(place.devices)
    return [one for one in running if any(_meets(place, devices) for place in one.standing.places)]


class Trial:
    """Room to try something in."""

    def __init__(self, room: Room) -> None:
        """Begin with the room as it is."""
        self.room = Room(room.nodes)

    def take(self, shape: Shape, places: tuple[Assignment, ...]) -> bool:
        """Take these places if all of them are free; tell whether they were."""
        if not all(place.node in self.room and self.room[place.node].ready for place in places):
            return False
        before = _over(places, self.room)
        self.room.take(shape, places)
        if _over(places, self.room) <= before:
            return True
        self.room.give(shape, places)
        return False


def _over(places: tuple[Assignment, ...], room: Room) -> int:
    return sum(_is_over(room[place.node], place) for place in places)


def _is_over(node: Node, place: Assignment) -> bool:
    if node.free.cpu_milli < 0 or node.free.memory_bytes < 0:
        return True
    return any(d.index in place.devices and (d.free_milli < 0 or d.free_vram_bytes < 0) for d in node.devices)


def _meets(place: Assignment, devices: dict[str, set[int]]) -> bool:
    wanted = devices.get(place.node)
    if wanted is None:
        return False
    return not wanted or not place.devices or not wanted.isdisjoint(place.devices)


def _freed(room: Room, leaving: Iterable[Workload]) -> Trial:
    trial = Trial(room)
    for one in leaving:
        trial.room.give(one.shape, one.standing.places)
    return trial


def _placed(starting: Sequence[Workload], trial: Trial, gone: Sequence[Workload]) -> tuple[Layout, list[Workload]]:
    layout, missing = Layout(gone=list(gone)), []
    for one in sorted(starting, key=largest_first):
        places = find_places(one.shape, trial.room)
        if places is None:
            missing.append(one)
        else:
            trial.room.take(one.shape, places)
            layout.places.append((one, places))
    return layout, missing


def _repacked(
    starting: Sequence[Workload], movable: Sequence[Workload], trial: Trial, gone: Sequence[Workload]
) -> Layout | None:
    """Return a layout in which all fit, those that run where they are if they can; None when there is none."""
    layout = Layout(gone=list(gone))
    for _, alike in groupby(sorted((*starting, *movable), key=largest_first), key=lambda one: largest_first(one)[:2]):
        others = [one for one in alike if not (one.standing.places and trial.take(one.shape, one.standing.places))]
        for one in others:
            places = find_places(one.shape, trial.room)
            if places is None:
                return None
            trial.room.take(one.shape, places)
            if one.standing.places:
                layout.moved.append(one)
            else:
                layout.places.append((one, places))
    return layout


def _filled(layout: Layout, trial: Trial, others: Sequence[Workload]) -> Layout:
    hopeless: set[Shape] = set()
    for one in others:
        held = one.standing.places
        if held:
            if trial.take(one.shape, held):
                layout.gone.remove(one)
        elif one.shape not in hopeless:
            places = find_places(one.shape, trial.room)
            if places is None:
                hopeless.add(one.shape)
            else:
                trial.room.take(one.shape, places)
                layout.places.append((one, places))
    return layout


def largest_first(one: Workload) -> tuple[int, int, bool, object]:
    """Sort so that what needs whole nodes comes before what breaks them, and among equals what runs."""
    asked = [p.asked.gpu_milli or p.asked.cpu_milli for p in one.shape.pod_sets]
    whole = sum(p.count * (p.asked.gpu_milli or p.asked.cpu_milli) for p in one.shape.pod_sets)
    return -min(asked), -whole, not one.standing.places, (one.queued_at, one.order, one.attempt)
