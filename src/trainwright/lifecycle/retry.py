"""Whether, when and with how much memory a failed attempt is made again: values, which the engine obeys."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from trainwright.core.job import LONGEST_BACKOFF_S
from trainwright.core.resources import Resources
from trainwright.core.states import ExitClass
from trainwright.plan.plan import PlannedStep

OURS = frozenset({ExitClass.LOST, ExitClass.INFRASTRUCTURE})
"""Classes that are nobody's fault: always repeated, never spend ``max``."""

OURS_BUDGET = 3
"""How often one step is repeated for them; a bound, so that a broken machine cannot spin."""

MOST_BYTES = 2**62
"""Of memory after any growth: what a database can still hold and add; no machine has it."""


def repeat_at(planned: PlannedStep, ends: Sequence[ExitClass], now: datetime, jitter_ratio: float) -> datetime | None:
    """Return when the next attempt may start, or None when the step has failed.

    Args:
        planned: the step; its ``retry`` is the policy.
        ends: classes of all attempts at the step so far, oldest first, not empty.
        now: when the last one ended.
        jitter_ratio: 0..1, spreads repetitions over the second half of the back-off.
    """
    last, retry = ends[-1], planned.retry
    if last in OURS:
        return now if sum(end in OURS for end in ends) <= OURS_BUDGET else None
    spent = sum(end not in OURS for end in ends)
    if last not in retry.on or spent > retry.max or ends.count(last) > retry.budgets.get(last, retry.max):
        return None
    if last is ExitClass.OOM and retry.memory and not _grows(planned, ends.count(last)):
        return None  # at its most already: the same memory would not suffice the next time either
    doublings = min(spent - 1, 64)  # beyond that the cap holds anyway, and floats end
    full_s = min(retry.backoff_s * 2.0**doublings, retry.backoff_max_s, LONGEST_BACKOFF_S)
    return now + timedelta(seconds=full_s * (0.5 + jitter_ratio / 2))


def resources_of(planned: PlannedStep, ooms: int) -> Resources:
    """Return what an attempt at a step asks for: more memory for each one that ran out of it, else the same.

    Args:
        planned: the step as it was compiled.
        ooms: attempts before it that ran out of memory.
    """
    growth, memory = planned.retry.memory, planned.resources.memory_bytes
    if growth is None or not memory or not ooms:
        return planned.resources
    most = min(growth.most_bytes or MOST_BYTES, MOST_BYTES)
    for _ in range(ooms):
        if memory >= most:
            break
        memory = min(-(-memory * growth.times_milli // 1000), most)  # rounded up, so that it always grows
    return replace(planned.resources, memory_bytes=memory)


def _grows(planned: PlannedStep, ooms: int) -> bool:
    """Tell whether one more attempt out of memory leads to more of it."""
    return resources_of(planned, ooms).memory_bytes > resources_of(planned, ooms - 1).memory_bytes
