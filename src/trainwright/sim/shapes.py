"""From GPUs of a whole job to replicas that fit on nodes."""

from collections.abc import Sequence
from dataclasses import replace

from trainwright.core.node import WHOLE, Node
from trainwright.core.resources import Resources
from trainwright.core.workload import PodSet, Shape


class Shapes:
    """Makes shapes for one cluster; equal ones are one object, so that a round looks for room once for all of them."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        """Take the largest node's GPUs, or else its cores, for the most that one replica may have."""
        self._most_gpus = max((node.total.gpu_milli // WHOLE for node in nodes), default=0)
        self._most_cpu = max((node.total.cpu_milli for node in nodes), default=0)
        self._known: dict[tuple[object, ...], Shape] = {}

    def of(
        self, whole: Resources, models: tuple[str, ...] = (), workers: int | None = None, least: int | None = None
    ) -> Shape:
        """Return the shape of a job that asks for ``whole`` in all.

        Args:
            whole: of the job, all replicas together; ``vram_bytes`` on each device.
            models: of GPUs that it can use, sorted; empty = any.
            workers: equal replicas; None = one, or as few as nodes allow where one node is too small.
            least: replicas without which it does not run; None = all.
        """
        key = (whole, models, workers, least)
        if key not in self._known:
            count = workers or self._replicas(whole)
            asked = replace(
                whole,
                cpu_milli=whole.cpu_milli // count,
                memory_bytes=whole.memory_bytes // count,
                gpu_milli=whole.gpu_milli // count,
            )
            self._known[key] = Shape((PodSet(asked, count, least or count, models),))
        return self._known[key]

    def _replicas(self, whole: Resources) -> int:
        """Return as few equal replicas as nodes allow; one where even that does not help."""
        gpus, most = whole.gpu_milli // WHOLE, self._most_gpus
        if gpus > most > 0:
            return next((gpus // each for each in range(most, 0, -1) if gpus % each == 0), 1)
        if not gpus and self._most_cpu and whole.cpu_milli > self._most_cpu:
            return -(-whole.cpu_milli // self._most_cpu)
        return 1
