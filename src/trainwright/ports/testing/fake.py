"""A backend in memory: attempts take as long and end as the test says, on a virtual clock."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

from trainwright.core.artifact import Content
from trainwright.core.clock import Clock
from trainwright.core.ids import AttemptId
from trainwright.core.job import JobSpec
from trainwright.core.node import Node
from trainwright.core.resources import Resources
from trainwright.core.run import MetricSummary
from trainwright.core.scalar import Plain
from trainwright.ports.backend import Backend, Ended, Observation, Running, SupportsPreemption

_TOTAL = Resources(cpu_milli=4000, memory_bytes=16 * 2**30)
NODE = Node("local", _TOTAL, _TOTAL)


@dataclass(frozen=True, slots=True)
class Script:
    """How an attempt goes.

    Attributes:
        lasts_s: until it ends by itself; None = never.
        stop_takes_s: from being asked to stop until it is gone.
        leaves_in_s: from a notice until it leaves by itself; None = never: its grace has to end first.
        metrics: last values.
        outputs: what it publishes, when it ends with ``exited`` and 0.
        refusal: raised by ``start``; None = accepted.
    """

    lasts_s: float | None = 1.0
    cause: str = "exited"
    exit_code: int | None = 0
    signal: int | None = None
    message: str = ""
    stop_takes_s: float = 0.0
    leaves_in_s: float | None = 0.0
    metrics: Mapping[str, float] = field(default_factory=dict)
    params: Mapping[str, Plain] = field(default_factory=dict)
    outputs: Mapping[str, Content] = field(default_factory=dict)
    refusal: Exception | None = None


class FakeBackend:
    """Keeps the promises of ``Backend`` without a process.

    Attributes:
        started: jobs that began, in order, each once.
        asked: every call of ``start``, also repeated ones.
        stops: attempts and reasons, in order of asking.
        notices: attempts, reasons and graces of ``preempt``, in order of asking.
    """

    name = "fake"

    def __init__(
        self, clock: Clock, script: Callable[[JobSpec], Script] = lambda _: Script(), nodes: tuple[Node, ...] = (NODE,)
    ) -> None:
        self._clock = clock
        self._script = script
        self._nodes = nodes
        self._ends: dict[AttemptId, Ended | None] = {}  # None: goes on until it is stopped
        self._began: dict[AttemptId, Running] = {}
        self._jobs: dict[AttemptId, JobSpec] = {}
        self.started: list[JobSpec] = []
        self.asked: list[AttemptId] = []
        self.stops: list[tuple[AttemptId, str]] = []
        self.notices: list[tuple[AttemptId, str, float]] = []

    def nodes(self) -> tuple[Node, ...]:
        """See ``Backend.nodes``."""
        return self._nodes

    def start(self, job: JobSpec) -> None:
        """See ``Backend.start``."""
        self.asked.append(job.attempt)
        if job.attempt in self._jobs:
            return
        script = self._script(job)
        if script.refusal is not None:
            raise script.refusal
        self._jobs[job.attempt] = job
        now = self._clock.now()
        self._began[job.attempt] = Running(job.attempt, now)
        noticed = [("preempted", attempt, why) for attempt, why, _ in self.notices]
        for cause, attempt, why in [*(("stopped", *asked) for asked in self.stops), *noticed]:
            if attempt == job.attempt:
                self._ends[attempt] = Ended(attempt, job.token, cause, now, message=why)
                return
        self.started.append(job)
        self._ends[job.attempt] = self._end(job, script)

    def observe(self, attempt: AttemptId) -> Observation:
        """See ``Backend.observe``."""
        if attempt not in self._jobs:
            return None
        end = self._ends[attempt]
        return end if end is not None and end.finished_at <= self._clock.now() else self._began[attempt]

    def stop(self, attempt: AttemptId, why: str) -> None:
        """See ``Backend.stop``."""
        if isinstance(self.observe(attempt), Ended) or attempt in [a for a, _ in self.stops]:
            return
        self.stops.append((attempt, why))
        job = self._jobs.get(attempt)
        if job is not None:
            self._finish(job, "stopped", why, self._script(job).stop_takes_s)

    def preempt(self, attempt: AttemptId, why: str, grace_s: float) -> None:
        """See ``SupportsPreemption.preempt``."""
        if isinstance(self.observe(attempt), Ended) or attempt in [a for a, _, _ in self.notices]:
            return
        self.notices.append((attempt, why, grace_s))
        job = self._jobs.get(attempt)
        if job is None or attempt in [a for a, _ in self.stops]:
            return
        leaves_in_s = self._script(job).leaves_in_s
        takes_s = grace_s if leaves_in_s is None else min(grace_s, leaves_in_s)
        end = self._ends[attempt]
        if end is None or end.finished_at > self._clock.now() + timedelta(seconds=takes_s):
            self._finish(job, "preempted", why, takes_s)

    def save(self, attempt: AttemptId) -> None:
        """Let the attempt commit a checkpoint now."""
        self._began[attempt] = replace(self._began[attempt], saved_at=self._clock.now())

    def wait(self, attempts: Sequence[AttemptId], seconds: float) -> None:
        """Move the clock to the first end among ``attempts``, at most by ``seconds``."""
        ends = [e.finished_at for a in attempts if (e := self._ends.get(a)) is not None]
        left = (min(ends) - self._clock.now()).total_seconds() if ends else seconds
        self._clock.sleep(min(max(left, 0.0), seconds))

    def lose(self, attempt: AttemptId) -> None:
        """Let the attempt's runner die without a result."""
        self._finish(self._jobs[attempt], "lost", "its runner died without a result", 0.0)

    def finish(self, attempt: AttemptId) -> None:
        """Let the attempt end now, as its script says."""
        job = self._jobs[attempt]
        if not isinstance(self.observe(attempt), Ended):
            self._ends[attempt] = self._end(job, self._script(job), at_once=True)

    def _finish(self, job: JobSpec, cause: str, message: str, takes_s: float) -> None:
        if not isinstance(self.observe(job.attempt), Ended):
            at = self._clock.now() + timedelta(seconds=takes_s)
            began = self._began[job.attempt].started_at
            self._ends[job.attempt] = Ended(job.attempt, job.token, cause, at, started_at=began, message=message)

    def _end(self, job: JobSpec, script: Script, *, at_once: bool = False) -> Ended | None:
        if script.lasts_s is None and not at_once:
            return None
        ended_well = script.cause == "exited" and script.exit_code == 0
        return Ended(
            attempt=job.attempt,
            token=job.token,
            cause=script.cause,
            finished_at=self._clock.now() + timedelta(seconds=0.0 if at_once else script.lasts_s or 0.0),
            started_at=self._began[job.attempt].started_at,
            exit_code=script.exit_code if script.cause == "exited" else None,
            signal=script.signal,
            message=script.message,
            outputs=dict(script.outputs) if ended_well else {},
            metrics={name: MetricSummary(value, value, value, 1) for name, value in script.metrics.items()},
            params=dict(script.params),
        )


_: tuple[type[Backend], type[SupportsPreemption]] = (FakeBackend, FakeBackend)
