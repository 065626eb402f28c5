"""What came of a simulated load."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from trainwright.core.queue import QueueName
from trainwright.sim.job import Life


@dataclass(frozen=True, slots=True)
class Times:
    """Means over equal spans of time, from the beginning on.

    Attributes:
        span_s: seconds of a span.
        used: queue → what it held, in ``unit``.
        pending: queue → jobs that waited.
        capacity: what there was, in ``unit``.
        unit: ``gpu`` or ``cpu``: GPUs or cores.
    """

    span_s: float
    used: Mapping[QueueName, tuple[float, ...]]
    pending: Mapping[QueueName, tuple[float, ...]]
    capacity: tuple[float, ...]
    unit: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """All lives, in the order of submission, and what the cluster was used for.

    Attributes:
        begin: when the load begins.
        until: the last thing that happened to a job.
        used_s, capacity_s: of ``times.unit``, summed up over all of the time: unit-seconds.
        rounds: of scheduling.
    """

    lives: tuple[Life, ...]
    begin: datetime
    until: datetime
    times: Times
    weights: Mapping[QueueName, float]
    used_s: float
    capacity_s: float
    rounds: int
