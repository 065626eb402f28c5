"""Whether a gang fits, asked again and again while one workload after the other gives its room back."""

from dataclasses import replace

from trainwright.core.node import Node, take
from trainwright.core.workload import Assignment, PodSet, Shape, Workload
from trainwright.sched.fitting import devices_for, obstacles
from trainwright.sched.gang import find_places
from trainwright.sched.room import Room


def least_of(shape: Shape) -> Shape:
    """Return the shape with no more replicas than it needs."""
    if all(pod_set.count == pod_set.least for pod_set in shape.pod_sets):
        return shape
    return replace(shape, pod_sets=tuple(replace(p, count=p.least) for p in shape.pod_sets))


def replicas_on(node: Node, pod_set: PodSet, shape: Shape, most: int) -> int:
    """Return how many replicas, up to ``most``, the node has room for."""
    found = 0
    while node.ready and found < most and not obstacles(pod_set, shape, node):
        node = take(node, pod_set.asked, devices_for(pod_set, node))
        found += 1
    return found


class Gathering:
    """The minimum of one gang, and room that grows until it fits.

    Of a gang with one pod set the replicas are counted node by node, and only where something changed. Of others the
    places are looked for anew each time.
    """

    def __init__(self, shape: Shape, room: Room) -> None:
        """Begin with this room, which stays as it is."""
        self.shape = least_of(shape)
        self.room = Room(room.nodes)
        self._counts: dict[str, int] | None = None
        self._total = 0
        self._touched: set[str] = set()
        if len(self.shape.pod_sets) == 1:
            alone = (
                self.shape.pod_sets[0].least == 1 and self.places() is None
            )  # then none fits anywhere: no need to count
            self._counts = {} if alone else {node.name: self._count(node) for node in self.room.nodes}
            self._total = sum(self._counts.values())

    def give(self, workload: Workload) -> None:
        """Take back what this workload holds."""
        self._change(workload, 1)

    def take(self, workload: Workload) -> None:
        """Let this workload hold its places again."""
        self._change(workload, -1)

    def on(self, node: str) -> int:
        """Return how many replicas fit on a node."""
        self._recount()
        if self._counts is not None:
            return self._counts.get(node, 0)
        return max(replicas_on(self.room[node], p, self.shape, p.count) for p in self.shape.pod_sets)

    def fits(self) -> bool:
        """Tell whether all of the minimum fits."""
        self._recount()
        if self._counts is None:
            return find_places(self.shape, self.room) is not None
        return self._total >= self.shape.pod_sets[0].least

    def places(self) -> tuple[Assignment, ...] | None:
        """Return places for the minimum; None when there is not enough room."""
        return find_places(self.shape, self.room)

    def _change(self, workload: Workload, sign: int) -> None:
        places = [place for place in workload.standing.places if place.node in self.room]
        (self.room.give if sign > 0 else self.room.take)(workload.shape, places)
        self._touched.update(place.node for place in places)

    def _recount(self) -> None:
        if self._counts is not None:
            for name in self._touched:
                before = self._counts.get(name, 0)
                self._counts[name] = self._count(self.room[name])
                self._total += self._counts[name] - before
            self._touched.clear()

    def _count(self, node: Node) -> int:
        (pod_set,) = self.shape.pod_sets
        return replicas_on(node, pod_set, self.shape, pod_set.least)
