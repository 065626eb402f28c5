"""What happened: runs, their steps, and the attempts at them. Records, never rows."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from trainwright.core.artifact import GateResult, Input, Output
from trainwright.core.cache import CacheMode
from trainwright.core.governance import AliasPolicy
from trainwright.core.ids import AttemptId, Digest, ProjectName, RunId, StepName, attempt_id
from trainwright.core.reasons import Reason, ReasonCode
from trainwright.core.records import Records
from trainwright.core.reproduction import Reproduced
from trainwright.core.scalar import Plain
from trainwright.core.states import AttemptState, ExitClass, RunState, StepState
from trainwright.core.workload import Assignment


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
        places: of its replicas, that it holds or held.
        reason: why it waits, or how it ended.
        exit_code: of the command; None when it ended by a signal or never ran.
        signal: that ended the command; None otherwise.
        params: facts the script noted, beside the run's parameters.
        ooms: attempts at its step before it that ran out of memory; they decide how much it has. Not stored: counted.
        key: of what it makes: equal key, equal result; None until it is known, and where nobody asks.
        reuse: why it was answered from memory, or was not; None where nobody asked.
        placed_at: when it was given its places; None before.
        claim: places that are held for it until others have left them; while it is leaving itself, for its successor.
        claimed_at: since when.
        told_at: when it was told to leave; None when it was not.
        served_s: seconds that attempts before it held their places.
        preempted_at: when attempts before it, and this one, were told to leave, oldest first.
    """

    id: AttemptId
    run: RunId
    step: StepName
    number: int
    state: AttemptState
    token: str
    queued_at: datetime
    not_before: datetime | None = None
    places: tuple[Assignment, ...] = ()
    reason: Reason | None = None
    exit_class: ExitClass | None = None
    exit_code: int | None = None
    signal: int | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    metrics: Mapping[str, MetricSummary] = field(default_factory=dict)
    params: Mapping[str, Plain] = field(default_factory=dict)
    ooms: int = 0
    key: Digest | None = None
    reuse: Reason | None = None
    placed_at: datetime | None = None
    claim: tuple[Assignment, ...] = ()
    served_s: float = 0.0
    preempted_at: tuple[datetime, ...] = ()
    claimed_at: datetime | None = None
    told_at: datetime | None = None

    @property
    def devices(self) -> tuple[int, ...]:
        """Return the GPUs of its first place, on that place's node."""
        return self.places[0].devices if self.places else ()

    @property
    def origin(self) -> AttemptId | None:
        """Return the attempt that made what this one stands for; None for one that made it itself."""
        hit = self.reuse is not None and self.reuse.code in {ReasonCode.CACHE_HIT, ReasonCode.TAKEN_OVER}
        return AttemptId(str(self.reuse.evidence["origin"])) if hit and self.reuse else None


@dataclass(frozen=True, slots=True)
class Tally:
    """How the members of a group stand.

    Attributes:
        total: members that there will be; for a loop its most.
        begun: members that were begun, the first ones in order.
        started: of those, members that have had room or were over without any.
        succeeded, failed, skipped, cancelled: members that have ended so.
    """

    total: int
    begun: int = 0
    started: int = 0
    succeeded: int = 0
    failed: int = 0
    skipped: int = 0
    cancelled: int = 0

    @property
    def ended(self) -> int:
        """Return how many members have ended."""
        return self.succeeded + self.failed + self.skipped + self.cancelled


@dataclass(frozen=True, slots=True)
class StepRun:
    """One step of one run: a node of the graph, a group of members, or a member of one.

    Attributes:
        name: as in the plan; members of the group ``eval`` are ``eval.0``, ``eval.1`` …, the steps of a sub-pipeline
            ``sub`` are ``sub.prep``, ``sub.train``.
        position: place of its top step in the plan's order, from 0.
        attempts: number of attempts made so far; groups make none.
        metadata: what its stage asked for and got.
        gates: results of its checks, in their order; empty until it ended.
        parent: the group it is a member of; None at the top.
        item: what ``each`` stands for in a member.
        tally: of a group, from when its members are known.
        forgiven: attempts made before somebody asked for the step to be tried again; they spend no budget.
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
    parent: StepName | None = None
    item: Plain = None
    tally: Tally | None = None
    forgiven: int = 0


@dataclass(frozen=True, slots=True)
class Resumed:
    """What a run takes over from.

    Attributes:
        run: a finished one; what is equal in it is not run again.
        anew: top steps that run in any case, sorted.
    """

    run: RunId
    anew: tuple[StepName, ...] = ()


@dataclass(frozen=True, slots=True)
class Run:
    """One execution of a pipeline.

    Attributes:
        number: 1, 2, 3 … within the project; the order of submission.
        source: the pipeline file, as typed.
        fingerprint: digest of everything that identifies the experiment.
        stop_asked_by: who asked it to stop; None when nobody did.
        revision: grows with every write; guards them.
        cache: what was asked for the whole run; a step may be stricter.
        resumes: what it takes over from; None for a run that stands alone.
        reproduces: what it makes again; None for a run of its own.
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
    cache: CacheMode = CacheMode.AUTO
    resumes: Resumed | None = None
    reproduces: Reproduced | None = None


@dataclass(frozen=True, slots=True)
class RunView:
    """Everything about one run that a decision may look at.

    Attributes:
        steps: in the plan's order, then members in the order in which their groups began.
        attempts: those at one step come oldest first.
        inputs: of finished and live attempts.
        outputs: published ones, by attempt and name.
        baselines: model name → address and metrics of the version in production.
        next_versions: model name → number that its next version will have.
        policies: of the aliases that the run would move.
    """

    run: Run
    steps: Records[StepName, StepRun]
    attempts: Records[AttemptId, Attempt]
    inputs: Mapping[AttemptId, tuple[Input, ...]] = field(default_factory=dict)
    outputs: Records[tuple[AttemptId, str], Output] = field(default_factory=Records)
    baselines: Mapping[str, tuple[str, Mapping[str, float]]] = field(default_factory=dict)
    next_versions: Mapping[str, int] = field(default_factory=dict)
    policies: tuple[AliasPolicy, ...] = ()

    def step(self, name: StepName) -> StepRun:
        """Return the step of that name."""
        return self.steps[name]

    def latest(self, name: StepName) -> Attempt | None:
        """Return the last attempt at a step, or None before the first."""
        number = self.steps[name].attempts
        return self.attempts.get(attempt_id(self.run.id, name, number)) if number else None

    def output(self, step: StepName, name: str) -> Output | None:
        """Return what the last attempt at a step published under that name, or None."""
        number = self.steps[step].attempts
        return self.outputs.get((attempt_id(self.run.id, step, number), name))

    def made(self) -> Iterator[Output]:
        """Yield what the last attempts at all steps published: what an earlier one left counts no more."""
        return (o for o in self.outputs if o.attempt == attempt_id(self.run.id, o.step, self.steps[o.step].attempts))


def steps_of(steps: Iterable[StepRun]) -> Records[StepName, StepRun]:
    """Return steps as records."""
    return Records.of(steps, lambda step: step.name)


def attempts_of(attempts: Iterable[Attempt]) -> Records[AttemptId, Attempt]:
    """Return attempts as records."""
    return Records.of(attempts, lambda attempt: attempt.id)


def outputs_of(outputs: Iterable[Output]) -> Records[tuple[AttemptId, str], Output]:
    """Return outputs as records."""
    return Records.of(outputs, lambda output: (output.attempt, output.name))
