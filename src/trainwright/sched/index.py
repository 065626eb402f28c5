"""What room is worth to a workload: how soon it will be done with it, and how long it has waited."""

from dataclasses import dataclass
from datetime import datetime
from math import sqrt

from trainwright.core.history import bin_of, gang_size
from trainwright.core.ids import AttemptId
from trainwright.core.workload import Workload
from trainwright.sched.hazard import Hazards, Reached
from trainwright.sched.policy import Ordering

_SOONEST_S = 1.0
"""Nobody is worth more for ending within a second."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A workload as it stands at one instant; one that waits stands so until it is changed.

    Attributes:
        age: sorts equal ones, the older first.
        since: seconds since 1970 at which it was queued.
        served_s: seconds that it ran altogether.
        left_s: seconds that it will still run; None where that is not known, or what was said has proven wrong.
        reached: by which it is compared with others where ``left_s`` is None.
    """

    workload: Workload
    age: tuple[datetime, tuple[int, int], AttemptId]
    since: float
    served_s: float
    left_s: float | None
    reached: Reached


def candidate(workload: Workload, now: datetime) -> Candidate:
    """Return how it stands; ``now`` counts where it runs."""
    served, contract = served_s(workload, now), workload.contract
    left = None if contract.expected_s is None or contract.expected_s <= served else contract.expected_s - served
    return Candidate(
        workload,
        (workload.queued_at, workload.order, workload.attempt),
        workload.queued_at.timestamp(),
        served,
        left,
        (gang_size(workload.shape), contract.kin, bin_of(served)),
    )


def served_s(workload: Workload, now: datetime) -> float:
    """Return for how long it ran, before and now."""
    standing = workload.standing
    if standing.started_at is None or not standing.places:
        return standing.served_s
    return standing.served_s + max((now - standing.started_at).total_seconds(), 0.0)


def ageing(waited_s: float, ordering: Ordering) -> float:
    """Return by what age multiplies worth: the eighth root, which is the same on loops, arrays and all machines."""
    return sqrt(sqrt(sqrt(1.0 + max(waited_s, 0.0) / ordering.ageing_s)))


def worth(one: Candidate, hazards: Hazards, now_s: float, ordering: Ordering) -> float:
    """Return ends per second of service that it promises, raised by its age; always above 0."""
    left = one.left_s
    rate = hazards.index(hazards.known_as(one.reached)) if left is None else 1.0 / max(left, _SOONEST_S)
    return rate * ageing(now_s - one.since, ordering)
