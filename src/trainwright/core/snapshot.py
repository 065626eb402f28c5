"""The world as one scheduling round sees it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from trainwright.core.history import History
from trainwright.core.ids import AttemptId
from trainwright.core.node import Node
from trainwright.core.pool import Pool
from trainwright.core.queue import Cohort, Queue, QueueName
from trainwright.core.records import Records
from trainwright.core.workload import Workload


@dataclass(frozen=True, slots=True)
class ClusterSnapshot:
    """Values alone; a later one shares what did not change, so that telling what did is cheap.

    Attributes:
        nodes: by name; ``free`` is what ``holding`` and strangers have left.
        pending: wait for room.
        holding: hold room, those among them that are leaving too.
        queues: declared ones; one that is absent has no quota and belongs to no cohort.
        used: queue → dominant share · seconds it used before, decayed by the policy's half-life as of the round.
        spent: queue → money in the present period of its budget.
        history: how long those of each kin and size ran.
    """

    nodes: Records[str, Node]
    pending: Records[AttemptId, Workload] = field(default_factory=Records)
    holding: Records[AttemptId, Workload] = field(default_factory=Records)
    queues: Mapping[QueueName, Queue] = field(default_factory=dict)
    cohorts: Mapping[str, Cohort] = field(default_factory=dict)
    pools: Mapping[str, Pool] = field(default_factory=dict)
    used: Mapping[QueueName, float] = field(default_factory=dict)
    spent: Mapping[QueueName, float] = field(default_factory=dict)
    history: History = field(default_factory=History)


def nodes_of(*nodes: Node) -> Records[str, Node]:
    """Return nodes by name."""
    return Records.of(nodes, lambda node: node.name)


def workloads_of(*workloads: Workload) -> Records[AttemptId, Workload]:
    """Return workloads by attempt."""
    return Records.of(workloads, lambda workload: workload.attempt)
