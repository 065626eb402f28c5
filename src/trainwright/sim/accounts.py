"""Who used how much: for the fair share and the budgets of the next round, and for the report."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

from trainwright.core.node import Node
from trainwright.core.pool import Pool
from trainwright.core.queue import Queue, QueueName
from trainwright.core.resources import Resources
from trainwright.core.workload import Workload
from trainwright.sim.outcome import Times
from trainwright.sim.series import Series, common_span_s

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_HOUR_S = 3600.0


class Accounts:
    """The books of one simulation; as in the live engine a start counts towards its queue's past when it has ended."""

    def __init__(self, begin: datetime, queues: Mapping[QueueName, Queue], half_life_s: float, unit: str) -> None:
        self.unit = unit
        self.held = Series()
        self.capacity = Series()
        self._begin = begin
        self._half_life_s = half_life_s
        self._budgets = {q.name: q.budget.period_s for q in queues.values() if q.budget is not None}
        self._used: dict[QueueName, Series] = {}
        self._pending: dict[QueueName, Series] = {}
        self._past: dict[QueueName, tuple[float, datetime]] = {}
        self._costs: dict[tuple[QueueName, int], float] = {}

    def queued(self, queue: QueueName, now: datetime, more: int) -> None:
        """Note that so many more, or fewer, wait."""
        self._pending.setdefault(queue, Series()).add(self._s(now), more)

    def moved(self, workload: Workload, now: datetime, sign: int) -> None:
        """Note that a workload took its places (1) or gave them back (-1)."""
        amount = sign * sum(self._amount(asked) for asked in replicas(workload))
        self._used.setdefault(workload.queue, Series()).add(self._s(now), amount)
        self.held.add(self._s(now), amount)

    def resized(self, nodes: Iterable[Node], now: datetime) -> Resources:
        """Note what there is from now on; return it."""
        totals = total_of(nodes)
        self.capacity.set(self._s(now), self._amount(totals))
        return totals

    def ended(
        self, workload: Workload, now: datetime, totals: Resources, nodes: Mapping[str, Node], pools: Mapping[str, Pool]
    ) -> None:
        """Count a start that is over, before its places are given back."""
        began = workload.standing.started_at
        if began is None:
            return
        seconds = (now - began).total_seconds()
        if self._half_life_s:
            share = sum(dominant(asked, totals) for asked in replicas(workload))
            self._past[workload.queue] = (self._decayed(workload.queue, now) + share * seconds, now)
        if workload.queue in self._budgets:
            period = self._period(workload.queue, now)
            cost = hourly_price(workload, nodes, pools) * seconds / _HOUR_S
            self._costs[period] = self._costs.get(period, 0.0) + cost

    def used(self, now: datetime) -> dict[QueueName, float]:
        """Return what queues used before; see ``ClusterSnapshot``."""
        return {queue: self._decayed(queue, now) for queue in self._past}

    def spent(self, now: datetime) -> dict[QueueName, float]:
        """Return what queues with a budget have spent in its present period."""
        return {queue: self._costs.get(self._period(queue, now), 0.0) for queue in self._budgets}

    def times(self, until: datetime) -> Times:
        """Return all quantities over time, up to the end."""
        end = self._s(until)
        span = common_span_s(end)
        thousandths = self.capacity.means(end, span)
        used = {q: tuple(v / 1000 for v in self._used[q].means(end, span)) for q in sorted(self._used)}
        pending = {q: self._pending[q].means(end, span) for q in sorted(self._pending)}
        return Times(span, used, pending, tuple(v / 1000 for v in thousandths), self.unit)

    def _amount(self, resources: Resources) -> int:
        return resources.gpu_milli if self.unit == "gpu" else resources.cpu_milli

    def _decayed(self, queue: QueueName, now: datetime) -> float:
        before, at = self._past.get(queue, (0.0, now))
        return float(before * 0.5 ** ((now - at).total_seconds() / self._half_life_s)) if before else 0.0

    def _period(self, queue: QueueName, now: datetime) -> tuple[QueueName, int]:
        return queue, int((now - _EPOCH).total_seconds()) // self._budgets[queue]

    def _s(self, now: datetime) -> float:
        return (now - self._begin).total_seconds()


def replicas(workload: Workload) -> list[Resources]:
    """Return what each replica that has a place asks for."""
    pod_sets = workload.shape.pod_sets
    return [pod_sets[place.pod_set].asked for place in workload.standing.places]


def dominant(asked: Resources, totals: Resources) -> float:
    """Return the largest share of any resource that one replica takes."""
    pairs = (
        (asked.cpu_milli, totals.cpu_milli),
        (asked.memory_bytes, totals.memory_bytes),
        (asked.gpu_milli, totals.gpu_milli),
    )
    return max(want / have if have else 0.0 for want, have in pairs)


def total_of(nodes: Iterable[Node]) -> Resources:
    """Return what nodes have together."""
    totals = [node.total for node in nodes]
    return Resources(
        sum(t.cpu_milli for t in totals), sum(t.memory_bytes for t in totals), sum(t.gpu_milli for t in totals)
    )


def hourly_price(workload: Workload, nodes: Mapping[str, Node], pools: Mapping[str, Pool]) -> float:
    """Return what the places of a workload cost an hour: of each node the part that it takes."""
    price = 0.0
    for place, asked in zip(workload.standing.places, replicas(workload), strict=True):
        node = nodes.get(place.node)
        pool = None if node is None else pools.get(node.pool)
        if node is not None and pool is not None:
            price += pool.price * min(dominant(asked, node.total), 1.0)
    return price
