"""One decision about one run: what happened, what is ready, what is over. Pure.

``advance`` is the only function that changes states. It takes the records and what was observed, and returns
everything to write and to do, as one value.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from signal import Signals

from trainwright.core.artifact import Input, Output
from trainwright.core.changes import Act, Changes, Instruction, RegisterModel
from trainwright.core.ids import AttemptId, StepName, attempt_id
from trainwright.core.quantity import show_bytes, show_duration
from trainwright.core.reasons import Reason, ReasonCode
from trainwright.core.run import Attempt, Run, RunView, StepRun
from trainwright.core.scalar import Plain
from trainwright.core.states import AttemptState, ExitClass, RunState, StepState
from trainwright.core.workload import Decision, Placement
from trainwright.lifecycle.attempt import TRANSITIONS, Event, classify, event_of, reason_code, signal_of
from trainwright.lifecycle.gates import facts_of, failed_gate, judge_checks, not_a_number, owed
from trainwright.lifecycle.job import inputs_of
from trainwright.lifecycle.registration import register
from trainwright.lifecycle.retry import repeat_at
from trainwright.plan.plan import Plan, PlannedStep
from trainwright.ports.backend import Ended, Running

Happening = Running | Ended | Decision


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
class _Turn:
    """The working copy of one decision: records that changed shadow the view's."""

    plan: Plan
    view: RunView
    now: datetime
    chance: Chance
    run: Run
    steps: dict[StepName, StepRun]
    attempts: dict[AttemptId, Attempt]
    inputs: dict[AttemptId, tuple[Input, ...]] = field(default_factory=dict)
    outputs: list[Output] = field(default_factory=list)
    models: list[RegisterModel] = field(default_factory=list)
    instructions: list[Instruction] = field(default_factory=list)

    def current(self) -> RunView:
        """Return the view with everything decided so far."""
        return replace(
            self.view,
            run=self.run,
            steps=tuple(self.steps.values()),
            attempts=tuple(self.attempts.values()),
            inputs={**self.view.inputs, **self.inputs},
            outputs=(*self.view.outputs, *self.outputs),
        )

    def of_step(self, name: StepName) -> list[Attempt]:
        """Return the attempts at a step, oldest first."""
        count = self.steps[name].attempts
        return [self.attempts[attempt_id(self.run.id, name, number)] for number in range(1, count + 1)]


def advance(plan: Plan, view: RunView, happenings: Sequence[Happening], now: datetime, chance: Chance) -> Changes:
    """Return what follows from the records and what happened; empty when nothing does.

    Happenings that no longer concern anybody (a result with another token, an end that is known) are ignored.
    """
    turn = _Turn(plan, view, now, chance, view.run, {s.name: s for s in view.steps}, {a.id: a for a in view.attempts})
    if view.run.state.is_final:
        return Changes()
    for happening in happenings:
        _take_in(turn, happening)
    if turn.run.stop_asked_by is not None:
        _stop_everything(turn, turn.run.stop_asked_by)
    for step in plan.steps:  # in the plan's order, so that one pass reaches the fixed point
        _advance_step(turn, step)
    _settle_run(turn)
    return _changes(turn)


def _take_in(turn: _Turn, happening: Happening) -> None:
    attempt = turn.attempts.get(happening.attempt)
    if attempt is None:
        return
    match happening:
        case Running(started_at=started_at):
            _feed(turn, attempt, Event.STARTED, started_at=started_at)
        case Ended():
            _end(turn, attempt, happening)
        case Placement(devices=devices):
            if _feed(turn, attempt, Event.PLACED, devices=devices, reason=None):
                turn.instructions.append(Instruction(Act.START, attempt.id))
        case _:
            # the code only: numbers and names change with every attempt that ends, and are looked up when asked for
            known = attempt.reason.code if attempt.reason else None
            if attempt.state is AttemptState.QUEUED and happening.reason.code != known:
                turn.attempts[attempt.id] = replace(attempt, reason=happening.reason)


def _feed(turn: _Turn, attempt: Attempt, event: Event, **facts: object) -> bool:
    """Move an attempt along its table; tell whether it moved."""
    after = TRANSITIONS.get((attempt.state, event))
    if after is None:
        return False
    turn.attempts[attempt.id] = replace(attempt, state=after, **facts)  # type: ignore[arg-type]
    return True


