"""What a simulation learns from ends, for policies that expect work to last about as long as others of its kind."""

from collections.abc import Callable
from datetime import datetime

from trainwright.core.history import History
from trainwright.core.workload import Workload

Learn = Callable[[Workload, float, datetime], History]


def with_end(history: History, workload: Workload, held_s: float, at: datetime) -> History:
    """Return the history with one more end, as far as this history can be added to."""
    learn: Learn | None = getattr(history, "with_end", None)
    return history if learn is None else learn(workload, held_s, at)
