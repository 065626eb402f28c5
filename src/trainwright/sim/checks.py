"""What must hold at every tick of a simulation, held when somebody asks for it."""

from collections import Counter
from collections.abc import Iterable, Mapping

from trainwright.core.decision import Round
from trainwright.core.errors import BugError
from trainwright.core.node import Node
from trainwright.core.snapshot import ClusterSnapshot
from trainwright.core.workload import Workload
from trainwright.sched.invariants import broken
from trainwright.sched.room import occupied


def check_world(world: ClusterSnapshot, empty: Mapping[str, Node]) -> None:
    """Hold the books against what is really held: nothing given twice, gangs whole, nobody both waits and holds.

    Raises:
        BugError: they differ.
    """
    true = occupied(empty.values(), world.holding)
    if sorted(true, key=_name) != sorted(world.nodes, key=_name):
        wrong = [node.name for node in world.nodes if true.get(node.name) != node]
        raise BugError("TW9002", f"the books differ from what is held on {', '.join(wrong) or 'a node that is gone'}")
    _none("has given away more than it has", (node.name for node in world.nodes if node.is_over))
    _none("holds less than its minimum", (w.label for w in world.holding if not _is_whole(w)))
    _none("both waits and holds room", (w.label for w in world.pending if w.attempt in world.holding))


def check_round(snapshot: ClusterSnapshot, decided: Round) -> None:
    """Hold a round against what it decided about: no placement without room, nobody without a place or a reason.

    Raises:
        BugError: it does not.
    """
    _none("was placed where there is no room", (p.attempt for p in broken(snapshot, decided.placements)))
    placed = {placement.attempt for placement in decided.placements}
    unsaid = (w.label for w in snapshot.pending if w.attempt not in placed and w.attempt not in decided.waiting)
    _none("waits without a reason", unsaid)
    evicted = Counter(eviction.attempt for eviction in decided.evictions)
    _none("was told to leave and holds nothing", (a for a in evicted if a not in snapshot.holding))


def _is_whole(workload: Workload) -> bool:
    counts = Counter(place.pod_set for place in workload.standing.places)
    return all(p.least <= counts[i] <= p.count for i, p in enumerate(workload.shape.pod_sets))


def _none(what: str, names: Iterable[str]) -> None:
    wrong = list(names)
    if wrong:
        raise BugError("TW9002", f"{wrong[0]} {what}", why=f"{len(wrong)} in all")


def _name(node: Node) -> str:
    return node.name
