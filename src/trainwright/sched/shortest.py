"""Who starts first within a queue and a priority: the one that is done soonest, until somebody has waited too long."""

from datetime import timedelta
from math import inf

from trainwright.core.workload import Preemption, Workload
from trainwright.sched.draft import Draft
from trainwright.sched.hazard import Hazards
from trainwright.sched.index import candidate

_HOUR_S = 3600.0
"""Somebody of whom nothing is known, not even how others fared, is taken for one that runs so long."""


class Shortest:
    """The order of one round; it changes with time only when somebody is overdue."""

    def __init__(self, draft: Draft) -> None:
        """Learn from those who ended; those who run are left out, since what they tell changes all the time."""
        self._draft = draft
        self._hazards = Hazards(draft.snapshot.history, ())
        self._learned = bool(draft.snapshot.history.by_size)
        self._overdue = timedelta(seconds=draft.policy.ordering.overdue_s)

    def of(self, one: Workload) -> float:
        """Return minus the ends per second that it promises; those that are overdue come first, all alike."""
        queue = self._draft.snapshot.queues.get(one.queue)
        if queue is not None and queue.strict:
            return 0.0
        if one.contract.preemption is Preemption.TIME_SLICED:
            return 0.0  # its turns are decided elsewhere
        if one.queued_at + self._overdue <= self._draft.now:
            return -inf
        if one.contract.expected_s is None and not self._learned:
            return -1 / _HOUR_S
        self._draft.wake(one.queued_at + self._overdue)
        stands = candidate(one, self._draft.now)
        if stands.left_s is not None:
            return -1.0 / max(stands.left_s, 1.0)
        return -self._hazards.index(self._hazards.known_as(stands.reached))
