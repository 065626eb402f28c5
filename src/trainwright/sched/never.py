"""What can never start on these nodes, looked for once as long as they stay the machines that they are."""

from collections.abc import Mapping

from trainwright.core.node import Node
from trainwright.core.pool import Pool
from trainwright.core.reasons import Reason
from trainwright.core.records import Records
from trainwright.core.workload import Shape
from trainwright.sched.gang import never_fits
from trainwright.sched.growth import addable
from trainwright.sched.machines import Machines

_MOST = 10_000
"""Shapes remembered; a project that lives for years has seen many."""


class Never:
    """Shapes that were asked about."""

    def __init__(self) -> None:
        """Know of none."""
        self._version = -1
        self._pools: Mapping[str, Pool] = {}
        self._known: dict[Shape, Reason | None] = {}

    def reason(
        self, shape: Shape, nodes: Records[str, Node], machines: Machines, pools: Mapping[str, Pool]
    ) -> Reason | None:
        """Return why it never fits, not even with nodes that could be added; None when it may.

        ``machines`` knows these nodes.
        """
        if machines.version != self._version or pools != self._pools or len(self._known) > _MOST:
            self._version, self._pools, self._known = machines.version, pools, {}
        if shape not in self._known:
            there = sorted(nodes, key=lambda node: node.name)
            self._known[shape] = never_fits(shape, [*there, *addable(shape, there, pools)])
        return self._known[shape]
