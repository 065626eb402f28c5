"""What a turn of the loop wants written and done: decided purely, committed in one transaction."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from trainwright.core.artifact import Content, Evidence, GateResult, Input, Output, Signature
from trainwright.core.cache import CacheEntry
from trainwright.core.ids import AttemptId, Digest, RunId, StepName
from trainwright.core.run import Attempt, Run, RunView, StepRun
from trainwright.core.scalar import Plain


class Act(StrEnum):
    """What an instruction asks a backend to do."""

    START = "start"
    STOP = "stop"
    PREEMPT = "preempt"


@dataclass(frozen=True, slots=True)
class Instruction:
    """A row of the outbox: carried out at least once, idempotent by attempt."""

    act: Act
    attempt: AttemptId
    why: str = ""


@dataclass(frozen=True, slots=True)
class Note:
    """What the scheduler did to whom, for the audit trail.

    Attributes:
        action: ``attempt.preempted``, ``attempt.resized``, ``attempt.claim``.
        details: rule, beneficiary, what is lost.
    """

    action: str
    subject: str
    details: Mapping[str, Plain]


@dataclass(frozen=True, slots=True)
class RegisterModel:
    """A new version for the registry.

    Attributes:
        version: the next one as the decision saw it; another one's arrival before makes the turn stale.
        alias: moved to it; empty = none.
        evidence: what the policies of the alias said.
        signature: None when nobody stated one.
        card: content with its author's text; None without one.
    """

    model: str
    version: int
    alias: str
    content: Content
    run: RunId
    step: StepName
    output: str
    metrics: Mapping[str, float]
    gates: tuple[GateResult, ...]
    evidence: tuple[Evidence, ...] = ()
    signature: Signature | None = None
    card: Digest | None = None


@dataclass(frozen=True, slots=True)
class Changes:
    """Everything one turn writes about one run. Empty when nothing changed.

    Attributes:
        run: its new record, when it changed.
        attempts: new and changed ones.
        inputs: of new attempts.
        entries: to remember; each comes with the end of its step.
        notes: for the audit trail; each comes with a change of its attempt.
    """

    run: Run | None = None
    steps: tuple[StepRun, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    inputs: Mapping[AttemptId, tuple[Input, ...]] = field(default_factory=dict)
    outputs: tuple[Output, ...] = ()
    models: tuple[RegisterModel, ...] = ()
    instructions: tuple[Instruction, ...] = ()
    entries: tuple[CacheEntry, ...] = ()
    notes: tuple[Note, ...] = ()

    def __bool__(self) -> bool:
        return any((self.run, self.steps, self.attempts, self.outputs, self.models, self.instructions))

    def then(self, later: "Changes") -> "Changes":
        """Return both as one; ``later`` was decided on a view that has these already."""
        steps = {s.name: s for s in (*self.steps, *later.steps)}
        attempts = {a.id: a for a in (*self.attempts, *later.attempts)}
        return Changes(
            run=later.run or self.run,
            steps=tuple(steps.values()),
            attempts=tuple(attempts.values()),
            inputs={**self.inputs, **later.inputs},
            outputs=(*self.outputs, *later.outputs),
            models=(*self.models, *later.models),
            instructions=(*self.instructions, *later.instructions),
            entries=(*self.entries, *later.entries),
            notes=(*self.notes, *later.notes),
        )


def applied(view: RunView, changes: Changes) -> RunView:
    """Return the view as it will be once the changes are committed."""
    return replace(
        view,
        run=changes.run or view.run,
        steps=view.steps.plus({s.name: s for s in changes.steps}),
        attempts=view.attempts.plus({a.id: a for a in changes.attempts}),
        inputs={**view.inputs, **changes.inputs} if changes.inputs else view.inputs,
        outputs=view.outputs.plus({(o.attempt, o.name): o for o in changes.outputs}),
        next_versions={**view.next_versions, **{m.model: m.version + 1 for m in changes.models}},
    )
