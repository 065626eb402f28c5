"""Nodes as those who hold room leave them, kept from one round to the next: what did not change is the same object."""

from trainwright.core.ids import AttemptId
from trainwright.core.node import Node
from trainwright.core.records import Records
from trainwright.core.workload import Workload
from trainwright.sched.room import occupied


class Occupancy:
    """Takes the room of workloads away from nodes, for those nodes alone that something has changed about."""

    def __init__(self) -> None:
        self._base: dict[str, Node] = {}
        self._holding: Records[AttemptId, Workload] = Records()
        self._on: dict[str, dict[AttemptId, Workload]] = {}
        self._left: Records[str, Node] = Records()

    def update(self, base: tuple[Node, ...], holding: Records[AttemptId, Workload]) -> Records[str, Node]:
        """Return the nodes with what these workloads hold taken away; places on unknown nodes are left out.

        Args:
            base: what the backend says.
            holding: all that hold room.
        """
        before, self._base = self._base, {node.name: node for node in base}
        touched = {name for name, node in self._base.items() if before.get(name) is not node}
        changed, gone = holding.changed_since(self._holding)
        for name in (*gone, *(workload.attempt for workload in changed)):
            touched |= self._leave(self._holding.get(name))
        for workload in changed:
            touched |= self._arrive(workload)
        self._holding = holding
        fresh = {name: self._of(name) for name in sorted(touched) if name in self._base}
        known = {name: node for name, node in fresh.items() if self._left.get(name) != node}
        self._left = self._left.plus(known).minus(name for name in before if name not in self._base)
        return self._left

    def _of(self, name: str) -> Node:
        return occupied((self._base[name],), self._on.get(name, {}).values())[name]

    def _leave(self, workload: Workload | None) -> set[str]:
        names = set() if workload is None else {place.node for place in workload.standing.places}
        for name in names:
            if workload is not None:
                self._on.get(name, {}).pop(workload.attempt, None)
        return names

    def _arrive(self, workload: Workload) -> set[str]:
        names = {place.node for place in workload.standing.places}
        for name in names:
            self._on.setdefault(name, {})[workload.attempt] = workload
        return names


def updated(before: Records[AttemptId, Workload], now: dict[AttemptId, Workload]) -> Records[AttemptId, Workload]:
    """Return these workloads as records that share with those of before what did not change."""
    changed = {name: workload for name, workload in now.items() if before.get(name) is not workload}
    gone = [name for name in before.keys() if name not in now]  # noqa: SIM118 - records iterate over values
    return before.plus(changed).minus(gone) if changed or gone else before
