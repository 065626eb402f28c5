"""How much a workload asks for or holds, counted as quotas count it: see ``core.queue.Amounts``."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache

from trainwright.core.node import WHOLE
from trainwright.core.quantity import show_bytes, show_milli
from trainwright.core.workload import Assignment, PodSet, Shape

ModelOf = Callable[[str, int], str]
"""Node and index of a device → its model; empty = unknown."""


@lru_cache(maxsize=4096)  # asked for every workload of a shape, in every round
def least_amounts(shape: Shape) -> Mapping[str, int]:
    """Return what it asks for at least, all replicas together."""
    return _sum(shape, [pod_set.least for pod_set in shape.pod_sets])


@lru_cache(maxsize=4096)
def wanted_amounts(shape: Shape) -> Mapping[str, int]:
    """Return what it asks for at most, all replicas together."""
    return _sum(shape, [pod_set.count for pod_set in shape.pod_sets])


def held_amounts(shape: Shape, places: Iterable[Assignment], model_of: ModelOf | None = None) -> dict[str, int]:
    """Return what these places give to it; by model too when somebody tells the models of devices."""
    places = tuple(places)
    if model_of is None:
        if len(places) == sum(pod_set.count for pod_set in shape.pod_sets):
            return dict(wanted_amounts(shape))
        counts = Counter(place.pod_set for place in places)
        return _sum(shape, [counts[i] for i in range(len(shape.pod_sets))])
    total: dict[str, int] = {}
    for place in places:
        pod_set = shape.pod_sets[place.pod_set]
        _add(total, pod_set, 1)
        if len(pod_set.models) != 1:  # what may be one model alone is of that one, wherever it lies
            for device in place.devices:
                name = f"gpu:{model_of(place.node, device)}"
                total[name] = total.get(name, 0) + min(pod_set.asked.gpu_milli, WHOLE)
    return total


def show_amount(resource: str, amount: int) -> str:
    """Return it for people."""
    return show_bytes(amount) if resource == "memory" else show_milli(amount)


def show_amounts(amounts: Mapping[str, int]) -> str:
    """Return them for people: ``cpu 4, gpu 1``."""
    return ", ".join(f"{name} {show_amount(name, amount)}" for name, amount in sorted(amounts.items()) if amount)


def _sum(shape: Shape, counts: list[int]) -> dict[str, int]:
    total: dict[str, int] = {}
    for pod_set, count in zip(shape.pod_sets, counts, strict=True):
        _add(total, pod_set, count)
    return total


def _add(total: dict[str, int], pod_set: PodSet, count: int) -> None:
    asked = pod_set.asked
    total["cpu"] = total.get("cpu", 0) + asked.cpu_milli * count
    total["memory"] = total.get("memory", 0) + asked.memory_bytes * count
    total["gpu"] = total.get("gpu", 0) + asked.gpu_milli * count
    if len(pod_set.models) == 1 and asked.gpu_milli:
        name = f"gpu:{pod_set.models[0]}"
        total[name] = total.get(name, 0) + asked.gpu_milli * count
