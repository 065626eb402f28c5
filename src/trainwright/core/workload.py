"""What queues: a gang with its shape, its contract, and how it stands."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from trainwright.core.ids import AttemptId
from trainwright.core.queue import DEFAULT_QUEUE, QueueName
from trainwright.core.resources import Resources
from trainwright.core.window import Window


class Preemption(StrEnum):
    """When a running workload may be told to give its room back; stored, never renamed."""

    NEVER = "never"  # it never borrows either: what it holds is guaranteed
    BY_PRIORITY = "by-priority"  # for a higher priority, or for the owner of a guarantee that it borrows
    TIME_SLICED = "time-sliced"  # also for an equal one whose turn it is


class Isolation(StrEnum):
    """What keeps those who share a device apart; stored, never renamed."""

    NONE = "none"
    SOFT = "soft"  # limits that the library keeps, not the device
    MPS = "mps"
    MIG = "mig"


@dataclass(frozen=True, slots=True)
class PodSet:
    """Equal replicas, each on one node.

    Attributes:
        asked: by each replica.
        count: replicas wanted, at least 1.
        least: replicas without which it does not run; equal to ``count`` unless it is elastic.
        models: GPU models it can use, sorted; empty = any.
    """

    asked: Resources
    count: int = 1
    least: int = 1
    models: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Shape:
    """All that decides where a workload fits; equal for all steps that ask for the same.

    Attributes:
        pod_sets: placed together or not at all.
        pools: where it may run, in order of preference; empty = anywhere.
        isolation: asked of whoever shares a device with it.
        most_price: per hour for all of it, in the currency of the pools; None = any.
        near: digests of data, images and environments that it needs, sorted; nodes that have them are preferred.
    """

    pod_sets: tuple[PodSet, ...]
    pools: tuple[str, ...] = ()
    isolation: Isolation = Isolation.NONE
    most_price: float | None = None
    near: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Contract:
    """What its owner agreed to.

    Attributes:
        restart_cost_s: seconds lost by a restart beside the work since its last checkpoint.
        grace_s: seconds between the notice and the kill.
        expected_s: run time, all of it, as far as anybody knows; None = unknown.
        most_s: it is killed after so long, so others may rely on its end; None = never.
        window: when it may start; None = any time.
        deadline: when it wants to be done; a window that would miss it is left aside.
        kin: user, pipeline and step: those of one kin run about equally long.
    """

    preemption: Preemption = Preemption.BY_PRIORITY
    restart_cost_s: float = 60.0
    grace_s: float = 10.0
    expected_s: float | None = None
    most_s: float | None = None
    window: Window | None = None
    deadline: datetime | None = None
    kin: str = ""


@dataclass(frozen=True, slots=True)
class Assignment:
    """The place of one replica.

    Attributes:
        pod_set: its index in the shape.
        devices: indices, ascending; empty without GPUs.
    """

    node: str
    devices: tuple[int, ...] = ()
    pod_set: int = 0


@dataclass(frozen=True, slots=True)
class Standing:
    """How far a workload has come.

    Attributes:
        places: held ones; empty while it waits.
        started_at: when it got them.
        saved_at: when what it has done was last saved; None = never since it started.
        leaving: told to give its room back, and not gone yet.
        told_at: when one that is leaving was told; None = nobody knows.
        served_s: seconds that it ran before, on the places it had then.
        preempted_at: when it was told to leave, oldest first; resizes do not count.
        not_before: it may not start earlier: cool-down or back-off; None = at once.
        claim: places that are held for it until those who are on them are gone; of one that leaves: where it goes on.
        claimed_at: since when; None = nobody knows.
        held: a person keeps it from starting.
        rank: moved by a person within its queue: lower goes first among equal priorities.
    """

    places: tuple[Assignment, ...] = ()
    started_at: datetime | None = None
    saved_at: datetime | None = None
    leaving: bool = False
    told_at: datetime | None = None
    served_s: float = 0.0
    preempted_at: tuple[datetime, ...] = ()
    not_before: datetime | None = None
    claim: tuple[Assignment, ...] = ()
    claimed_at: datetime | None = None
    held: bool = False
    rank: int = 0


@dataclass(frozen=True, slots=True)
class Workload:
    """An attempt that waits for room, or holds it.

    Attributes:
        label: for people.
        queued_at: its age counts from here; a step of a pipeline inherits the pipeline's, a restarted one its first.
        order: among those of one age: run number and position in its plan.
        priority: a larger number is more important.
        purpose: what it serves, for reports.
    """

    attempt: AttemptId
    label: str
    shape: Shape
    queued_at: datetime
    order: tuple[int, int] = (0, 0)
    queue: QueueName = DEFAULT_QUEUE
    priority: int = 0
    contract: Contract = field(default_factory=Contract)
    standing: Standing = field(default_factory=Standing)
    purpose: str = ""


def single(asked: Resources) -> Shape:
    """Return the shape of one replica anywhere."""
    return Shape((PodSet(asked),))
