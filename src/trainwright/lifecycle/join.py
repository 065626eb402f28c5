"""Whether a step may begin, by how the steps that it needs have ended.

The whole table:

=============== ================= ============================== =====================
``when:``       all succeeded     some skipped, none failed      some failed
=============== ================= ============================== =====================
``all_success`` begins            skipped (upstream-skipped)     skipped (upstream-failed)
``none_failed`` begins            begins                         skipped (upstream-failed)
``one_success`` begins            begins when one succeeded      begins when one succeeded
``all_done``    begins            begins                         begins
=============== ================= ============================== =====================

``on_fail`` follows one step, and begins when that one has failed itself.

A step that was skipped because one before it failed counts as failed, so that a failure is not forgotten on the way;
so does a step that was cancelled. Every step waits until all that it needs have ended.
"""

from collections.abc import Sequence
from enum import Enum, auto

from trainwright.core.join import Join
from trainwright.core.reasons import Reason, ReasonCode
from trainwright.core.run import StepRun
from trainwright.core.scalar import Plain
from trainwright.core.states import StepState


class End(Enum):
    """How a step that others need has ended."""

    WELL = auto()
    SKIPPED = auto()
    BADLY = auto()


def how_ended(step: StepRun) -> End | None:
    """Return how a step has ended; None while it has not."""
    if not step.state.is_final:
        return None
    if step.state.is_success:
        return End.WELL
    after_failure = step.reason is not None and step.reason.code is ReasonCode.UPSTREAM_FAILED
    return End.SKIPPED if step.state is StepState.SKIPPED and not after_failure else End.BADLY


def obstacle(join: Join, needs: Sequence[StepRun]) -> Reason | None:
    """Return why a step is skipped whose needs have all ended; None when it begins."""
    ends: dict[End, list[Plain]] = {end: [] for end in End}
    for need in needs:
        ends[how_ended(need) or End.BADLY].append(need.name)
    bad, skipped = ends[End.BADLY], ends[End.SKIPPED]
    failed = Reason(ReasonCode.UPSTREAM_FAILED, {"steps": bad})
    passed_over = Reason(ReasonCode.UPSTREAM_SKIPPED, {"steps": skipped})
    match join:
        case Join.ALL_SUCCESS:
            return failed if bad else passed_over if skipped else None
        case Join.NONE_FAILED:
            return failed if bad else None
        case Join.ONE_SUCCESS:
            nobody = not ends[End.WELL] and (bad or skipped)
            return (failed if bad else passed_over) if nobody else None
        case Join.ALL_DONE:
            return None
        case Join.ONE_FAILED:
            failed_itself = any(need.state is StepState.FAILED for need in needs)
            return None if failed_itself else Reason(ReasonCode.NOT_NEEDED, {"steps": [need.name for need in needs]})
