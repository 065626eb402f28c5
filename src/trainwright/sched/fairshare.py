"""Fair share: how much of what nobody is guaranteed a queue has, now and lately, by its weight."""

from math import log

from trainwright.core.queue import QueueName
from trainwright.core.snapshot import ClusterSnapshot
from trainwright.sched.policy import Ordering
from trainwright.sched.quota import Ledger


class Shares:
    """The shares of one round; they rise as its queues are given more."""

    def __init__(self, snapshot: ClusterSnapshot, ordering: Ordering, ledger: Ledger) -> None:
        """Read what queues hold from the ledger whenever a share is asked for."""
        self._snapshot = snapshot
        self._ledger = ledger
        self._a_second = log(2) / ordering.half_life_s if ordering.half_life_s > 0 else 0.0

    def share(self, name: QueueName) -> float:
        """Return the dominant share of the queue by its weight, the past included; the lowest comes first.

        Counted is what it holds above its guarantees, in parts of the cluster, for the resource of which that is the
        largest part. Somebody who always held the same part has that part once more for the past.
        """
        used, limited = self._ledger.used(name), self._ledger.limits.get(name, {})
        share = 0.0
        for resource, capacity in self._ledger.machines.capacity.items():
            if capacity > 0:
                limit = limited.get(resource)
                above = used.get(resource, 0) - (limit.guaranteed if limit is not None else 0)
                share = max(share, above / capacity)
        past = self._snapshot.used.get(name, 0.0) * self._a_second
        return (share + past) / self._ledger.weight(name)
