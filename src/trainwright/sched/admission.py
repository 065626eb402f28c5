"""Whether a workload may start at all now, wherever there is room: holds, cool-downs, windows, budgets."""

from collections.abc import Callable

from trainwright.core.queue import Queue
from trainwright.core.reasons import Reason, ReasonCode
from trainwright.core.workload import Workload
from trainwright.sched.budget import over_budget
from trainwright.sched.draft import Draft
from trainwright.sched.never import Never
from trainwright.sched.price import too_expensive
from trainwright.sched.window import outside_window

Check = Callable[[Workload, Draft], Reason | None]


def not_admitted(workload: Workload, draft: Draft) -> Reason | None:
    """Return the first rule that keeps it from starting now; None when none does."""
    for check in CHECKS:
        reason = check(workload, draft)
        if reason is not None:
            return reason
    return None


def never(workload: Workload, draft: Draft) -> Reason | None:
    """Return why it can never start here, neither now nor later; None when it may one day."""
    impossible = never_fits(workload, draft)
    if impossible is None:
        lack = draft.ledger.refusal(workload)
        return lack if lack is not None and lack.code is ReasonCode.NEVER_WITHIN_QUOTA else None
    return impossible


def never_fits(workload: Workload, draft: Draft) -> Reason | None:
    """Return why the nodes, were they empty, could not hold it; None when they could."""
    snapshot = draft.snapshot
    return draft.memory.part(Never).reason(workload.shape, snapshot.nodes, draft.ledger.machines, snapshot.pools)


def _behind(workload: Workload, draft: Draft) -> Reason | None:
    return draft.behind.get(workload.queue)


def _held(workload: Workload, draft: Draft) -> Reason | None:
    if workload.standing.held:
        return Reason(ReasonCode.ON_HOLD, {"by": "somebody holds it", "what": workload.label})
    queue = draft.snapshot.queues.get(workload.queue, Queue(workload.queue))
    if queue.held:
        return Reason(ReasonCode.ON_HOLD, {"by": f"the queue {queue.name} is held", "what": queue.name})
    return None


def _cooling(workload: Workload, draft: Draft) -> Reason | None:
    standing = workload.standing
    if standing.not_before is None or standing.not_before <= draft.now or not standing.preempted_at:
        return None
    draft.wake(standing.not_before)
    since, at = standing.preempted_at[-1].isoformat(), standing.not_before.isoformat()
    return Reason(ReasonCode.COOLING_DOWN, {"since": since, "at": at})


CHECKS: tuple[Check, ...] = (_behind, _held, _cooling, outside_window, over_budget, too_expensive)
"""In the order in which they are asked; the first that says no is the reason."""
