"""What a queue may spend."""

from datetime import UTC, datetime, timedelta

from trainwright.core.queue import Budget, QueueName
from trainwright.core.reasons import Reason, ReasonCode
from trainwright.core.snapshot import ClusterSnapshot
from trainwright.core.workload import Workload
from trainwright.sched.draft import Draft

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def period_of(budget: Budget, now: datetime) -> tuple[datetime, datetime]:
    """Return when the present period of a budget began and when the next one begins."""
    seconds = int((now - _EPOCH).total_seconds()) // budget.period_s * budget.period_s
    start = _EPOCH + timedelta(seconds=seconds)
    return start, start + timedelta(seconds=budget.period_s)


def is_degraded(name: QueueName, snapshot: ClusterSnapshot) -> bool:
    """Tell whether a queue runs only on room that nobody else wants: its budget is spent, and asks for that."""
    queue = snapshot.queues.get(name)
    if queue is None or queue.budget is None or not queue.budget.degrade:
        return False
    return snapshot.spent.get(name, 0.0) >= queue.budget.most


def over_budget(workload: Workload, draft: Draft) -> Reason | None:
    """Return that the queue has spent what it may in this period; None when it has not, or degrades instead."""
    queue = draft.snapshot.queues.get(workload.queue)
    if queue is None or queue.budget is None or queue.budget.degrade:
        return None
    spent = draft.snapshot.spent.get(workload.queue, 0.0)
    if spent < queue.budget.most:
        return None
    _, at = period_of(queue.budget, draft.now)
    draft.wake(at)
    told = {"queue": queue.name, "spent": f"{spent:.2f}", "most": f"{queue.budget.most:g}", "at": at.isoformat()}
    return Reason(ReasonCode.OVER_BUDGET, {**told})
