"""Whether and when a failed attempt is made again: a value, which the engine obeys."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from trainwright.core.job import Retry
from trainwright.core.states import ExitClass

OURS = frozenset({ExitClass.LOST, ExitClass.INFRASTRUCTURE})
"""Classes that are nobody's fault: always repeated, never spend ``max``."""

OURS_BUDGET = 3
"""How often one step is repeated for them; a bound, so that a broken machine cannot spin."""


def repeat_at(retry: Retry, ends: Sequence[ExitClass], now: datetime, jitter_ratio: float) -> datetime | None:
    """Return when the next attempt may start, or None when the step has failed.

    Args:
        retry: the step's policy.
        ends: classes of all attempts at the step so far, oldest first, not empty.
        now: when the last one ended.
        jitter_ratio: 0..1, spreads repetitions over the second half of the back-off.
    """
    last = ends[-1]
    if last in OURS:
        return now if sum(end in OURS for end in ends) <= OURS_BUDGET else None
    spent = sum(end not in OURS for end in ends)
    if last not in retry.on or spent > retry.max:
        return None
    doublings = min(spent - 1, 64)  # beyond that the cap holds anyway, and floats end
    full_s = min(retry.backoff_s * 2.0**doublings, retry.backoff_max_s)
    return now + timedelta(seconds=full_s * (0.5 + jitter_ratio / 2))
