"""Reservations: the first in line that waits for much is not overtaken for ever by those who want little."""

from trainwright.core.reasons import Reason
from trainwright.core.workload import Assignment, Workload
from trainwright.sched.draft import Draft


def reserve(workload: Workload, draft: Draft) -> None:
    """Reserve room for one that does not fit now, when it has waited long enough."""


def would_delay(workload: Workload, places: tuple[Assignment, ...], draft: Draft) -> Reason | None:  # noqa: ARG001
    """Return the reservation that these places would delay; None when they delay nobody."""
    return None
