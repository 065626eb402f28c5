"""In which order those who wait are considered.

Priority, then fair share between queues; within a queue what a person moved, what time slicing puts first, who is done
soonest, and age.
A queue that has spent a budget which degrades comes after everybody else.
Those who are equal but for their age are one bucket: a reason to refuse the oldest is a reason to refuse them all.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from heapq import heapify, heappop, heappush
from math import inf

from trainwright.core.ids import AttemptId
from trainwright.core.queue import QueueName
from trainwright.core.workload import Workload
from trainwright.sched.buckets import Bucket, Buckets, age
from trainwright.sched.budget import is_degraded
from trainwright.sched.draft import Draft
from trainwright.sched.fairshare import Shares
from trainwright.sched.shortest import Shortest

_Rank = tuple[int, float, float, datetime, tuple[int, int], str]


@dataclass(slots=True)
class _Rest:
    """What of a bucket was not considered yet."""

    bucket: Bucket
    at: int = 0

    @property
    def first(self) -> Workload:
        return self.bucket.members[self.at]


@dataclass(slots=True)
class _Lane:
    """The buckets of one queue and priority, the next of them on top of a heap."""

    heap: list[tuple[_Rank, _Rest]] = field(default_factory=list)

    @property
    def first(self) -> Workload:
        return self.heap[0][1].first


class Line:
    """Everybody who waits, next first; what is placed meanwhile decides who is next.

    Whoever takes the next says what became of it: ``go_on`` or ``leave``.
    """

    def __init__(self, draft: Draft) -> None:
        """Line up all pending workloads but those that were decided before."""
        self._draft = draft
        self._shortest = Shortest(draft)
        self._shares = Shares(draft.snapshot, draft.policy.ordering, draft.ledger)
        self._passed = {*draft.waiting, *(p.attempt for p in draft.placements)}
        buckets = draft.memory.part(Buckets).as_of(draft.snapshot.pending)
        self._levels: dict[tuple[bool, int], dict[QueueName, _Lane]] = {}
        for bucket in buckets:
            for rest in self._split(bucket):
                one = rest.first
                level = not is_degraded(one.queue, draft.snapshot), one.priority
                lanes = self._levels.setdefault(level, {})
                lanes.setdefault(one.queue, _Lane()).heap.append((self._rank(one), rest))
        self._order = sorted(self._levels)
        self._is_alone = False
        self._queues: list[tuple[bool, float, tuple[datetime, tuple[int, int], str], _Lane]] = []

    def next(self) -> Workload | None:
        """Return who is considered next; None when all were."""
        while not self._queues:
            if not self._order:
                return None
            lanes = self._levels[self._order.pop()]
            self._is_alone = len(lanes) == 1
            for lane in lanes.values():
                heapify(lane.heap)
                self._push(lane)
        return self._queues[0][-1].first

    def go_on(self) -> None:
        """Go on after the next one was placed, or was refused for itself alone."""
        lane = heappop(self._queues)[-1]
        _, rest = heappop(lane.heap)
        rest.at += 1
        if rest.at < len(rest.bucket.members):
            heappush(lane.heap, (self._rank(rest.first), rest))
        self._push(lane)

    def leave(self) -> list[AttemptId]:
        """Go on after the next one was refused; return all that are refused with it, itself first."""
        lane = heappop(self._queues)[-1]
        _, rest = heappop(lane.heap)
        self._push(lane)
        return rest.bucket.attempts[rest.at :]

    def _push(self, lane: _Lane) -> None:
        if not lane.heap:
            return
        one = lane.first
        if self._is_alone:
            self._queues.append((False, 0.0, age(one), lane))
            return
        borrows = not self._draft.ledger.is_guaranteed(one)
        heappush(self._queues, (borrows, self._shares.share(one.queue), age(one), lane))

    def _rank(self, one: Workload) -> _Rank:
        return one.standing.rank, self._draft.first.get(one.attempt, inf), self._shortest.of(one), *age(one)

    def _split(self, bucket: Bucket) -> Iterator[_Rest]:
        """Yield the bucket, or its members that wait one by one where some of them have a place of their own."""
        apart = self._passed or self._draft.first
        if apart and any(one.attempt in self._passed or one.attempt in self._draft.first for one in bucket.members):
            yield from self._parts(bucket.members)
        else:
            yield _Rest(bucket)

    def _parts(self, members: Iterable[Workload]) -> Iterator[_Rest]:
        waiting = [one for one in members if one.attempt not in self._passed]
        alike = [one for one in waiting if one.attempt not in self._draft.first]
        if alike:
            yield _Rest(Bucket.of(alike))
        for one in waiting:
            if one.attempt in self._draft.first:
                yield _Rest(Bucket.of([one]))
