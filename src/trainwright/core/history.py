"""How long workloads ran, counted in classes of time, so that a policy can learn from it without seeing the future.

All of it are counts and whole seconds: what was learned does not depend on the order in which it was added up.
"""

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from trainwright.core.node import WHOLE
from trainwright.core.records import Records
from trainwright.core.workload import Shape, Workload

_SHORTEST_S, _LONGEST_S, _BINS = 30.0, 6_000_000.0, 64

EDGES: tuple[int, ...] = (
    0,
    *(round(_SHORTEST_S * (_LONGEST_S / _SHORTEST_S) ** (i / (_BINS - 1))) for i in range(_BINS)),
)
"""Bin i of attained service is from the i-th of these seconds up to the next; the last bin never ends."""

BINS = len(EDGES) - 1
"""Classes of time; service beyond the last edge counts in the last of them."""

LOOK_BACK_H = 7 * 24
"""So many hours of arrivals tell what load is usual."""

_HOUR_S = 3600


def bin_of(served_s: float) -> int:
    """Return the bin of so many seconds of service."""
    return min(bisect_right(EDGES, served_s), BINS) - 1


def gang_size(shape: Shape) -> int:
    """Return the GPUs of the whole gang, a begun one counted as one; 0 = runs on processors alone."""
    return -(-sum(pod_set.count * pod_set.asked.gpu_milli for pod_set in shape.pod_sets) // WHOLE)


def hour_of(at: datetime) -> int:
    """Return the hour since 1970 that this instant lies in."""
    return int(at.timestamp()) // _HOUR_S


@dataclass(frozen=True, slots=True)
class Lives:
    """Of one class of workloads: when they ended.

    Attributes:
        ended: bin of attained service → how many ended in it.
    """

    ended: Mapping[int, int] = field(default_factory=dict)

    def plus(self, served_bin: int) -> "Lives":
        """Return these with one more that ended in that bin."""
        return Lives({**self.ended, served_bin: self.ended.get(served_bin, 0) + 1})


@dataclass(frozen=True, slots=True)
class History:
    """Ends by size of the gang and by kin.

    Attributes:
        by_size: GPUs of the whole gang → lives.
        by_kin: kin → lives.
        work: hour since 1970 → GPU-seconds of those that were queued in it and have ended; of the last week alone.
    """

    by_size: Mapping[int, Lives] = field(default_factory=dict)
    by_kin: Records[str, Lives] = field(default_factory=Records)
    work: Mapping[int, int] = field(default_factory=dict)

    def with_end(self, workload: Workload, served_s: float, at: datetime) -> "History":
        """Return the history once ``workload`` has done all its work, in so many seconds of running altogether.

        Whoever was killed, cancelled or told to leave has not ended: until it does, its time counts as that of a live
        one, and afterwards not at all.
        """
        size, kin, served_bin = gang_size(workload.shape), workload.contract.kin, bin_of(served_s)
        by_size = {**self.by_size, size: self.by_size.get(size, Lives()).plus(served_bin)}
        by_kin = self.by_kin.plus({kin: (self.by_kin.get(kin) or Lives()).plus(served_bin)}) if kin else self.by_kin
        return History(by_size, by_kin, self._with_work(hour_of(workload.queued_at), round(size * served_s), at))

    def _with_work(self, hour: int, gpu_seconds: int, at: datetime) -> dict[int, int]:
        oldest = hour_of(at) - LOOK_BACK_H
        work = {known: amount for known, amount in self.work.items() if known > oldest}
        if hour > oldest:
            work[hour] = work.get(hour, 0) + gpu_seconds
        return work
