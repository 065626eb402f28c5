"""What a team may tune; the defaults are for everybody who never looks here."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Ordering:
    """Who comes first within a priority.

    Attributes:
        half_life_s: after so long, what a queue used before counts half in its fair share; 0 = only the present counts.
        ageing_s: after 255 times this, age alone doubles what room is worth to a workload.
        overdue_s: one that waited longer goes before all that have not, oldest first.
    """

    half_life_s: float = 7 * 86_400.0
    ageing_s: float = 10 * 86_400.0
    overdue_s: float = 86_400.0


@dataclass(frozen=True, slots=True)
class Slicing:
    """How those who share a queue by time take turns.

    Attributes:
        keep_known: by how much more another must be worth than one that runs, where a restart costs something.
        keep_unknown: the same where nobody knows for how long it will run, so that alike ones do not alternate.
        critical: one that would still run when all other work is done, times this, goes first.
        among_longest: and it has at least this part of the longest time that anybody still has to run.
        floor_after_s: one of this age, and that of all live work, is owed a part of the time since then ...
        floor_backlogs: ... where the age of all live work is the time that it takes, so many times.
        floor: the part that it is owed.
        floor_share: the oldest of those who are owed have this part of the room, or one of them has what it needs.
    """

    keep_known: float = 1.25
    keep_unknown: float = 5.0
    critical: float = 1.1
    among_longest: float = 0.8
    floor_after_s: float = 7 * 86_400.0
    floor_backlogs: float = 3.0
    floor: float = 1 / 64
    floor_share: float = 1 / 8


@dataclass(frozen=True, slots=True)
class Preempting:
    """When somebody is told to leave.

    Attributes:
        restarts_a_run: it has run at least so many restart costs before anybody of its own priority takes its room; a
            higher one spares it until then where others do.
        cool_down_s: who was told to leave does not start again earlier.
        most: times that one workload is told to leave within ``per_s``.
        most_at_once: workloads that others make room for in one round; the next round goes on.
        patience_s: after its grace, how long a victim that does not leave keeps its beneficiary from looking elsewhere.
    """

    restarts_a_run: float = 30.0
    cool_down_s: float = 60.0
    most: int = 4
    per_s: float = 86_400.0
    most_at_once: int = 16
    patience_s: float = 60.0


@dataclass(frozen=True, slots=True)
class Reserving:
    """When somebody who waits for much is protected from those who want little.

    Attributes:
        after_s: the first in line that has waited so long gets a reservation; only what ends before it may pass.
        most: reservations at one time, at most one a queue.
        fill_s: room that is being collected, for want of stated ends, goes to what is killed within so long.
        collect_s: after so long, what could not be collected is let go and chosen anew.
    """

    after_s: float = 600.0
    most: int = 8
    fill_s: float = 600.0
    collect_s: float = 86_400.0


@dataclass(frozen=True, slots=True)
class Growing:
    """When an elastic workload takes idle room.

    Attributes:
        every_s: it has run at least so long as it is.
        gain: it saves at least so many times the seconds that the restart costs.
    """

    every_s: float = 1800.0
    gain: float = 2.0


@dataclass(frozen=True, slots=True)
class Autoscaling:
    """When a pool grows and shrinks.

    Attributes:
        up_after_s: work has waited so long that new nodes would serve.
        down_after_s: a node was idle so long.
        most_at_once: nodes asked for at one look.
        patience_s: a node so much later than expected is not waited for any more.
    """

    up_after_s: float = 30.0
    down_after_s: float = 600.0
    most_at_once: int = 50
    patience_s: float = 600.0


@dataclass(frozen=True, slots=True)
class Policy:
    """All rules of a round, each section read by the module of its name."""

    ordering: Ordering = field(default_factory=Ordering)
    preempting: Preempting = field(default_factory=Preempting)
    reserving: Reserving = field(default_factory=Reserving)
    growing: Growing = field(default_factory=Growing)
    slicing: Slicing = field(default_factory=Slicing)
    autoscaling: Autoscaling = field(default_factory=Autoscaling)


DEFAULT_POLICY = Policy()
