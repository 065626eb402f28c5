"""What changed in the world at one instant, put into its snapshot in one piece."""

from dataclasses import dataclass, field, replace
from datetime import datetime

from trainwright.core.ids import AttemptId
from trainwright.core.node import Node
from trainwright.core.snapshot import ClusterSnapshot
from trainwright.core.workload import Workload
from trainwright.sched.room import Room


@dataclass(slots=True)
class Moves:
    """All that happens at one instant: taking one out of the records costs as much as taking out many.

    Attributes:
        queue: begin to wait, or wait again.
        release: give their places back.
        hold: go on, and something about them is new.
        come, gone: nodes, and names of nodes.
    """

    now: datetime
    queue: dict[AttemptId, Workload] = field(default_factory=dict)
    release: dict[AttemptId, Workload] = field(default_factory=dict)
    hold: dict[AttemptId, Workload] = field(default_factory=dict)
    come: dict[str, Node] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)


def moved(world: ClusterSnapshot, moves: Moves) -> ClusterSnapshot:
    """Return the world after these moves; it shares with the old one what they do not touch."""
    room = Room(world.nodes)
    for workload in moves.release.values():
        room.give(workload.shape, (place for place in workload.standing.places if place.node in room))
    nodes = room.nodes.plus(moves.come)
    return replace(
        world,
        nodes=nodes.minus(moves.gone) if moves.gone else nodes,
        pending=world.pending.plus(moves.queue),
        holding=world.holding.plus(moves.hold).minus(moves.release),
    )
