"""What happened: runs, their steps, and the attempts at them. Records, never rows."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from trainwright.core.artifact import GateResult, Input, Output
from trainwright.core.ids import AttemptId, Digest, ProjectName, RunId, StepName
from trainwright.core.reasons import Reason
from trainwright.core.scalar import Plain
from trainwright.core.states import AttemptState, ExitClass, RunState, StepState


@dataclass(frozen=True, slots=True)
class MetricSummary:
    """One metric of one attempt; the series itself is a file of the attempt.

    Attributes:
        last: the final value; what gates and comparisons use.
        low, high: extremes of the numbers among them; NaN when there was none.
        count: points logged.
        last_step: step given with the last point; None without one.
    """

    last: float
    low: float
    high: float
    count: int
    last_step: int | None = None


@dataclass(frozen=True, slots=True)
class Attempt:
    """One execution of a step.

    Attributes:
        token: proves that a result belongs to this submission.
        not_before: when a repetition may start; None = at once.
        devices: GPUs it holds or held.
        reason: why it waits, or how it ended.
        exit_code: of the command; None when it ended by a signal or never ran.
        signal: that ended the command; None otherwise.
        params: facts the script noted, beside the run's parameters.
    """

    id: AttemptId
    run: RunId
    step: StepName
    number: int
    state: AttemptState
    token: str
    queued_at: datetime
    not_before: datetime | None = None
    devices: tuple[int, ...] = ()
    reason: Reason | None = None
    exit_class: ExitClass | None = None
    exit_code: int | None = None
    signal: int | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    metrics: Mapping[str, MetricSummary] = field(default_factory=dict)
    params: Mapping[str, Plain] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StepRun:
    """One step of one run.

    Attributes:
        position: place in the plan's order, from 0.
        attempts: number of attempts made so far.
        metadata: what its stage asked for and got.
        gates: results of its checks, in their order; empty until it ended.
    """

    run: RunId
    name: StepName
    position: int
    state: StepState
    reason: Reason | None = None
    attempts: int = 0
    started_at: datetime | None = None
    finished_at: datetime | None = None
    metadata: Mapping[str, Plain] = field(default_factory=dict)
    gates: tuple[GateResult, ...] = ()


@dataclass(frozen=True, slots=True)
class Run:
    """One execution of a pipeline.

    Attributes:
        number: 1, 2, 3 … within the project; the order of submission.
        source: the pipeline file, as typed.
        fingerprint: digest of everything that identifies the experiment.
        stop_asked_by: who asked it to stop; None when nobody did.
        revision: grows with every write; guards them.
    """

    id: RunId
    project: ProjectName
    number: int
    pipeline: str
    source: str
    plan_digest: Digest
    fingerprint: Digest
    params: Mapping[str, Plain]
    state: RunState
    submitted_at: datetime
    submitted_by: str
    reason: Reason | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    stop_asked_by: str | None = None
    revision: int = 0


@dataclass(frozen=True, slots=True)
class RunView:
    """Everything about one run that a decision may look at.

    Attributes:
        steps: in the plan's order.
        attempts: by number, so that those at one step come oldest first.
        inputs: of finished and live attempts.
        outputs: published ones.
        baselines: model name → address and metrics of the version in production.
        next_versions: model name → number that its next version will have.
    """

    run: Run
    steps: tuple[StepRun, ...]
    attempts: tuple[Attempt, ...]
    inputs: Mapping[AttemptId, tuple[Input, ...]] = field(default_factory=dict)
    outputs: tuple[Output, ...] = ()
    baselines: Mapping[str, tuple[str, Mapping[str, float]]] = field(default_factory=dict)
    next_versions: Mapping[str, int] = field(default_factory=dict)

    def step(self, name: StepName) -> StepRun:
        """Return the step of that name."""
        return next(s for s in self.steps if s.name == name)

    def latest(self, name: StepName) -> Attempt | None:
        """Return the last attempt at a step, or None before the first."""
        return next((a for a in reversed(self.attempts) if a.step == name), None)
