"""One decision about one run: what happened, what is ready, what is over. Pure.

``advance`` is the only function that changes states. It takes the records and what was observed, and returns
everything to write and to do, as one value.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from signal import Signals

from trainwright.core.artifact import Output
from trainwright.core.changes import Act, Changes, Instruction
from trainwright.core.decision import Claim, Decision, Eviction, Placement, Refusal, Resize
from trainwright.core.ids import StepName, attempt_id
from trainwright.core.quantity import show_bytes, show_duration
from trainwright.core.reasons import Reason, ReasonCode
from trainwright.core.run import Attempt, RunView, StepRun
from trainwright.core.scalar import Plain
from trainwright.core.states import AttemptState, ExitClass, RunState, StepState
from trainwright.lifecycle.attempt import TRANSITIONS, Event, as_told, classify, event_of, reason_code, signal_of
from trainwright.lifecycle.facts import hold, params_of
from trainwright.lifecycle.gates import facts_of, failed_gate, judge_checks, not_a_number, owed
from trainwright.lifecycle.groups import ListRead, begin_group, follow_group, stopped, take_list
from trainwright.lifecycle.inputs import inputs_of
from trainwright.lifecycle.join import obstacle
from trainwright.lifecycle.leaving import (
    counted_ends,
    end_reason,
    inherited,
    is_free,
    starts_again_at,
    take_told,
)
from trainwright.lifecycle.registration import register
from trainwright.lifecycle.retry import repeat_at, resources_of
from trainwright.lifecycle.reuse import Missed, Reused, take_answer, with_way_out
from trainwright.lifecycle.turn import Chance, Turn
from trainwright.plan.plan import GroupKind, Plan, PlannedStep, within
from trainwright.ports.backend import Ended, Running

Happening = Running | Ended | Decision | ListRead | Reused | Missed


def advance(
    plan: Plan,
    view: RunView,
    happenings: Sequence[Happening],
    now: datetime,
    chance: Chance,
    *,
    everything: bool = True,
) -> Changes:
    """Return what follows from the records and what happened; empty when nothing does.

    Happenings that no longer concern anybody (a result with another token, an end that is known) are ignored.

    Args:
        plan: of the run.
        view: its records.
        happenings: in any order.
        now: the present instant.
        chance: jitter and tokens.
        everything: look at every unfinished step. Not needed for records that an earlier call has brought to rest:
            then only what the happenings touch can change, and a turn costs the same however large the run is.
    """
    turn = Turn(plan, view, now, chance, view.run)
    if view.run.state.is_final:
        return Changes()
    for happening in happenings:
        _take_in(turn, happening)
    if everything or turn.run.stop_asked_by is not None:
        for step in view.steps:
            if not step.state.is_final:
                turn.consider(step.name)
    if turn.run.stop_asked_by is not None:
        _stop_everything(turn, turn.run.stop_asked_by)
    while turn.todo:
        name = next(iter(turn.todo))
        del turn.todo[name]
        _look_at(turn, name)
    _settle_run(turn)
    return turn.changes()


def _take_in(turn: Turn, happening: Happening) -> None:
    if isinstance(happening, ListRead):
        take_list(turn, happening, _begin_member)
        return
    attempt = turn.attempt(happening.attempt)
    if attempt is None:
        return
    turn.consider(attempt.step)
    match happening:
        case Running(started_at=started_at):
            _feed(turn, attempt, Event.STARTED, started_at=started_at)
        case Ended():
            _end(turn, attempt, happening)
        case Placement(places=places):
            if _feed(
                turn, attempt, Event.PLACED, places=places, placed_at=turn.now, claim=(), claimed_at=None, reason=None
            ):
                turn.instructions.append(Instruction(Act.START, attempt.id))
        case Reused() | Missed():
            take_answer(turn, attempt, happening)
        case Refusal(reason=reason):
            _refuse(turn, attempt, reason)
        case Eviction() | Resize() | Claim():
            take_told(turn, attempt, happening)


def _refuse(turn: Turn, attempt: Attempt, reason: Reason) -> None:
    """Note why an attempt does not start now; one that has outgrown the machine never will."""
    known = attempt.reason.code if attempt.reason else None
    if attempt.ooms and reason.code is ReasonCode.NEVER_FITS:
        advice = "give the growth a most that fits, as in retry: {memory: x2..8Gi}"
        reason = replace(reason, evidence={**reason.evidence, "remedy": advice})
        _feed(turn, attempt, Event.REFUSED, reason=reason, finished_at=turn.now)
    elif attempt.state is AttemptState.QUEUED and reason.code != known:
        turn.attempts[attempt.id] = replace(attempt, reason=reason)


def _feed(turn: Turn, attempt: Attempt, event: Event, **facts: object) -> bool:
    """Move an attempt along its table; tell whether it moved."""
    after = TRANSITIONS.get((attempt.state, event))
    if after is None:
        return False
    turn.attempts[attempt.id] = replace(attempt, state=after, **facts)  # type: ignore[arg-type]
    return True


def _end(turn: Turn, attempt: Attempt, ended: Ended) -> None:
    if ended.cause != "lost" and ended.token != attempt.token:
        return  # a result of a submission that lost its lease
    planned = turn.plan.step(attempt.step)
    exit_class = as_told(attempt.state, _class_of(planned, ended))
    if exit_class is ExitClass.OUTPUT:
        ended = _without(planned, ended)
    number = signal_of(ended)
    evidence: dict[str, Plain] = {
        "exit_code": ended.exit_code,
        "signal": Signals(number).name if number in set(Signals) else number,
        "message": ended.message,
        "output": ended.message,
        "memory": show_bytes(resources_of(planned, attempt.ooms).memory_bytes),
        "timeout": show_duration(planned.timeout_s or 0.0),
        "actor": turn.run.stop_asked_by or "somebody",
        "node": ended.message,
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
        reason=end_reason(attempt, exit_class, Reason(reason_code(ended, exit_class), evidence)),
    )
    if moved and ended.cause == "node-lost":  # should the node come back, nobody wants what it still does
        turn.instructions.append(Instruction(Act.STOP, attempt.id, "its node was lost"))
    if moved and exit_class is ExitClass.OK:
        for name, content in sorted(ended.outputs.items()):
            if name in planned.outputs:
                kind = planned.outputs[name]
                turn.outputs[attempt.id, name] = Output(attempt.id, attempt.run, attempt.step, name, kind, content)


def _class_of(planned: PlannedStep, ended: Ended) -> ExitClass:
    """Return the kind of an end as it counts: success needs exit 0 and every output that was promised."""
    if planned.skip_code is not None and ended.cause == "exited" and ended.exit_code == planned.skip_code:
        return ExitClass.SKIPPED  # also a code above 128, which would else stand for a signal
    exit_class = classify(ended)
    if exit_class is ExitClass.OK and set(planned.outputs) - set(ended.outputs):
        return ExitClass.OUTPUT
    return exit_class


def _without(planned: PlannedStep, ended: Ended) -> Ended:
    """Return the end of an attempt that lacks outputs, as the reason names it."""
    missing = sorted(set(planned.outputs) - set(ended.outputs))
    return (
        ended
        if ended.cause.startswith("output-")
        else replace(ended, cause="output-missing", message=", ".join(missing))
    )


def _stop_everything(turn: Turn, actor: str) -> None:
    reason = Reason(ReasonCode.STOPPED, {"actor": actor})
    for attempt in [a for a in turn.view.attempts if not a.state.is_final]:
        if _feed(turn, turn.attempt(attempt.id) or attempt, Event.STOP_ASKED):
            turn.consider(attempt.step)
            if turn.attempts[attempt.id].state is AttemptState.STOPPING:
                turn.instructions.append(Instruction(Act.STOP, attempt.id, f"stopped by {actor}"))
            else:
                turn.attempts[attempt.id] = replace(
                    turn.attempts[attempt.id], reason=reason, exit_class=ExitClass.STOPPED, finished_at=turn.now
                )
    for step in turn.view.steps:
        state = turn.step(step.name).state
        waits_for_list = state is StepState.QUEUED and not step.attempts
        if state is StepState.PENDING or waits_for_list:
            turn.end(step.name, StepState.CANCELLED, reason)


def _look_at(turn: Turn, name: StepName) -> None:
    """Bring one step as far as it can go."""
    if not turn.has_step(name):
        return  # a member that its group has not made yet
    step = turn.step(name)
    planned = turn.plan.step(name)
    if step.state.is_final:
        return
    if step.state is StepState.PENDING:
        if not _waits_for_group(turn, step):
            _begin_step(turn, planned, step)
    elif planned.group is not None:
        follow_group(turn, planned.group, step, _begin_member)
    else:
        _follow_attempt(turn, planned, step)


def _waits_for_group(turn: Turn, step: StepRun) -> bool:
    """Tell whether it is for the group to begin a step: a member that is one of many."""
    if step.parent is None:
        return False
    group = turn.plan.step(step.parent).group
    if group is not None and group.kind is GroupKind.EACH:
        return True
    return turn.step(step.parent).state is StepState.PENDING  # a run that is tried again: the group begins anew


def _begin_member(turn: Turn, name: StepName) -> None:
    _begin_step(turn, turn.plan.step(name), turn.step(name))


def _begin_step(turn: Turn, planned: PlannedStep, step: StepRun) -> None:
    needs = [turn.step(within(path, step.name)) for path in planned.needs]
    waiting: list[Plain] = [need.name for need in needs if not need.state.is_final]
    if waiting:
        if step.reason is None or step.reason.evidence.get("steps") != waiting:
            turn.put(replace(step, reason=Reason(ReasonCode.WAITING_FOR_STEP, {"steps": waiting})))
        return
    reason = obstacle(planned.join, needs)
    if reason is not None:
        turn.end(step.name, StepState.SKIPPED, reason)
        return
    verdict = _condition(turn, planned, step)
    if verdict is not None:
        turn.end(step.name, *verdict)
    elif planned.registration is not None:
        _register(turn, planned, step)
    elif planned.group is not None:
        begin_group(turn, planned, planned.group, step, _begin_member)
    else:
        _new_attempt(turn, planned, turn.step(step.name), turn.now)


def _condition(turn: Turn, planned: PlannedStep, step: StepRun) -> tuple[StepState, Reason] | None:
    """Return how a step ends whose conditions do not let it begin."""
    beside = step.parent if step.parent is not None and _waits_for_group(turn, step) else step.name
    for expression in planned.when:
        result = hold(turn, expression, step.name, beside)
        if result.verdict == "passed":
            continue
        values: dict[str, Plain] = {k: "missing" if v is None else v for k, v in result.values.items()}
        evidence: dict[str, Plain] = {"expression": expression, "values": values}
        if result.verdict == "failed":
            return StepState.SKIPPED, Reason(ReasonCode.CONDITION_FALSE, evidence)
        return StepState.FAILED, Reason(ReasonCode.CONDITION_UNDECIDED, evidence)
    return None


def _new_attempt(turn: Turn, planned: PlannedStep, step: StepRun, at: datetime, reason: Reason | None = None) -> None:
    number = step.attempts + 1
    attempt = Attempt(
        id=attempt_id(turn.run.id, step.name, number),
        run=turn.run.id,
        step=step.name,
        number=number,
        state=AttemptState.QUEUED,
        token=turn.chance.token(),
        queued_at=turn.now,
        not_before=at if at > turn.now else None,
        reason=reason,
        ooms=sum(a.exit_class is ExitClass.OOM for a in turn.of_step(step.name)),
        **inherited(turn.latest(step.name) if step.attempts > step.forgiven else None),  # type: ignore[arg-type]
    )
    turn.attempts[attempt.id] = attempt
    turn.inputs[attempt.id] = inputs_of(turn, planned, step.name)
    turn.put(replace(step, state=StepState.QUEUED, attempts=number, reason=reason))


def _follow_attempt(turn: Turn, planned: PlannedStep, step: StepRun) -> None:
    attempt = turn.latest(step.name)
    if attempt is None:
        return
    match attempt.state:
        case AttemptState.QUEUED:
            if step.reason != attempt.reason:
                turn.put(replace(step, reason=attempt.reason))
        case AttemptState.STARTING | AttemptState.RUNNING | AttemptState.STOPPING:
            _under_way(turn, step, StepState.RUNNING, Reason(ReasonCode.RUNNING))
        case AttemptState.PREEMPTING:
            _under_way(turn, step, StepState.PREEMPTING, attempt.reason)
        case AttemptState.SUCCEEDED if attempt.exit_class is ExitClass.SKIPPED:
            turn.end(step.name, StepState.SKIPPED, attempt.reason)
        case AttemptState.SUCCEEDED:
            _judge_step(turn, planned, step, attempt)
        case AttemptState.CANCELLED:
            turn.end(step.name, StepState.CANCELLED, attempt.reason)
        case AttemptState.FAILED | AttemptState.LOST | AttemptState.PREEMPTED:
            _repeat_or_fail(turn, planned, step, attempt)


def _under_way(turn: Turn, step: StepRun, state: StepState, reason: Reason | None) -> None:
    if step.state is not state:
        turn.put(replace(step, state=state, started_at=step.started_at or turn.now, reason=reason))


def _judge_step(turn: Turn, planned: PlannedStep, step: StepRun, attempt: Attempt) -> None:
    outputs = tuple(o for name in sorted(planned.outputs) if (o := turn.output(step.name, name)) is not None)
    params = params_of(planned, step.name, turn.run.params, turn.step)
    inputs = turn.inputs.get(attempt.id) or turn.view.inputs.get(attempt.id, ())
    facts = facts_of(params, attempt, inputs, outputs)
    given, missing = owed(planned, facts)
    gates = judge_checks(planned, facts, turn.view, params)
    reason = missing or not_a_number(planned, facts) or failed_gate(gates, planned, turn.run.id)
    turn.steps[step.name] = replace(turn.step(step.name), metadata=given, gates=gates)
    if reason is not None:
        turn.end(step.name, StepState.FAILED, with_way_out(reason, attempt))
    elif attempt.origin is not None:
        turn.end(step.name, StepState.CACHED, attempt.reuse)
    else:
        turn.end(step.name, StepState.SUCCEEDED, Reason(ReasonCode.SUCCEEDED))


def _repeat_or_fail(turn: Turn, planned: PlannedStep, step: StepRun, attempt: Attempt) -> None:
    stopping = turn.run.stop_asked_by is not None
    refused = attempt.exit_class is None  # it never ran: it grew beyond every machine
    if is_free(attempt) and stopping:
        turn.end(step.name, StepState.CANCELLED, stopped(turn))
        return
    if is_free(attempt):
        _new_attempt(turn, planned, step, starts_again_at(attempt, turn.now), attempt.reason)
        return
    ends = counted_ends(turn.of_step(step.name)[step.forgiven :])
    at = None if stopping or refused else repeat_at(planned, ends, turn.now, turn.chance.jitter_ratio)
    if at is None:
        turn.end(step.name, StepState.FAILED, attempt.reason)
        return
    cause = attempt.reason.sentence() if attempt.reason else "an unknown end"
    evidence: dict[str, Plain] = {"number": step.attempts + 1, "at": at.isoformat(timespec="seconds"), "cause": cause}
    _new_attempt(turn, planned, step, at, Reason(ReasonCode.BACKING_OFF, evidence))


def _register(turn: Turn, planned: PlannedStep, step: StepRun) -> None:
    if turn.run.reproduces is not None:
        turn.end(step.name, StepState.SKIPPED, Reason(ReasonCode.ONLY_AGAIN, {"original": turn.run.reproduces.run}))
        return
    outcome = register(planned, turn, step.name)
    if isinstance(outcome, Reason):
        turn.end(step.name, StepState.FAILED, outcome)
        return
    turn.models.append(outcome)
    address = f"models/{outcome.model}/{outcome.version}"
    metadata: dict[str, Plain] = {
        "model_version": address,
        "alias": outcome.alias,
        "metrics": dict(outcome.metrics),
        "checks_passed": len(outcome.gates),
    }
    turn.steps[step.name] = replace(turn.step(step.name), metadata=metadata, started_at=turn.now)
    turn.end(step.name, StepState.SUCCEEDED, Reason(ReasonCode.SUCCEEDED))


def _settle_run(turn: Turn) -> None:
    if not turn.steps:
        return
    if turn.run.state is RunState.PENDING and any(s.state is not StepState.PENDING for s in turn.steps.values()):
        turn.run = replace(turn.run, state=RunState.RUNNING, started_at=turn.now)
    top = [turn.step(planned.name) for planned in turn.plan.steps]
    if not all(s.state.is_final for s in top):
        return
    failed = next((s for s in top if s.state is StepState.FAILED), None)
    if failed is not None:
        cause = failed.reason.sentence() if failed.reason else "?"
        code = failed.reason.root if failed.reason else ""
        reason = Reason(ReasonCode.STEP_FAILED, {"step": failed.name, "cause": cause, "code": code})
        turn.run = replace(turn.run, state=RunState.FAILED, reason=reason, finished_at=turn.now)
    elif any(s.state is StepState.CANCELLED for s in top):
        reason = stopped(turn)
        turn.run = replace(turn.run, state=RunState.CANCELLED, reason=reason, finished_at=turn.now)
    else:
        reason = Reason(ReasonCode.SUCCEEDED)
        turn.run = replace(turn.run, state=RunState.SUCCEEDED, reason=reason, finished_at=turn.now)
