"""What must hold whatever the policy decides; checked at every commit and by property tests."""

from trainwright.core.node import Node
from trainwright.core.workload import ClusterSnapshot, Placement
from trainwright.sched.round import after_holding, take


def broken(snapshot: ClusterSnapshot, placements: tuple[Placement, ...]) -> tuple[Placement, ...]:
    """Return the placements that no longer hold in ``snapshot``, in order; the others may be committed together."""
    pending = {w.attempt: w for w in snapshot.pending}
    free = {node.name: node for node in after_holding(snapshot)}
    bad: list[Placement] = []
    for placement in placements:
        workload = pending.get(placement.attempt)
        node = free.get(placement.node)
        after = take(node, workload.asked, placement.devices) if workload and node else None
        if workload is None or after is None or _over(after) or len(placement.devices) != workload.asked.devices:
            bad.append(placement)
        else:
            free[placement.node] = after
    return tuple(bad)


def _over(node: Node) -> bool:
    """Tell whether more is given away than the node has."""
    free = node.free
    devices = any(d.free_milli < 0 or d.free_vram_bytes < 0 for d in node.devices)
    return devices or min(free.cpu_milli, free.memory_bytes, free.gpu_milli) < 0
