"""What becomes of an attempt that is told to give its room back: notice, end, and the attempt that goes on. Pure.

Who leaves, for whom and by which rule is decided in ``sched``; here the decision is written down once, with its
instruction. The end spends no retry, and the next attempt of the step inherits what the scheduler has to know of it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from trainwright.core.changes import Act, Instruction, Note
from trainwright.core.decision import Claim, Eviction, Resize
from trainwright.core.reasons import Reason, ReasonCode
from trainwright.core.run import Attempt
from trainwright.core.scalar import Plain
from trainwright.core.states import AttemptState, ExitClass
from trainwright.core.workload import Assignment
from trainwright.lifecycle.attempt import TRANSITIONS, Event
from trainwright.lifecycle.turn import Turn
from trainwright.sched.policy import DEFAULT_POLICY


def take_told(turn: Turn, attempt: Attempt, told: Eviction | Resize | Claim) -> None:
    """Write down what a round says about room that an attempt holds, or that is held for it."""
    if isinstance(told, Claim):
        _take_claim(turn, attempt, told)
    else:
        _take_eviction(turn, attempt, told)


def _take_eviction(turn: Turn, attempt: Attempt, told: Eviction | Resize) -> None:
    """Tell an attempt to leave, unless it was told before or has ended; one that is resized will go on elsewhere."""
    after = TRANSITIONS.get((attempt.state, Event.PREEMPT_ASKED))
    if after is None:
        return
    resized = isinstance(told, Resize)
    turn.attempts[attempt.id] = replace(
        attempt,
        state=after,
        reason=told.reason,
        told_at=turn.now,
        claim=told.places if isinstance(told, Resize) else (),
        claimed_at=turn.now if resized else None,
        preempted_at=attempt.preempted_at if resized else (*attempt.preempted_at, turn.now),
    )
    turn.instructions.append(Instruction(Act.PREEMPT, attempt.id, told.reason.sentence()))
    details: dict[str, Plain] = {"rule": told.reason.code.value, "evidence": dict(told.reason.evidence)}
    if isinstance(told, Eviction):
        details["beneficiary"] = told.beneficiary
    else:
        details["places"] = _shown(told.places)
    _note(turn, "attempt.resized" if resized else "attempt.preempted", attempt, details)


def _take_claim(turn: Turn, attempt: Attempt, claim: Claim) -> None:
    """Hold places for an attempt that waits, or hold none any more."""
    if attempt.state is AttemptState.QUEUED and attempt.claim != claim.places:
        turn.attempts[attempt.id] = replace(attempt, claim=claim.places, claimed_at=turn.now if claim.places else None)
        _note(turn, "attempt.claim", attempt, {"places": _shown(claim.places)})


def counted_ends(attempts: Sequence[Attempt]) -> list[ExitClass]:
    """Return the ends that a retry policy counts: nobody pays for having made room, or for a node that is gone."""
    return [a.exit_class for a in attempts if a.exit_class is not None and not is_free(a)]


def is_free(attempt: Attempt) -> bool:
    """Tell whether an attempt ended through no fault of its own or its runner's: it is made again without a bound."""
    node_lost = attempt.reason is not None and attempt.reason.code is ReasonCode.NODE_LOST
    return attempt.exit_class is ExitClass.PREEMPTED or (attempt.exit_class is ExitClass.LOST and node_lost)


def starts_again_at(attempt: Attempt, now: datetime) -> datetime:
    """Return when the next attempt may start after one that ended for free; who was told to leave cools down."""
    told = attempt.exit_class is ExitClass.PREEMPTED and not is_resized(attempt)
    return now + timedelta(seconds=DEFAULT_POLICY.preempting.cool_down_s if told else 0.0)


def is_resized(attempt: Attempt) -> bool:
    """Tell whether an attempt was told to go on with other places."""
    return attempt.reason is not None and attempt.reason.code is ReasonCode.RESIZED


def inherited(attempt: Attempt | None) -> Mapping[str, object]:
    """Return what the next attempt at a step takes over from the last one, as fields."""
    if attempt is None:
        return {}
    ran_s = 0.0
    if attempt.placed_at is not None and attempt.finished_at is not None:
        ran_s = max((attempt.finished_at - attempt.placed_at).total_seconds(), 0.0)
    goes_on = attempt.exit_class is ExitClass.PREEMPTED and is_resized(attempt)
    return {
        "served_s": attempt.served_s + ran_s,
        "preempted_at": attempt.preempted_at,
        "claim": attempt.claim if goes_on else (),
        "claimed_at": attempt.claimed_at if goes_on else None,
    }


def end_reason(attempt: Attempt, exit_class: ExitClass, reason: Reason) -> Reason:
    """Return why an attempt ended: the rule by which it was told to leave, when it did that."""
    told = attempt.state is AttemptState.PREEMPTING and exit_class is ExitClass.PREEMPTED
    return attempt.reason if told and attempt.reason is not None else reason


def _note(turn: Turn, action: str, attempt: Attempt, details: Mapping[str, Plain]) -> None:
    turn.notes.append(Note(action, f"runs/{attempt.id}", details))


def _shown(places: tuple[Assignment, ...]) -> list[Plain]:
    return [{"node": place.node, "devices": list(place.devices)} for place in places]
