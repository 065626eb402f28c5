"""Those who wait, sorted by all that a refusal may depend on; kept up to date by what changed."""

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from trainwright.core.ids import AttemptId
from trainwright.core.queue import QueueName
from trainwright.core.records import Records
from trainwright.core.workload import Contract, Shape, Standing, Workload

_Key = tuple[QueueName, int, Shape, Contract, Standing]


@dataclass(slots=True)
class Bucket:
    """Workloads that differ in nothing but their names and ages, oldest first; never empty.

    Attributes:
        attempts: of the members, in their order.
    """

    members: list[Workload]
    attempts: list[AttemptId]

    @classmethod
    def of(cls, members: list[Workload]) -> "Bucket":
        """Return a bucket of these, which are in order."""
        return cls(members, [one.attempt for one in members])


def age(workload: Workload) -> tuple[datetime, tuple[int, int], str]:
    """Return what sorts equal workloads: the older first, then by run and step."""
    return workload.queued_at, workload.order, workload.attempt


class Buckets:
    """All that wait, in buckets."""

    def __init__(self) -> None:
        """Begin with nobody."""
        self._pending: Records[AttemptId, Workload] = Records()
        self._buckets: dict[_Key, Bucket] = {}

    def __iter__(self) -> Iterator[Bucket]:
        return iter(self._buckets.values())

    def as_of(self, pending: Records[AttemptId, Workload]) -> "Buckets":
        """Return itself once it holds these and nobody else."""
        changed, gone = pending.changed_since(self._pending)
        for attempt in (*gone, *(one.attempt for one in changed)):
            before = self._pending.get(attempt)
            if before is not None:
                self._remove(before)
        touched: dict[int, Bucket] = {}
        for one in changed:
            bucket = self._buckets.setdefault(_key(one), Bucket([], []))
            bucket.members.append(one)
            touched[id(bucket)] = bucket
        for bucket in touched.values():
            bucket.members.sort(key=age)  # sorted but for the last few: that is fast
            bucket.attempts = [one.attempt for one in bucket.members]
        self._pending = pending
        return self

    def _remove(self, one: Workload) -> None:
        key = _key(one)
        bucket = self._buckets[key]
        if len(bucket.members) == 1:
            del self._buckets[key]
            return
        at = bisect_left(bucket.members, age(one), key=age)
        del bucket.members[at], bucket.attempts[at]


def _key(one: Workload) -> _Key:
    return one.queue, one.priority, one.shape, one.contract, one.standing
