"""The cluster that a project has: the nodes it runs on, and the queues, cohorts and pools that its documents name."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeVar

from trainwright.core.codec import from_json
from trainwright.core.node import Node, emptied
from trainwright.core.pool import Pool
from trainwright.core.queue import Cohort, Queue
from trainwright.sim.cluster import Cluster
from trainwright.store import documents

if TYPE_CHECKING:
    from trainwright.service.context import Context

T = TypeVar("T")


def declared_cluster(context: "Context", nodes: Iterable[Node]) -> Cluster:
    """Return these nodes, with nothing on them, and what the project's documents say of queues and pools."""
    queues = {queue.name: queue for queue in _of_kind(context, "Queue", Queue)}
    cohorts = {cohort.name: cohort for cohort in _of_kind(context, "Cohort", Cohort)}
    pools = {pool.name: pool for pool in _of_kind(context, "Pool", Pool)}
    return Cluster(tuple(emptied(node) for node in nodes), queues, cohorts, pools)


def _of_kind(context: "Context", kind: str, made: type[T]) -> list[T]:
    with context.database.reading() as rows:
        found = documents.in_force(rows, context.project, kind)
    return [from_json(made, {**document.value, "name": document.name}) for document in found]
