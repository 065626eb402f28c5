"""What a workload costs per hour in each pool, and in which pools it may and wants to run."""

from collections.abc import Iterable, Mapping

from trainwright.core.node import Node
from trainwright.core.pool import Pool
from trainwright.core.reasons import Reason, ReasonCode
from trainwright.core.resources import Resources
from trainwright.core.workload import Shape, Workload
from trainwright.sched.draft import Draft


def hourly_price(shape: Shape, pool: Pool) -> float:
    """Return what all replicas cost per hour: of each node the part that its scarcest resource is asked for.

    A pool without a price, or without a statement of its nodes, costs nothing or whole nodes.
    """
    return pool.price * sum(p.count * _part(p.asked, pool.node) for p in shape.pod_sets)


def cheapest_first(shape: Shape, pools: Mapping[str, Pool], names: Iterable[str]) -> tuple[str, ...]:
    """Return pools by price, equal ones by name; those that nobody described are free."""
    return tuple(sorted(names, key=lambda name: (_price_in(shape, pools.get(name)), name)))


def too_expensive(workload: Workload, draft: Draft) -> Reason | None:
    """Return that every pool it could use costs more than it may; None when one does not, or any price will do."""
    shape, pools = workload.shape, draft.snapshot.pools
    if shape.most_price is None:
        return None
    names = shape.pools or tuple(sorted({*pools, *_pools_of(draft)}))
    prices = sorted((_price_in(shape, pools.get(name)), name) for name in names)
    if not prices or prices[0][0] <= shape.most_price:
        return None
    told = {"most": f"{shape.most_price:g}", "price": f"{prices[0][0]:g} ({prices[0][1]})"}
    return Reason(ReasonCode.TOO_EXPENSIVE, {**told})


def is_affordable(shape: Shape, pool: Pool | None) -> bool:
    """Tell whether a shape may be placed in a pool at its price."""
    return shape.most_price is None or _price_in(shape, pool) <= shape.most_price


def _price_in(shape: Shape, pool: Pool | None) -> float:
    return 0.0 if pool is None else hourly_price(shape, pool)


def _pools_of(draft: Draft) -> set[str]:
    return {node.pool for node in draft.snapshot.nodes}


def _part(asked: Resources, node: Node | None) -> float:
    """Return the dominant share that one replica has of one node, 0 to 1."""
    if node is None:
        return 1.0
    pairs = (
        (asked.cpu_milli, node.total.cpu_milli),
        (asked.memory_bytes, node.total.memory_bytes),
        (asked.gpu_milli, node.total.gpu_milli),
    )
    return min(1.0, max((want / have if have else 1.0 for want, have in pairs if want), default=0.0))
