"""Capacity: a node with its devices."""

from dataclasses import dataclass

from trainwright.core.resources import Resources


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
    """

    name: str
    total: Resources
    free: Resources
    devices: tuple[Device, ...] = ()
