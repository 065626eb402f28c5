"""Making room: who is told to leave, for whom, and that nobody else takes the room meanwhile."""

from trainwright.core.reasons import Reason
from trainwright.core.workload import Workload
from trainwright.sched.draft import Draft


def keep_claims(draft: Draft) -> None:
    """Hold the room that earlier rounds made for somebody, before anybody else is considered."""


def make_room(workload: Workload, draft: Draft, lack: Reason) -> Reason:  # noqa: ARG001
    """Tell the cheapest sufficient set to leave when that lets ``workload`` start; return why it waits now."""
    return lack
