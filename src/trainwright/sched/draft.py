"""The working state of one round: what was decided so far, and what is left."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from heapq import nsmallest

from trainwright.core.decision import Claim, Eviction, Placement, Resize, Round
from trainwright.core.ids import AttemptId
from trainwright.core.reasons import Reason
from trainwright.core.snapshot import ClusterSnapshot
from trainwright.core.workload import Assignment, Shape, Workload
from trainwright.sched.memory import Memory
from trainwright.sched.policy import Policy
from trainwright.sched.room import Room

NAMED = 8
"""So many holders are named in a reason; the others are counted."""


@dataclass(slots=True)
class Draft:
    """A round in the making; the one mutable thing that the modules of ``sched`` hand to one another.

    Attributes:
        no_room: shape → why it has no room; room only shrinks in a round: what did not fit once never does again.
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
    no_room: dict[Shape, Reason] = field(default_factory=dict)

    def place(self, workload: Workload, places: tuple[Assignment, ...]) -> None:
        """Let it start there."""
        self.room.take(workload.shape, places)
        self.placements.append(Placement(workload.attempt, places))

    def holders(self) -> list[str]:
        """Return the labels of who hold room, those who were placed in this round too; the first few by name."""
        placed = (self.snapshot.pending[p.attempt].label for p in self.placements)
        named = [*nsmallest(NAMED, (w.label for w in self.snapshot.holding)), *placed][:NAMED]
        others = len(self.snapshot.holding) + len(self.placements) - len(named)
        return [*named, f"{others} more"] if others else named

    def refuse(self, workloads: Iterable[Workload], reason: Reason) -> None:
        """Let them wait, all for one reason."""
        self.waiting.update(dict.fromkeys((w.attempt for w in workloads), reason))

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
