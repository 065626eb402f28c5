"""Queues of teams, and the cohorts in which they share."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NewType, TypeAlias

QueueName = NewType("QueueName", str)

DEFAULT_QUEUE = QueueName("default")
"""Where everything goes that names none; it need not be declared."""

Amounts: TypeAlias = Mapping[str, int]
"""``cpu`` and ``gpu`` in thousandths, ``memory`` in bytes, ``gpu:MODEL`` in thousandths of GPUs of that model."""


@dataclass(frozen=True, slots=True)
class Quota:
    """Of one queue and resource, in the units of ``Amounts``.

    Attributes:
        guaranteed: its own; lent while it does not use it.
        ceiling: it never holds more; None = no ceiling but the cohort's capacity.
    """

    guaranteed: int = 0
    ceiling: int | None = None


@dataclass(frozen=True, slots=True)
class Budget:
    """What a queue may spend in a period.

    Attributes:
        most: in the currency of the pools.
        period_s: seconds; periods are counted from 1970-01-01 UTC: whole periods, not a sliding window.
        degrade: above it, it runs only on room that nobody else wants; False: it does not start.
    """

    most: float
    period_s: int = 30 * 86_400
    degrade: bool = False


@dataclass(frozen=True, slots=True)
class Queue:
    """Where a team's work waits.

    Attributes:
        cohort: whose queues lend to one another; empty = alone.
        weight: of its share in what is lent; larger gets more; above 0.
        quotas: resource → quota; what is absent is unbounded and guaranteed to nobody.
        held: nothing starts from it.
        strict: nobody in it passes the first one, whatever that waits for.
        team: who owns it, for people.
    """

    name: QueueName
    cohort: str = ""
    weight: float = 1.0
    quotas: Mapping[str, Quota] = field(default_factory=dict)
    budget: Budget | None = None
    held: bool = False
    strict: bool = False
    team: str = ""


@dataclass(frozen=True, slots=True)
class Cohort:
    """Queues that lend to one another.

    Attributes:
        extra: capacity of the cohort beside the guarantees of its queues.
    """

    name: str
    extra: Amounts = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class QueueWord:
    """What a person said about something that waits.

    Attributes:
        subject: ``runs/RUN``, ``runs/RUN/STEP`` or ``queues/QUEUE``.
        held_by: who keeps it from starting; empty = nobody.
        rank: of a run or step within its queue: lower goes first among equal priorities.
    """

    subject: str
    held_by: str = ""
    rank: int = 0


@dataclass(frozen=True, slots=True)
class Used:
    """Room that an attempt had held when it ended, for the fair share and the budget of its queue.

    Attributes:
        share_s: dominant share of the cluster · seconds.
        cost: in the currency of the pools.
    """

    queue: QueueName
    share_s: float
    cost: float
