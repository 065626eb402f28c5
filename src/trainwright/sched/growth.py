"""Nodes that pools could still be given."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

from trainwright.core.node import Node
from trainwright.core.pool import Pool
from trainwright.core.workload import Shape
from trainwright.sched.price import is_affordable


def fresh_nodes(pool: Pool, first: int, last: int) -> list[Node]:
    """Return new nodes of a pool, numbered from ``first`` to before ``last``; none where nobody said what it has."""
    if pool.node is None:
        return []
    return [replace(pool.node, name=f"{pool.name}+{number:06d}", pool=pool.name) for number in range(first, last)]


def addable(shape: Shape, nodes: Iterable[Node], pools: Mapping[str, Pool]) -> list[Node]:
    """Return the nodes that could be added for this shape: at most one a replica in each pool that it may use."""
    growing = [p for p in pools.values() if p.node is not None and p.most and is_affordable(shape, p)]
    if not growing:
        return []
    have = Counter(node.pool for node in nodes)
    replicas = sum(pod_set.count for pod_set in shape.pod_sets)
    found: list[Node] = []
    for pool in sorted(growing, key=lambda p: p.name):
        if not shape.pools or pool.name in shape.pools:
            found += fresh_nodes(pool, 0, min(replicas, max(0, pool.most - have[pool.name])))
    return found
