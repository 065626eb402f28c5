"""Amounts of cpu, memory and GPU as exact integers, and their algebra."""

from dataclasses import dataclass

from trainwright.core.quantity import show_bytes, show_milli


@dataclass(frozen=True, slots=True)
class Resources:
    """What one worker asks for, or what a node has.

    Attributes:
        cpu_milli: thousandths of a core.
        memory_bytes: resident memory; 0 = not accounted.
        gpu_milli: thousandths of a GPU; a share of one, or whole ones.
        vram_bytes: GPU memory on each device; 0 = whatever the share has.
    """

    cpu_milli: int = 1000
    memory_bytes: int = 0
    gpu_milli: int = 0
    vram_bytes: int = 0

    @property
    def devices(self) -> int:
        """Return how many devices this touches: a share touches one."""
        return -(-self.gpu_milli // 1000)

    def shortfall(self, free: "Resources") -> tuple[str, ...]:
        """Return the dimensions in which ``free`` is too small, as ``"cpu: asked 4, free 2"``.

        Devices are judged one by one in ``sched``; here ``gpu`` is a total.
        """
        asked = (
            ("cpu", self.cpu_milli, free.cpu_milli, show_milli),
            ("memory", self.memory_bytes, free.memory_bytes, show_bytes),
            ("gpu", self.gpu_milli, free.gpu_milli, show_milli),
        )
        return tuple(
            f"{name}: asked {show(want)}, free {show(max(have, 0))}" for name, want, have, show in asked if want > have
        )

    def __str__(self) -> str:
        parts = [f"cpu {show_milli(self.cpu_milli)}"]
        parts += [f"memory {show_bytes(self.memory_bytes)}"] if self.memory_bytes else []
        parts += [f"gpu {show_milli(self.gpu_milli)}"] if self.gpu_milli else []
        parts += [f"gpu memory {show_bytes(self.vram_bytes)}"] if self.vram_bytes else []
        return ", ".join(parts)
