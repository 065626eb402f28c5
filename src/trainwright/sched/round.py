"""One scheduling round: order, then place on nodes and devices. World in, decisions out."""

from trainwright.core.node import WHOLE, Node, emptied, take, vram_share_bytes
from trainwright.core.reasons import Reason, ReasonCode
from trainwright.core.resources import Resources
from trainwright.core.workload import ClusterSnapshot, Decision, Placement, Refusal, Workload


def schedule(snapshot: ClusterSnapshot) -> tuple[Decision, ...]:
    """Decide for every pending workload, each exactly once, oldest run first.

    A workload that does not fit now is passed by later ones that do: on one machine without reservations that keeps
    it busy, and every step ends. Same snapshot, same decisions.
    """
    free = {node.name: node for node in after_holding(snapshot)}
    refused: dict[Resources, Reason] = {}  # room only shrinks within a round: what did not fit once never does again
    holders = sorted(workload.label for workload in snapshot.holding)
    decisions: list[Decision] = []
    for workload in sorted(snapshot.pending, key=_order):
        outcome = refused.get(workload.asked) or _place(workload.asked, snapshot, free, holders)
        if isinstance(outcome, Reason):
            refused[workload.asked] = outcome
            decisions.append(Refusal(workload.attempt, outcome))
        else:
            node, devices = outcome
            free[node] = take(free[node], workload.asked, devices)
            holders.append(workload.label)
            decisions.append(Placement(workload.attempt, node, devices))
    return tuple(decisions)


def after_holding(snapshot: ClusterSnapshot) -> tuple[Node, ...]:
    """Return the nodes with what ``holding`` has taken away; the first node carries workloads that name none."""
    nodes = list(snapshot.nodes)
    for workload in snapshot.holding if nodes else ():
        nodes[0] = take(nodes[0], workload.asked, workload.devices)
    return tuple(nodes)


def never_fits(asked: Resources, nodes: tuple[Node, ...]) -> Reason | None:
    """Return the reason why no node, were it empty, could hold this; None when one could."""
    obstacles = [_obstacles(asked, emptied(node)) for node in nodes]
    nearest = min(obstacles, key=len, default=("no node",))
    if not nearest:
        return None
    shortfall = ", ".join(nearest).replace("free", "has")
    return Reason(ReasonCode.NEVER_FITS, {"shortfall": shortfall, "asked": str(asked)})


def _place(
    asked: Resources, snapshot: ClusterSnapshot, free: dict[str, Node], holders: list[str]
) -> tuple[str, tuple[int, ...]] | Reason:
    """Return node and devices for this much, or why there are none."""
    impossible = never_fits(asked, snapshot.nodes)
    if impossible is not None:
        return impossible
    for name in sorted(free):
        if not _obstacles(asked, free[name]):
            return name, _devices(asked, free[name])
    first = free[min(free)]
    evidence = {
        "shortfall": ", ".join(_obstacles(asked, first)),
        "holders": ", ".join((*holders, *first.foreign)) or "nobody we know of",
    }
    return Reason(ReasonCode.WAITING_FOR_CAPACITY, dict(evidence))


def _obstacles(asked: Resources, node: Node) -> tuple[str, ...]:
    """Return the dimensions in which the node has too little; empty when it fits."""
    totals = asked.shortfall(node.free)
    if totals or not asked.gpu_milli or len(_devices(asked, node)) == asked.devices:
        return totals
    share = min(asked.gpu_milli, WHOLE)
    with_room = [d for d in node.devices if d.free_milli >= share]
    if len(with_room) < asked.devices:
        return (f"gpu: asked {asked.devices} device(s) with room, free {len(with_room)}",)
    with_room.sort(key=lambda d: (-d.free_vram_bytes, d.index))
    last = with_room[asked.devices - 1]  # the roomiest that do not suffice: memory is what they lack
    want = Resources(cpu_milli=0, memory_bytes=vram_share_bytes(asked, last))
    lack = want.shortfall(Resources(cpu_milli=0, memory_bytes=last.free_vram_bytes))
    return tuple(text.replace("memory", "gpu memory on one device") for text in lack)


def _devices(asked: Resources, node: Node) -> tuple[int, ...]:
    """Choose devices: a share goes to the fullest device that has room, whole GPUs to the lowest indices."""
    if not asked.gpu_milli:
        return ()
    share = min(asked.gpu_milli, WHOLE)
    fitting = [d for d in node.devices if d.free_milli >= share and d.free_vram_bytes >= vram_share_bytes(asked, d)]
    fitting.sort(key=lambda d: (d.free_milli, d.index))
    return tuple(sorted(d.index for d in fitting[: asked.devices]))


def _order(workload: Workload) -> tuple[int, int, str]:
    return workload.run_number, workload.position, workload.attempt
