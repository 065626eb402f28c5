"""How far a job has come while it runs, is told to leave, loses work and starts again."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from trainwright.core.workload import Workload
from trainwright.sim.job import Job


@dataclass(slots=True)
class Progress:
    """One job under way; mutable, known to the simulation alone.

    Attributes:
        waits: as it queues: what it becomes again each time it has left.
        left_s: seconds of work with all replicas, as of the beginning of this start.
        start: number of this start; an end that belongs to an earlier one is no end.
        began: of this start; None while it waits.
        told_at: when it was told to leave; None when it was not.
        told: all such times that it did not answer by finishing.
    """

    job: Job
    waits: Workload
    queued_at: datetime
    left_s: float
    start: int = 0
    first: datetime | None = None
    began: datetime | None = None
    speed: float = 1.0
    told_at: datetime | None = None
    told: list[datetime] = field(default_factory=list)
    held_s: float = 0.0
    finished: datetime | None = None

    def begin(self, now: datetime, replicas: int) -> datetime:
        """Let it start with so many replicas; return when it ends if nobody disturbs it."""
        wanted = sum(pod_set.count for pod_set in self.job.shape.pod_sets)
        self.start += 1
        self.first = self.first or now
        self.began, self.told_at = now, None
        self.speed = replicas / wanted
        return now + timedelta(seconds=self._warm_up_s + self.left_s / self.speed)

    def leave_at(self, now: datetime) -> datetime:
        """Return when it is gone that is told to leave now: it has saved, or its grace is over."""
        return now + timedelta(seconds=min(self.job.save_s, self.job.contract.grace_s))

    def stop(self, now: datetime, saved_as_of: datetime | None) -> None:
        """End this start without the job being done.

        Args:
            now: it is gone.
            saved_as_of: all work up to here is kept; None = only what lies before its last checkpoint is.
        """
        began = self.began or now
        worked_s = ((saved_as_of or now) - began).total_seconds() - self._warm_up_s
        if saved_as_of is None:
            every = self.job.checkpoint_s
            worked_s = worked_s // every * every if every else 0.0
        self.left_s = max(0.0, self.left_s - max(0.0, worked_s) * self.speed)
        self._gone(now)

    def finish(self, now: datetime) -> None:
        """End the job."""
        self._gone(now)
        self.left_s, self.finished = 0.0, now

    @property
    def saves_when_told(self) -> bool:
        """Tell whether it has saved before its grace is over."""
        return self.job.save_s <= self.job.contract.grace_s

    @property
    def _warm_up_s(self) -> float:
        return self.job.contract.restart_cost_s if self.start > 1 else 0.0

    def _gone(self, now: datetime) -> None:
        if self.began is not None:
            self.held_s += (now - self.began).total_seconds()
        self.began = self.told_at = None
