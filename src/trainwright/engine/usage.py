"""What attempts had used when they ended, for the fair share and the budget of their queue."""

from collections.abc import Iterable, Mapping
from datetime import datetime

from trainwright.core.node import Node
from trainwright.core.pool import Pool
from trainwright.core.queue import QueueName, Used
from trainwright.core.resources import Resources
from trainwright.core.run import Attempt
from trainwright.core.scheduling import Scheduling
from trainwright.core.workload import Workload
from trainwright.engine.books import Declared
from trainwright.engine.placing import queue_of
from trainwright.lifecycle.retry import resources_of
from trainwright.plan.plan import Plan
from trainwright.sched.budget import period_of

_HOUR_S = 3600.0


def used_by(
    ended: Iterable[Attempt], plan: Plan, nodes: tuple[Node, ...], pools: Mapping[str, Pool]
) -> tuple[Used, ...]:
    """Return what ended attempts of a run had used; those that never had room used nothing."""
    totals = _sum([node.total for node in nodes])
    by_name = {node.name: node for node in nodes}
    found: list[Used] = []
    for attempt in ended:
        if attempt.placed_at is None or attempt.finished_at is None:
            continue
        seconds = max((attempt.finished_at - attempt.placed_at).total_seconds(), 0.0)
        asked = resources_of(plan.step(attempt.step), attempt.ooms)
        share = len(attempt.places) * dominant(asked, totals)
        cost = sum(_price(asked, by_name.get(place.node), pools) for place in attempt.places) * seconds / _HOUR_S
        queue = queue_of(plan.scheduling.get(plan.path(attempt.step), Scheduling()))
        found.append(Used(queue, share * seconds, cost))
    return tuple(found)


def dominant(asked: Resources, totals: Resources) -> float:
    """Return the largest share of any resource that one replica takes, 0 to 1."""
    pairs = (
        (asked.cpu_milli, totals.cpu_milli),
        (asked.memory_bytes, totals.memory_bytes),
        (asked.gpu_milli, totals.gpu_milli),
    )
    return max(want / have if have else 0.0 for want, have in pairs)


def with_running(
    spent: Mapping[QueueName, float],
    holding: Iterable[Workload],
    nodes: tuple[Node, ...],
    declared: Declared,
    now: datetime,
) -> Mapping[QueueName, float]:
    """Return what queues with a budget have spent in its present period, by those too that still hold room."""
    budgets = {name: queue.budget for name, queue in declared.queues.items() if queue.budget is not None}
    total, by_name = dict(spent), {node.name: node for node in nodes}
    for one in holding if budgets else ():
        budget, started_at = budgets.get(one.queue), one.standing.started_at
        if budget is None or started_at is None:
            continue
        begin, _ = period_of(budget, now)
        hours = max((now - max(begin, started_at)).total_seconds(), 0.0) / _HOUR_S
        for place in one.standing.places:
            asked = one.shape.pod_sets[place.pod_set].asked
            total[one.queue] = total.get(one.queue, 0.0) + hours * _price(
                asked, by_name.get(place.node), declared.pools
            )
    return total


def _price(asked: Resources, node: Node | None, pools: Mapping[str, Pool]) -> float:
    """Return what one replica costs an hour: its part of its node."""
    pool = None if node is None else pools.get(node.pool)
    return 0.0 if node is None or pool is None else pool.price * min(dominant(asked, node.total), 1.0)


def _sum(amounts: list[Resources]) -> Resources:
    return Resources(
        sum(a.cpu_milli for a in amounts), sum(a.memory_bytes for a in amounts), sum(a.gpu_milli for a in amounts)
    )
