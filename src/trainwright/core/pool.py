"""Capacity on one backend, and what it costs."""

from dataclasses import dataclass

from trainwright.core.node import Node


@dataclass(frozen=True, slots=True)
class Pool:
    """Nodes of one kind.

    Attributes:
        backend: that starts attempts on it.
        node: what a new node would be; None where none can be added.
        least, most: nodes the autoscaler keeps; equal where the number is fixed.
        price: of one node, per hour.
        provision_s: seconds from asking for a node to its being ready.
        spot: nodes may be taken away.
    """

    name: str
    backend: str = "local"
    node: Node | None = None
    least: int = 0
    most: int = 0
    price: float = 0.0
    provision_s: float = 120.0
    spot: bool = False
