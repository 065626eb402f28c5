"""Capacity: a node with its devices, and what is left of it when somebody takes a part."""

from dataclasses import dataclass, replace

from trainwright.core.resources import Resources

WHOLE = 1000
"""Thousandths in one GPU."""


@dataclass(frozen=True, slots=True)
class Device:
    """One GPU.

    Attributes:
        index: as in ``CUDA_VISIBLE_DEVICES``.
        free_milli: thousandths of it not given to anybody.
        free_vram_bytes: of ``vram_bytes``.
    """

    index: int
    model: str
    vram_bytes: int
    free_milli: int = 1000
    free_vram_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Node:
    """One machine.

    Attributes:
        total: what it has; ``gpu_milli`` is 1000 a device.
        free: what nobody holds; ``gpu_milli`` is the sum over devices.
        devices: in order of index.
        foreign: who holds a part of it that is not in our books, for people; ``free`` is already less by that.
        pool: it belongs to.
        isolation: levels that it can enforce between those who share a device; ``none`` needs nothing.
        has: digests of data, images and environments that lie on it, sorted.
        ready: False while it is coming up, is drained, or does not answer: nothing is placed on it.
    """

    name: str
    total: Resources
    free: Resources
    devices: tuple[Device, ...] = ()
    foreign: tuple[str, ...] = ()
    pool: str = "local"
    isolation: tuple[str, ...] = ()
    has: tuple[str, ...] = ()
    ready: bool = True

    @property
    def is_over(self) -> bool:
        """Tell whether more is given away than there is."""
        free = self.free
        devices = any(d.free_milli < 0 or d.free_vram_bytes < 0 for d in self.devices)
        return devices or min(free.cpu_milli, free.memory_bytes, free.gpu_milli) < 0


def emptied(node: Node) -> Node:
    """Return the node as it is when nobody holds anything: what never fits is judged by this."""
    devices = tuple(replace(d, free_milli=WHOLE, free_vram_bytes=d.vram_bytes) for d in node.devices)
    return replace(node, free=node.total, devices=devices, foreign=())


def take(node: Node, asked: Resources, devices: tuple[int, ...]) -> Node:
    """Return the node with less room; amounts may go below zero when a machine shrank under its work."""
    free = Resources(
        cpu_milli=node.free.cpu_milli - asked.cpu_milli,
        memory_bytes=node.free.memory_bytes - asked.memory_bytes,
        gpu_milli=node.free.gpu_milli - asked.gpu_milli,
    )
    taken = tuple(_take_device(d, asked) if d.index in devices else d for d in node.devices)
    return replace(node, free=free, devices=taken)


def give(node: Node, asked: Resources, devices: tuple[int, ...]) -> Node:
    """Return the node with the room back that ``take`` took."""
    free = Resources(
        cpu_milli=node.free.cpu_milli + asked.cpu_milli,
        memory_bytes=node.free.memory_bytes + asked.memory_bytes,
        gpu_milli=node.free.gpu_milli + asked.gpu_milli,
    )
    given = tuple(_give_device(d, asked) if d.index in devices else d for d in node.devices)
    return replace(node, free=free, devices=given)


def vram_share_bytes(asked: Resources, device: Device) -> int:
    """Return the memory it takes on a device: a whole GPU all of it, a share what it states, or else its part."""
    if asked.gpu_milli >= WHOLE:
        return max(asked.vram_bytes, device.vram_bytes)
    return asked.vram_bytes or device.vram_bytes * asked.gpu_milli // WHOLE


def _take_device(device: Device, asked: Resources) -> Device:
    return replace(
        device,
        free_milli=device.free_milli - min(asked.gpu_milli, WHOLE),
        free_vram_bytes=device.free_vram_bytes - vram_share_bytes(asked, device),
    )


def _give_device(device: Device, asked: Resources) -> Device:
    return replace(
        device,
        free_milli=device.free_milli + min(asked.gpu_milli, WHOLE),
        free_vram_bytes=device.free_vram_bytes + vram_share_bytes(asked, device),
    )
