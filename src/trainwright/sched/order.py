"""In which order those who wait are considered."""

from collections.abc import Iterator

from trainwright.core.workload import Workload
from trainwright.sched.draft import Draft


def turns(draft: Draft) -> Iterator[Workload]:
    """Yield every pending workload once; what is placed meanwhile may decide who is next."""
    yield from sorted(draft.snapshot.pending, key=_precedence)


def _precedence(workload: Workload) -> tuple[int, int, float, tuple[int, int], str]:
    standing = workload.standing
    return -workload.priority, standing.rank, workload.queued_at.timestamp(), workload.order, workload.attempt
