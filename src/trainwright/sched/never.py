"""What can never start on these nodes, looked for once as long as they stay the machines that they are."""

from trainwright.core.node import Node
from trainwright.core.reasons import Reason
from trainwright.core.records import Records
from trainwright.core.workload import Shape
from trainwright.sched.gang import never_fits
from trainwright.sched.machines import Machines

_MOST = 10_000
"""Shapes remembered; a project that lives for years has seen many."""


class Never:
    """Shapes that were asked about."""

    def __init__(self) -> None:
        """Know of none."""
        self._version = -1
        self._known: dict[Shape, Reason | None] = {}

    def reason(self, shape: Shape, nodes: Records[str, Node], machines: Machines) -> Reason | None:
        """Return why it never fits; None when it may. ``machines`` knows these nodes."""
        if machines.version != self._version or len(self._known) > _MOST:
            self._version, self._known = machines.version, {}
        if shape not in self._known:
            self._known[shape] = never_fits(shape, sorted(nodes, key=lambda node: node.name))
        return self._known[shape]
