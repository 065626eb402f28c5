"""The working state of one round: what was decided so far, and what is left."""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from datetime import datetime

from trainwright.core.decision import Claim, Eviction, Placement, Resize, Round
from trainwright.core.ids import AttemptId
from trainwright.core.node import Node
from trainwright.core.queue import QueueName
from trainwright.core.reasons import Reason, ReasonCode
from trainwright.core.snapshot import ClusterSnapshot
from trainwright.core.workload import Assignment, Shape, Workload
from trainwright.sched.memory import Memory
from trainwright.sched.policy import Policy
from trainwright.sched.quota import Ledger
from trainwright.sched.room import Room

NAMED = 8
"""So many holders are named in a reason; the others are counted."""

STANDS_ASIDE = frozenset({ReasonCode.NEVER_FITS, ReasonCode.NEVER_WITHIN_QUOTA, ReasonCode.ON_HOLD})
"""For these reasons nobody is next: such a workload lets the others of a strict queue pass."""


@dataclass(frozen=True, slots=True)
class Reservation:
    """Room that the first in line will have, and that nobody may take who would still be there then.

    Attributes:
        at: when all of it is free at the latest; None while it is collected, for want of stated ends.
        left: node of its places → what is free on it then, beside them.
    """

    holder: Workload
    places: tuple[Assignment, ...]
    at: datetime | None
    left: dict[str, Node]


@dataclass(slots=True)
class Draft:
    """A round in the making; the one mutable thing that the modules of ``sched`` hand to one another.

    Attributes:
        ledger: what queues hold, as the snapshot says and as was decided so far.
        first: attempt → its place before those of its queue and priority who are not in here, lowest first.
        behind: strict queue → the reason for all in it to wait, once one of them does.
        drifts: the passing of time alone may change what a round decides, not only at ``wake_at``.
        no_room: shape → why it has no room; room only shrinks in a round: what did not fit once never does again.
        giving: who was told to leave, in this round too, each as one that holds nothing but what it gives back.
        made_room: so many claimants got the room of others.
        in_vain: claimants that found nobody to tell, by all that matters to that.
        reservations: those of higher precedence first.
    """

    snapshot: ClusterSnapshot
    policy: Policy
    now: datetime
    memory: Memory
    room: Room
    placements: list[Placement] = field(default_factory=list)
    evictions: list[Eviction] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    resizes: list[Resize] = field(default_factory=list)
    waiting: dict[AttemptId, Reason] = field(default_factory=dict)
    wake_at: datetime | None = None
    drifts: bool = False
    first: dict[AttemptId, float] = field(default_factory=dict)
    behind: dict[QueueName, Reason] = field(default_factory=dict)
    no_room: dict[Shape, Reason] = field(default_factory=dict)
    giving: list[Workload] = field(default_factory=list)
    made_room: int = 0
    in_vain: set[Hashable] = field(default_factory=set)
    reservations: list[Reservation] = field(default_factory=list)
    ledger: Ledger = field(init=False)
    _reasons: dict[tuple[ReasonCode, str], Reason] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Bring up to date what is remembered."""
        self.ledger = self.memory.part(Ledger).as_of(self.snapshot)

    def place(self, workload: Workload, places: tuple[Assignment, ...]) -> None:
        """Let it start there."""
        self.let_go(workload)
        self.room.take(workload.shape, places)
        self.ledger.charge(workload, places)
        self.placements.append(Placement(workload.attempt, places))

    def let_go(self, workload: Workload) -> None:
        """Drop the claim and the reservation that it has in this round; the room of a claim stays taken."""
        if self.claims or self.reservations:
            self.claims = [claim for claim in self.claims if claim.attempt != workload.attempt]
            self.reservations = [one for one in self.reservations if one.holder.attempt != workload.attempt]

    def holders(self) -> list[str]:
        """Return the labels of who hold room, those who were placed in this round too; the first few by name."""
        held = self.ledger.holders
        placed = (self.snapshot.pending[p.attempt].label for p in self.placements[:NAMED])
        named = [*held.first(NAMED), *placed][:NAMED]
        others = len(held) + len(self.placements) - len(named)
        return [*named, f"{others} more"] if others else named

    def refuse(self, first: Workload, reason: Reason, alike: Iterable[AttemptId] = ()) -> None:
        """Let it wait, and all that are like it; in a strict queue that is a reason for all the others to wait too."""
        known = self._reasons.setdefault((reason.code, repr(reason.evidence)), reason)
        self.waiting[first.attempt] = known
        self.waiting.update(dict.fromkeys(alike, known))
        queue = self.snapshot.queues.get(first.queue)
        if queue is not None and queue.strict and first.queue not in self.behind and reason.code not in STANDS_ASIDE:
            evidence = {"ahead": first.label, "why": f"the queue {first.queue} is strict"}
            self.behind[first.queue] = Reason(ReasonCode.BEHIND, dict(evidence))

    def wake(self, at: datetime | None) -> None:
        """Ask for a round not later than this."""
        if at is not None and (self.wake_at is None or at < self.wake_at):
            self.wake_at = at

    def finish(self) -> Round:
        """Return what was decided."""
        return Round(
            tuple(self.placements),
            tuple(self.evictions),
            tuple(self.claims),
            tuple(self.resizes),
            self.waiting,
            self.wake_at,
        )
