"""Whether and where one replica fits on one node, and what stands in the way."""

from trainwright.core.node import WHOLE, Node, vram_share_bytes
from trainwright.core.resources import Resources
from trainwright.core.workload import Isolation, PodSet, Shape


def obstacles(pod_set: PodSet, shape: Shape, node: Node) -> tuple[str, ...]:
    """Return the dimensions in which the node does not do, with numbers; empty when a replica fits."""
    if shape.pools and node.pool not in shape.pools:
        return (f"pool: asked {' or '.join(shape.pools)}, is {node.pool}",)
    if pod_set.models and not any(d.model in pod_set.models for d in node.devices):
        return (f"gpu model: asked {' or '.join(pod_set.models)}, free {_models(node)}",)
    if shape.isolation is not Isolation.NONE and shape.isolation not in node.isolation:
        return (f"isolation: asked {shape.isolation}, enforces {' or '.join(node.isolation) or 'none'}",)
    return _lacking(pod_set, node)


def devices_for(pod_set: PodSet, node: Node) -> tuple[int, ...]:
    """Choose devices: a share goes to the fullest device that has room, whole GPUs to the lowest indices.

    Fewer than asked when there are not enough.
    """
    asked = pod_set.asked
    if not asked.gpu_milli:
        return ()
    share = min(asked.gpu_milli, WHOLE)
    fitting = [
        d
        for d in node.devices
        if d.free_milli >= share
        and d.free_vram_bytes >= vram_share_bytes(asked, d)
        and (not pod_set.models or d.model in pod_set.models)
    ]
    fitting.sort(key=lambda d: (d.free_milli, d.index))
    return tuple(sorted(d.index for d in fitting[: asked.devices]))


def _lacking(pod_set: PodSet, node: Node) -> tuple[str, ...]:
    asked = pod_set.asked
    totals = asked.shortfall(node.free)
    if totals or not asked.gpu_milli or len(devices_for(pod_set, node)) == asked.devices:
        return totals
    share = min(asked.gpu_milli, WHOLE)
    usable = [d for d in node.devices if not pod_set.models or d.model in pod_set.models]
    with_room = [d for d in usable if d.free_milli >= share]
    if len(with_room) < asked.devices:
        return (f"gpu: asked {asked.devices} device(s) with room, free {len(with_room)}",)
    with_room.sort(key=lambda d: (-d.free_vram_bytes, d.index))
    last = with_room[asked.devices - 1]  # the roomiest that do not suffice: memory is what they lack
    want = Resources(cpu_milli=0, memory_bytes=vram_share_bytes(asked, last))
    lack = want.shortfall(Resources(cpu_milli=0, memory_bytes=last.free_vram_bytes))
    return tuple(text.replace("memory", "gpu memory on one device") for text in lack)


def _models(node: Node) -> str:
    return " and ".join(sorted({d.model for d in node.devices})) or "none"