def _end(turn: _Turn, attempt: Attempt, ended: Ended) -> None:
    if ended.cause != "lost" and ended.token != attempt.token:
        return  # a result of a submission that lost its lease
    planned = turn.plan.step(attempt.step)
    ended = _held_to(planned, ended)
    exit_class = classify(ended)
    number = signal_of(ended)
    evidence: dict[str, Plain] = {
        "exit_code": ended.exit_code,
        "signal": Signals(number).name if number in set(Signals) else number,
        "message": ended.message,
        "output": ended.message,
        "memory": show_bytes(planned.resources.memory_bytes),
        "timeout": show_duration(planned.timeout_s or 0.0),
        "actor": turn.run.stop_asked_by or "somebody",
    }
    moved = _feed(
        turn,
        attempt,
        event_of(exit_class),
        exit_class=exit_class,
        exit_code=ended.exit_code,
        signal=number,
        started_at=ended.started_at or attempt.started_at,
        finished_at=ended.finished_at,
        metrics=ended.metrics,
        params=ended.params,
        reason=Reason(reason_code(ended, exit_class), evidence),
    )
    if moved and turn.attempts[attempt.id].state is AttemptState.SUCCEEDED:
        turn.outputs += [
            Output(attempt.id, attempt.run, attempt.step, name, planned.outputs[name], content)
            for name, content in sorted(ended.outputs.items())
            if name in planned.outputs
        ]


def _held_to(planned: PlannedStep, ended: Ended) -> Ended:
    """Return the end as it counts: success needs exit 0 and every output that was promised."""
    missing = sorted(set(planned.outputs) - set(ended.outputs))
    if not missing or classify(ended) is not ExitClass.OK:
        return ended
    return replace(ended, cause="output-missing", message=", ".join(missing))


def _stop_everything(turn: _Turn, actor: str) -> None:
    reason = Reason(ReasonCode.STOPPED, {"actor": actor})
    for attempt in list(turn.attempts.values()):
        if _feed(turn, attempt, Event.STOP_ASKED):
            if turn.attempts[attempt.id].state is AttemptState.STOPPING:
                turn.instructions.append(Instruction(Act.STOP, attempt.id, f"stopped by {actor}"))
            else:
                turn.attempts[attempt.id] = replace(
                    turn.attempts[attempt.id], reason=reason, exit_class=ExitClass.STOPPED, finished_at=turn.now
                )
    for step in list(turn.steps.values()):
        if step.state is StepState.PENDING:
            _set(turn, step, StepState.CANCELLED, reason)


def _advance_step(turn: _Turn, planned: PlannedStep) -> None:
    step = turn.steps[planned.name]
    if step.state is StepState.PENDING:
        _begin_step(turn, planned, step)
    elif not step.state.is_final:
        _follow_attempt(turn, planned, step)


def _begin_step(turn: _Turn, planned: PlannedStep, step: StepRun) -> None:
    waiting: list[Plain] = []
    broken: list[Plain] = []
    for name in planned.needs:
        state = turn.steps[name].state
        if state is not StepState.SUCCEEDED:
            (broken if state.is_final else waiting).append(name)
    if broken:
        _set(turn, step, StepState.SKIPPED, Reason(ReasonCode.UPSTREAM_FAILED, {"steps": broken}))
    elif waiting:
        if step.reason is None or step.reason.evidence.get("steps") != waiting:
            reason = Reason(ReasonCode.WAITING_FOR_STEP, {"steps": waiting})
            turn.steps[step.name] = replace(step, reason=reason)
    elif planned.registration is not None:
        _register(turn, planned, step)
    else:
        _new_attempt(turn, planned, turn.now)


def _new_attempt(turn: _Turn, planned: PlannedStep, at: datetime, reason: Reason | None = None) -> None:
    step = turn.steps[planned.name]
    number = step.attempts + 1
    attempt = Attempt(
        id=attempt_id(turn.run.id, planned.name, number),
        run=turn.run.id,
        step=planned.name,
        number=number,
        state=AttemptState.QUEUED,
        token=turn.chance.token(),
        queued_at=turn.now,
        not_before=at if at > turn.now else None,
        reason=reason,
    )
    turn.attempts[attempt.id] = attempt
    turn.inputs[attempt.id] = inputs_of(turn.plan, (*turn.view.outputs, *turn.outputs), planned)
    turn.steps[planned.name] = replace(step, state=StepState.QUEUED, attempts=number, reason=reason)


def _follow_attempt(turn: _Turn, planned: PlannedStep, step: StepRun) -> None:
    attempt = turn.of_step(planned.name)[-1]
    match attempt.state:
        case AttemptState.QUEUED:
            if step.reason != attempt.reason:
                turn.steps[step.name] = replace(step, reason=attempt.reason)
        case AttemptState.STARTING | AttemptState.RUNNING | AttemptState.STOPPING:
            if step.state is not StepState.RUNNING:
                started_at = step.started_at or turn.now
                turn.steps[step.name] = replace(
                    step, state=StepState.RUNNING, started_at=started_at, reason=Reason(ReasonCode.RUNNING)
                )
        case AttemptState.SUCCEEDED:
            _judge_step(turn, planned, step, attempt)
        case AttemptState.CANCELLED:
            _set(turn, step, StepState.CANCELLED, attempt.reason)
        case AttemptState.FAILED | AttemptState.LOST:
            _repeat_or_fail(turn, planned, step, attempt)


