"""Who shares a queue by time, and how far all that live have come; kept up to date by what changed."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import NamedTuple

from trainwright.core.history import bin_of, gang_size
from trainwright.core.ids import AttemptId
from trainwright.core.queue import QueueName
from trainwright.core.records import Records
from trainwright.core.workload import Preemption, Shape, Workload
from trainwright.sched.hazard import Living, Reached
from trainwright.sched.index import Candidate, candidate, served_s

_EVER = datetime(1970, 1, 1, tzinfo=UTC)


class Key(NamedTuple):
    """Those who may have one another's room; ``gpu``: counted in GPUs, not in processors."""

    priority: int
    queue: QueueName
    pools: tuple[str, ...]
    gpu: bool


@dataclass(slots=True)
class Waiting:
    """Those of a key who wait.

    Attributes:
        bound: those among them that something may keep from starting beside room.
        counts: of each shape.
        shapes: somebody of each, who waits or did.
    """

    all: dict[AttemptId, Candidate] = field(default_factory=dict)
    bound: set[AttemptId] = field(default_factory=set)
    counts: Counter[Shape] = field(default_factory=Counter)
    shapes: dict[Shape, Workload] = field(default_factory=dict)


class Sharers:
    """All that wait, as time slicing sees them.

    Attributes:
        waiting: by key; only those whose contract says so.
        priorities: how many wait at each, of everybody.
        living: of everybody who waits.
    """

    def __init__(self) -> None:
        """Begin with nobody."""
        self.waiting: dict[Key, Waiting] = {}
        self.priorities: Counter[int] = Counter()
        self.living = Living()
        self._pending: Records[AttemptId, Workload] = Records()

    def as_of(self, pending: Records[AttemptId, Workload]) -> "Sharers":
        """Return itself once it knows these and nobody else."""
        changed, gone = pending.changed_since(self._pending)
        for attempt in (*gone, *(one.attempt for one in changed)):
            before = self._pending.get(attempt)
            if before is not None:
                self._count(before, -1)
                self._remove(before)
        for one in changed:
            self._count(one, 1)
            self._add(one)
        self._pending = pending
        return self

    def _count(self, one: Workload, by: int) -> None:
        self.priorities[one.priority] += by
        self.living.count(_reached(one, _EVER), by)

    def _add(self, one: Workload) -> None:
        if one.contract.preemption is not Preemption.TIME_SLICED:
            return
        group = self.waiting.setdefault(key_of(one), Waiting())
        group.all[one.attempt] = candidate(one, _EVER)
        group.counts[one.shape] += 1
        group.shapes.setdefault(one.shape, one)
        if _is_bound(one):
            group.bound.add(one.attempt)

    def _remove(self, one: Workload) -> None:
        if one.contract.preemption is not Preemption.TIME_SLICED:
            return
        key = key_of(one)
        group = self.waiting[key]
        del group.all[one.attempt]
        group.counts[one.shape] -= 1
        if not group.counts[one.shape]:
            del group.counts[one.shape], group.shapes[one.shape]
        group.bound.discard(one.attempt)
        if not group.all:
            del self.waiting[key]


def key_of(one: Workload) -> Key:
    """Return with whom it shares."""
    return Key(one.priority, one.queue, one.shape.pools, any(p.asked.gpu_milli for p in one.shape.pod_sets))


def units_of(shape: Shape, *, gpu: bool) -> int:
    """Return what it takes altogether: thousandths of GPUs, or of cores."""
    return sum(p.count * (p.asked.gpu_milli if gpu else p.asked.cpu_milli) for p in shape.pod_sets)


def living_of(holding: Iterable[Workload], now: datetime) -> Living:
    """Return how far those have come who hold room."""
    living = Living()
    for one in holding:
        living.count(_reached(one, now), 1)
    return living


def _reached(one: Workload, now: datetime) -> Reached:
    return gang_size(one.shape), one.contract.kin, bin_of(served_s(one, now))


def _is_bound(one: Workload) -> bool:
    standing, contract = one.standing, one.contract
    return bool(standing.held or standing.not_before or contract.window or one.shape.most_price is not None)
