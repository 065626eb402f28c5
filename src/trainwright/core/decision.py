"""What a scheduling round decides."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeAlias

from trainwright.core.ids import AttemptId
from trainwright.core.reasons import Reason
from trainwright.core.workload import Assignment


@dataclass(frozen=True, slots=True)
class Placement:
    """Start this attempt there: all of its gang, or at least its minimum."""

    attempt: AttemptId
    places: tuple[Assignment, ...]


@dataclass(frozen=True, slots=True)
class Eviction:
    """Tell this attempt to save its work and give its room back.

    Attributes:
        beneficiary: whom it makes room for; empty when it is for nobody in particular.
        reason: names the rule, what is lost, and for whom.
    """

    attempt: AttemptId
    beneficiary: AttemptId
    reason: Reason


@dataclass(frozen=True, slots=True)
class Claim:
    """Hold these places for an attempt that waits.

    Attributes:
        collects: a reservation: until those end who are there; False: until those are gone who were told to leave.
    """

    attempt: AttemptId
    places: tuple[Assignment, ...]
    collects: bool = False


@dataclass(frozen=True, slots=True)
class Resize:
    """Let an elastic attempt go on with other places, by a restart from its checkpoint.

    It is told to leave as others are, holds what it has until it is gone, and goes on there at once.
    """

    attempt: AttemptId
    places: tuple[Assignment, ...]
    reason: Reason


@dataclass(frozen=True, slots=True)
class Refusal:
    """Not now, or never, and why."""

    attempt: AttemptId
    reason: Reason


Decision: TypeAlias = Placement | Refusal | Claim | Eviction | Resize
"""What a run is told about an attempt of its own; a claim of no places gives up the one before."""


@dataclass(frozen=True, slots=True)
class Round:
    """All decisions of one round; every pending workload is placed or has a reason.

    Attributes:
        placements: in the order in which they were decided.
        claims: who waits for victims, or collects room, has one; all that stand, older ones too: others are dropped.
        waiting: attempt → why not now; equal reasons are one object.
        wake_at: when time alone may change something: a window opens, a cool-down ends; None = never.
    """

    placements: tuple[Placement, ...] = ()
    evictions: tuple[Eviction, ...] = ()
    claims: tuple[Claim, ...] = ()
    resizes: tuple[Resize, ...] = ()
    waiting: Mapping[AttemptId, Reason] = field(default_factory=dict)
    wake_at: datetime | None = None