def _judge_step(turn: _Turn, planned: PlannedStep, step: StepRun, attempt: Attempt) -> None:
    outputs = tuple(o for o in (*turn.view.outputs, *turn.outputs) if o.attempt == attempt.id)
    facts = facts_of(turn.current(), attempt, outputs)
    given, missing = owed(planned, facts)
    gates = judge_checks(planned, facts, turn.view)
    reason = missing or not_a_number(planned, facts) or failed_gate(gates, planned, turn.run.id)
    state = StepState.FAILED if reason else StepState.SUCCEEDED
    turn.steps[step.name] = replace(turn.steps[step.name], metadata=given, gates=gates)
    _set(turn, turn.steps[step.name], state, reason or Reason(ReasonCode.SUCCEEDED))


def _repeat_or_fail(turn: _Turn, planned: PlannedStep, step: StepRun, attempt: Attempt) -> None:
    ends = [a.exit_class for a in turn.of_step(planned.name) if a.exit_class is not None]
    stopping = turn.run.stop_asked_by is not None
    at = None if stopping else repeat_at(planned.retry, ends, turn.now, turn.chance.jitter_ratio)
    if at is None:
        _set(turn, step, StepState.FAILED, attempt.reason)
        return
    cause = attempt.reason.sentence() if attempt.reason else "an unknown end"
    evidence: dict[str, Plain] = {"number": step.attempts + 1, "at": at.isoformat(timespec="seconds"), "cause": cause}
    _new_attempt(turn, planned, at, Reason(ReasonCode.BACKING_OFF, evidence))


def _register(turn: _Turn, planned: PlannedStep, step: StepRun) -> None:
    outcome = register(planned, turn.current(), {m.model: m.version + 1 for m in turn.models})
    if isinstance(outcome, Reason):
        _set(turn, step, StepState.FAILED, outcome)
        return
    turn.models.append(outcome)
    address = f"models/{outcome.model}/{outcome.version}"
    metadata: dict[str, Plain] = {
        "model_version": address,
        "alias": outcome.alias,
        "metrics": dict(outcome.metrics),
        "checks_passed": len(outcome.gates),
    }
    turn.steps[step.name] = replace(step, metadata=metadata, started_at=turn.now)
    _set(turn, turn.steps[step.name], StepState.SUCCEEDED, Reason(ReasonCode.SUCCEEDED))


def _set(turn: _Turn, step: StepRun, state: StepState, reason: Reason | None) -> None:
    turn.steps[step.name] = replace(turn.steps[step.name], state=state, reason=reason, finished_at=turn.now)


def _settle_run(turn: _Turn) -> None:
    steps = list(turn.steps.values())
    if turn.run.state is RunState.PENDING and any(s.state is not StepState.PENDING for s in steps):
        turn.run = replace(turn.run, state=RunState.RUNNING, started_at=turn.now)
    if not all(s.state.is_final for s in steps):
        return
    failed = next((s for s in steps if s.state is StepState.FAILED), None)
    if failed is not None:
        cause = failed.reason.sentence() if failed.reason else "?"
        code = failed.reason.code if failed.reason else ""
        reason = Reason(ReasonCode.STEP_FAILED, {"step": failed.name, "cause": cause, "code": code})
        turn.run = replace(turn.run, state=RunState.FAILED, reason=reason, finished_at=turn.now)
    elif any(s.state is StepState.CANCELLED for s in steps):
        reason = Reason(ReasonCode.STOPPED, {"actor": turn.run.stop_asked_by or "somebody"})
        turn.run = replace(turn.run, state=RunState.CANCELLED, reason=reason, finished_at=turn.now)
    else:
        reason = Reason(ReasonCode.SUCCEEDED)
        turn.run = replace(turn.run, state=RunState.SUCCEEDED, reason=reason, finished_at=turn.now)


def _changes(turn: _Turn) -> Changes:
    before = {a.id: a for a in turn.view.attempts}
    steps_before = {s.name: s for s in turn.view.steps}
    return Changes(
        run=turn.run if turn.run != turn.view.run else None,
        steps=tuple(s for s in turn.steps.values() if s is not steps_before[s.name] and s != steps_before[s.name]),
        attempts=tuple(a for a in turn.attempts.values() if a is not before.get(a.id) and a != before.get(a.id)),
        inputs=turn.inputs,
        outputs=tuple(turn.outputs),
        models=tuple(turn.models),
        instructions=tuple(turn.instructions),
    )
