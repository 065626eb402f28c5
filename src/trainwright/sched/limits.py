"""What queues may hold, as their documents and cohorts say, put into one line for each queue and resource."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from trainwright.core.queue import Cohort, Queue, QueueName


@dataclass(frozen=True, slots=True)
class Limit:
    """Of one queue and resource.

    Attributes:
        guaranteed: its own: what it holds above this it has borrowed. A queue without a cohort borrows from nobody, so
            there it is all that it may hold.
        ceiling: it never holds more; None = only the cohort's capacity bounds it.
        cohort: the group of queues that it shares with; its own name, marked, where it stands alone.
        capacity: of that group: what its queues hold together is never more.
    """

    guaranteed: int
    ceiling: int | None
    cohort: str
    capacity: int

    @property
    def most(self) -> int:
        """Return what the queue may hold when nobody else holds anything."""
        return self.capacity if self.ceiling is None else min(self.ceiling, self.capacity)


Limits = Mapping[QueueName, Mapping[str, Limit]]
"""Queue → resource → limit; what is absent is unbounded."""


def limits_of(queues: Mapping[QueueName, Queue], cohorts: Mapping[str, Cohort]) -> Limits:
    """Return the limits of all queues that have quotas."""
    capacity: dict[str, Counter[str]] = {}
    for queue in queues.values():
        if queue.cohort:
            sums = capacity.setdefault(queue.cohort, Counter())
            sums.update({resource: quota.guaranteed for resource, quota in queue.quotas.items()})
    for name, sums in capacity.items():
        if name in cohorts:
            sums.update({r: amount for r, amount in cohorts[name].extra.items() if r in sums})
    return {
        name: {r: _limit(queue, r, capacity.get(queue.cohort, {})) for r in sorted(queue.quotas)}
        for name, queue in queues.items()
        if queue.quotas
    }


def _limit(queue: Queue, resource: str, capacity: Mapping[str, int]) -> Limit:
    quota = queue.quotas[resource]
    if queue.cohort:
        return Limit(quota.guaranteed, quota.ceiling, f"cohort {queue.cohort}", capacity[resource])
    own = quota.guaranteed if quota.ceiling is None else quota.ceiling
    return Limit(own, quota.ceiling, f"queue {queue.name}", own)
