"""Answering an attempt with what an equal one made before: what may happen, and what of an end is remembered."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from trainwright.core.artifact import Content, Output
from trainwright.core.ids import AttemptId, Digest
from trainwright.core.reasons import Reason, ReasonCode
from trainwright.core.run import Attempt, MetricSummary, StepRun
from trainwright.core.scalar import Plain
from trainwright.core.states import AttemptState, ExitClass
from trainwright.lifecycle.attempt import TRANSITIONS, Event
from trainwright.lifecycle.turn import Turn

_OVER_NOW = frozenset({ReasonCode.WAITING_FOR_EQUAL, ReasonCode.VERIFYING})


@dataclass(frozen=True, slots=True)
class Reused:
    """A queued attempt need not run: what it would make is there.

    Attributes:
        reason: hit, with the attempt that made it.
        outputs: name → what that one published; metrics and params are its as well.
    """

    attempt: AttemptId
    key: Digest
    reason: Reason
    outputs: Mapping[str, Content]
    metrics: Mapping[str, MetricSummary]
    params: Mapping[str, Plain]


@dataclass(frozen=True, slots=True)
class Missed:
    """A queued attempt has to run.

    Attributes:
        key: None when it cannot be told.
        reason: why nothing answers it; None when nobody asked.
    """

    attempt: AttemptId
    key: Digest | None
    reason: Reason | None


def take_answer(turn: Turn, attempt: Attempt, answer: Reused | Missed) -> None:
    """Note on an attempt that is still queued what memory says of it; a hit ends it."""
    if isinstance(answer, Reused):
        _take_reused(turn, attempt, answer)
    elif attempt.state is AttemptState.QUEUED:
        waited = attempt.reason is not None and attempt.reason.code in _OVER_NOW
        reason = None if waited else attempt.reason
        turn.attempts[attempt.id] = replace(attempt, key=answer.key, reuse=answer.reason, reason=reason)


def _take_reused(turn: Turn, attempt: Attempt, reused: Reused) -> None:
    """End an attempt that is still queued with what was made before."""
    after = TRANSITIONS.get((attempt.state, Event.REUSED))
    if after is None:
        return
    turn.attempts[attempt.id] = replace(
        attempt,
        state=after,
        exit_class=ExitClass.OK,
        finished_at=turn.now,
        metrics=reused.metrics,
        params=reused.params,
        key=reused.key,
        reuse=reused.reason,
        reason=reused.reason,
    )
    planned = turn.plan.step(attempt.step)
    for name, kind in planned.outputs.items():
        made = Output(attempt.id, attempt.run, attempt.step, name, kind, reused.outputs[name])
        turn.outputs[attempt.id, name] = made


def is_worth_remembering(step: StepRun, attempt: Attempt) -> bool:
    """Tell whether an equal attempt may be answered with what this one made.

    It has to have ended well and given all its numbers. A check that compared them and said no is no obstacle: checks
    are judged anew for whoever is answered, and what they compare with may have changed.
    """
    missed = attempt.reuse is not None and attempt.reuse.code is ReasonCode.CACHE_MISS
    if not missed or attempt.state is not AttemptState.SUCCEEDED or attempt.exit_class is not ExitClass.OK:
        return False
    if step.state.is_success:
        return True
    judged = step.reason is not None and step.reason.code is ReasonCode.GATE_FAILED
    return judged and all(gate.verdict in {"passed", "failed", "no-baseline"} for gate in step.gates)


def with_way_out(reason: Reason, attempt: Attempt) -> Reason:
    """Return why a step failed whose attempt was answered from memory, with how to make it anew."""
    if attempt.origin is None:
        return reason
    remedy = f"{reason.remedy()}; it was not run again but reused from runs/{attempt.origin}: --cache refresh runs it"
    return replace(reason, evidence={**reason.evidence, "remedy": remedy})
