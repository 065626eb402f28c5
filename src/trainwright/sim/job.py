"""What a load is made of, and what became of each piece of it."""

from dataclasses import dataclass, field
from datetime import datetime

from trainwright.core.queue import DEFAULT_QUEUE, QueueName
from trainwright.core.reasons import Reason
from trainwright.core.workload import Contract, Shape


@dataclass(frozen=True, slots=True)
class Job:
    """One piece of work that somebody submits.

    Attributes:
        submit_s: seconds after the beginning of the load.
        duration_s: seconds of work with all of its replicas; with fewer it takes longer in proportion.
        user: for reports; its kin, as far as the load knows nothing better.
        save_s: seconds from a notice until it has saved its work and is gone; longer than its grace, and it loses
            what it did since its last checkpoint.
        checkpoint_s: it saves so often by itself; None = only when it is told to leave.
    """

    name: str
    submit_s: float
    duration_s: float
    shape: Shape
    queue: QueueName = DEFAULT_QUEUE
    user: str = ""
    priority: int = 0
    contract: Contract = field(default_factory=Contract)
    save_s: float = 5.0
    checkpoint_s: float | None = None

    @property
    def gpu_milli(self) -> int:
        """Return thousandths of GPUs that all of its replicas ask for."""
        return sum(pod_set.asked.gpu_milli * pod_set.count for pod_set in self.shape.pod_sets)


@dataclass(frozen=True, slots=True)
class Life:
    """What became of a job.

    Attributes:
        started_at: first start; None = never.
        finished_at: None = never.
        preempted_at: when it was told to leave, or lost its node, and did not finish before it was gone.
        held_s: seconds that it held room, all its starts together.
        lost_s: of these, seconds that came to nothing: work done twice, restarts, saving.
        reason: why it had not started, or not again, when nothing could happen any more; None when it finished.
    """

    job: Job
    queued_at: datetime
    started_at: datetime | None = None
    finished_at: datetime | None = None
    preempted_at: tuple[datetime, ...] = ()
    held_s: float = 0.0
    lost_s: float = 0.0
    reason: Reason | None = None

    @property
    def waited_s(self) -> float | None:
        """Return the seconds without room from submission to end; None when it did not finish."""
        if self.finished_at is None:
            return None
        return max(0.0, (self.finished_at - self.queued_at).total_seconds() - self.held_s)

    @property
    def took_s(self) -> float | None:
        """Return the seconds from submission to end; None when it did not finish."""
        return None if self.finished_at is None else (self.finished_at - self.queued_at).total_seconds()
