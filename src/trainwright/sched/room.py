"""Room on nodes: what is left when workloads take their places, and what comes back when they leave."""

from collections.abc import Iterable

from trainwright.core.node import Node, give, take
from trainwright.core.records import Records
from trainwright.core.workload import Assignment, Shape, Workload


class Room:
    """The nodes of one round, changed as it goes; the snapshot's own stay as they are."""

    def __init__(self, nodes: Records[str, Node]) -> None:
        """Begin with what the snapshot says is free."""
        self._before = nodes
        self._changed: dict[str, Node] = {}

    def __getitem__(self, name: str) -> Node:
        return self._changed.get(name) or self._before[name]

    def __contains__(self, name: str) -> bool:
        return name in self._before

    @property
    def nodes(self) -> Records[str, Node]:
        """Return the nodes as they are now; shares with the snapshot what did not change."""
        return self._before.plus(self._changed)

    def copy(self) -> "Room":
        """Return the same room to try something in; this one stays as it is."""
        trial = Room(self._before)
        trial._changed = dict(self._changed)
        return trial

    def take(self, shape: Shape, places: Iterable[Assignment]) -> None:
        """Give these places away; amounts may go below zero, see ``Node.is_over``."""
        for place in places:
            asked = shape.pod_sets[place.pod_set].asked
            self._changed[place.node] = take(self[place.node], asked, place.devices)

    def give(self, shape: Shape, places: Iterable[Assignment]) -> None:
        """Take these places back."""
        for place in places:
            asked = shape.pod_sets[place.pod_set].asked
            self._changed[place.node] = give(self[place.node], asked, place.devices)


def occupied(nodes: Iterable[Node], holding: Iterable[Workload]) -> Records[str, Node]:
    """Return the nodes with what these workloads hold taken away; places on unknown nodes are left out."""
    left: dict[str, Node] = {node.name: node for node in nodes}
    for workload in holding:
        for place in workload.standing.places:
            if place.node in left:
                asked = workload.shape.pod_sets[place.pod_set].asked
                left[place.node] = take(left[place.node], asked, place.devices)
    return Records(left)
