"""What nodes are, whoever uses them: their capacity and models, and whether that is as it was a round ago."""

from collections import Counter

from trainwright.core.node import Node
from trainwright.core.records import Records


class Machines:
    """All nodes without regard to what is free on them; kept up to date by what changed.

    Attributes:
        version: another number once a node has come, gone, or become another machine.
        capacity: resource → all that nodes which are ready have, in the units of ``core.queue.Amounts``.
    """

    def __init__(self) -> None:
        """Begin without nodes."""
        self.version = 0
        self.capacity: Counter[str] = Counter()
        self._nodes: Records[str, Node] = Records()
        self._models: tuple[int, tuple[str, ...]] = (-1, ())

    def as_of(self, nodes: Records[str, Node]) -> "Machines":
        """Return itself once it knows these nodes."""
        changed, gone = nodes.changed_since(self._nodes)
        altered = False
        for node in changed:
            before = self._nodes.get(node.name)
            if before is None or not is_same_machine(before, node):
                altered = True
                self._count(before, -1)
                self._count(node, 1)
        for name in gone:
            altered = True
            self._count(self._nodes[name], -1)
        self.version += altered
        self._nodes = nodes
        return self

    @property
    def models(self) -> tuple[str, ...]:
        """Return the models of all GPUs, sorted."""
        if self._models[0] != self.version:
            self._models = self.version, tuple(sorted({d.model for node in self._nodes for d in node.devices}))
        return self._models[1]

    def model(self, node: str, device: int) -> str:
        """Return the model of a GPU; empty when there is no such node or device any more."""
        known = self._nodes.get(node)
        return next((d.model for d in known.devices if d.index == device), "") if known is not None else ""

    def _count(self, node: Node | None, sign: int) -> None:
        if node is not None and node.ready:
            self.capacity["cpu"] += sign * node.total.cpu_milli
            self.capacity["memory"] += sign * node.total.memory_bytes
            self.capacity["gpu"] += sign * node.total.gpu_milli


def is_same_machine(before: Node, after: Node) -> bool:
    """Tell whether the two differ in nothing but what is free."""
    if before.total != after.total or before.pool != after.pool or before.ready != after.ready:
        return False
    if before.isolation != after.isolation or len(before.devices) != len(after.devices):
        return False
    return before.devices is after.devices or all(
        a.model == b.model and a.index == b.index and a.vram_bytes == b.vram_bytes
        for a, b in zip(before.devices, after.devices, strict=True)
    )
