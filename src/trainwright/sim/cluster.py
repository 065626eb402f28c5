"""The pretended world that a load runs in: nodes, queues, and what comes and goes."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from trainwright.core.node import Node
from trainwright.core.pool import Pool
from trainwright.core.queue import Cohort, Queue, QueueName


@dataclass(frozen=True, slots=True)
class NodeChange:
    """A node that comes or goes; what runs on it when it goes is lost and queued again.

    Attributes:
        at_s: seconds after the beginning of the load.
        comes: False = it goes.
    """

    at_s: float
    node: Node
    comes: bool


@dataclass(frozen=True, slots=True)
class Cluster:
    """Where a load runs.

    Attributes:
        nodes: there from the beginning, empty.
        changes: of nodes, later.
    """

    nodes: tuple[Node, ...]
    queues: Mapping[QueueName, Queue] = field(default_factory=dict)
    cohorts: Mapping[str, Cohort] = field(default_factory=dict)
    pools: Mapping[str, Pool] = field(default_factory=dict)
    changes: tuple[NodeChange, ...] = ()

    @property
    def unit(self) -> str:
        """Return what shares are counted in: ``gpu`` where there is one, else ``cpu``."""
        pooled = (pool.node for pool in self.pools.values() if pool.node is not None)
        later = (change.node for change in self.changes)
        return "gpu" if any(node.total.gpu_milli for node in (*self.nodes, *later, *pooled)) else "cpu"
