"""What must hold whatever the policy decides; checked at every commit and by property tests."""

from trainwright.core.node import Node, take
from trainwright.core.workload import ClusterSnapshot, Placement
from trainwright.sched.round import after_holding


def broken(snapshot: ClusterSnapshot, placements: tuple[Placement, ...]) -> tuple[Placement, ...]:
    """Return the placements that no longer hold in ``snapshot``, in order; the others may be committed together."""
    pending = {w.attempt: w for w in snapshot.pending}
    free = {node.name: node for node in after_holding(snapshot)}
    bad: list[Placement] = []
    for placement in placements:
        workload = pending.get(placement.attempt)
        node = free.get(placement.node)
        if workload is None or node is None or not _are_devices(placement.devices, workload.asked.devices, node):
            bad.append(placement)
            continue
        after = take(node, workload.asked, placement.devices)
        if after.is_over:
            bad.append(placement)
        else:
            free[placement.node] = after
            del pending[placement.attempt]  # nobody is placed twice
    return tuple(bad)


def _are_devices(devices: tuple[int, ...], count: int, node: Node) -> bool:
    """Tell whether these are as many different devices of the node as were asked for."""
    return len(devices) == len(set(devices)) == count and set(devices) <= {d.index for d in node.devices}
