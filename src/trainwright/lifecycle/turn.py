"""The working copy of one decision: what changed stands over the records, and what has to be looked at again."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime

from trainwright.core.artifact import Input, Output
from trainwright.core.changes import Changes, Instruction, Note, RegisterModel
from trainwright.core.ids import AttemptId, StepName, attempt_id
from trainwright.core.reasons import Reason
from trainwright.core.run import Attempt, Run, RunView, StepRun, Tally
from trainwright.core.states import StepState
from trainwright.plan.plan import Plan, within

_COUNTED = {
    StepState.SUCCEEDED: "succeeded",
    StepState.CACHED: "succeeded",
    StepState.FAILED: "failed",
    StepState.SKIPPED: "skipped",
    StepState.CANCELLED: "cancelled",
}
_STARTED = frozenset({StepState.RUNNING, StepState.PREEMPTING, *_COUNTED})


def counted(tally: Tally, state: StepState) -> Tally:
    """Return a tally with one more member that was over when it was begun."""
    return replace(tally, started=tally.started + 1, **{_COUNTED[state]: getattr(tally, _COUNTED[state]) + 1})


@dataclass(frozen=True, slots=True)
class Chance:
    """Randomness, drawn outside.

    Attributes:
        jitter_ratio: 0..1.
        token: returns a fresh secret for each new attempt.
    """

    jitter_ratio: float
    token: Callable[[], str]


@dataclass
class Turn:
    """Reads like the records, with everything decided so far.

    Attributes:
        run, steps, attempts: those that changed.
        todo: steps to be looked at, in the order in which they came up.
    """

    plan: Plan
    view: RunView
    now: datetime
    chance: Chance
    run: Run
    steps: dict[StepName, StepRun] = field(default_factory=dict)
    attempts: dict[AttemptId, Attempt] = field(default_factory=dict)
    inputs: dict[AttemptId, tuple[Input, ...]] = field(default_factory=dict)
    outputs: dict[tuple[AttemptId, str], Output] = field(default_factory=dict)
    models: list[RegisterModel] = field(default_factory=list)
    instructions: list[Instruction] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    todo: dict[StepName, None] = field(default_factory=dict)

    def step(self, name: StepName) -> StepRun:
        """Return a step as it is by now."""
        return self.steps.get(name) or self.view.steps[name]

    def has_step(self, name: StepName) -> bool:
        """Tell whether there is a step of that name by now."""
        return name in self.steps or name in self.view.steps

    def attempt(self, identity: AttemptId) -> Attempt | None:
        """Return an attempt as it is by now, or None."""
        return self.attempts.get(identity) or self.view.attempts.get(identity)

    def of_step(self, name: StepName) -> list[Attempt]:
        """Return the attempts at a step, oldest first."""
        ids = (attempt_id(self.run.id, name, number) for number in range(1, self.step(name).attempts + 1))
        return [attempt for attempt in map(self.attempt, ids) if attempt is not None]

    def latest(self, name: StepName) -> Attempt | None:
        """Return the last attempt at a step, or None before the first."""
        number = self.step(name).attempts
        return self.attempt(attempt_id(self.run.id, name, number)) if number else None

    def output(self, step: StepName, name: str) -> Output | None:
        """Return what the last attempt at a step published under that name, or None."""
        key = (attempt_id(self.run.id, step, self.step(step).attempts), name)
        return self.outputs.get(key) or self.view.outputs.get(key)

    def consider(self, name: StepName) -> None:
        """See to it that a step is looked at before the turn ends."""
        self.todo.setdefault(name)

    def put(self, step: StepRun) -> None:
        """Note a step that changed; when it has ended, whoever waits for it is looked at."""
        before = self.steps.get(step.name) or self.view.steps.get(step.name)
        self.steps[step.name] = step
        if before is not None and before.state.is_final:
            return
        if step.parent is not None and step.state in _STARTED and (before is None or before.state not in _STARTED):
            self._count(step.parent, "started")
        if step.state.is_final:
            for path in self.plan.dependents.get(self.plan.path(step.name), ()):
                self.consider(within(path, step.name))
            if step.parent is not None:
                self._count(step.parent, _COUNTED[step.state])

    def end(self, name: StepName, state: StepState, reason: Reason | None) -> None:
        """Note that a step has ended."""
        self.put(replace(self.step(name), state=state, reason=reason, finished_at=self.now))

    def _count(self, name: StepName, what: str) -> None:
        """Count a member of a group that has started or ended, and look at the group."""
        group = self.step(name)
        tally = group.tally or Tally(0)
        self.steps[name] = replace(group, tally=replace(tally, **{what: getattr(tally, what) + 1}))
        self.consider(name)

    def current(self) -> RunView:
        """Return the view with everything decided so far."""
        return replace(
            self.view,
            run=self.run,
            steps=self.view.steps.plus(self.steps),
            attempts=self.view.attempts.plus(self.attempts),
            inputs={**self.view.inputs, **self.inputs},
            outputs=self.view.outputs.plus(self.outputs),
        )

    def changes(self) -> Changes:
        """Return what differs from the records."""
        view = self.view
        return Changes(
            run=self.run if self.run != view.run else None,
            steps=tuple(s for s in self.steps.values() if s != view.steps.get(s.name)),
            attempts=tuple(a for a in self.attempts.values() if a != view.attempts.get(a.id)),
            inputs=self.inputs,
            outputs=tuple(self.outputs.values()),
            models=tuple(self.models),
            instructions=tuple(self.instructions),
            notes=tuple(self.notes),
        )
