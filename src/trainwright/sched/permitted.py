"""What quota lets a workload have: fewer replicas of an elastic one, GPU models that are not used up."""

from collections.abc import Iterable
from dataclasses import replace

from trainwright.core.workload import PodSet, Shape, Workload
from trainwright.sched.amounts import least_amounts, wanted_amounts
from trainwright.sched.quota import Ledger


def permitted(workload: Workload, ledger: Ledger) -> Shape:
    """Return the shape that may be placed now: its own, the very same object, wherever quota allows all of it.

    Quota must allow its minimum.
    """
    limited = ledger.limits.get(workload.queue)
    if not limited:
        return workload.shape
    shape = _fewer(workload, ledger, limited)
    models = [resource.removeprefix("gpu:") for resource in limited if resource.startswith("gpu:")]
    return _of_models(workload, shape, ledger, models) if models else shape


def _fewer(workload: Workload, ledger: Ledger, limited: Iterable[str]) -> Shape:
    """Return the shape with as many replicas as quota allows, those of its first pod sets first."""
    shape = workload.shape
    if all(pod_set.least == pod_set.count for pod_set in shape.pod_sets):
        return shape
    wanted, least = wanted_amounts(shape), least_amounts(shape)
    free = {resource: ledger.free(workload, resource) for resource in limited}
    if all(wanted.get(resource, 0) <= amount for resource, amount in free.items()):
        return shape
    left = {resource: amount - least.get(resource, 0) for resource, amount in free.items()}
    pod_sets = []
    for pod_set in shape.pod_sets:
        each = least_amounts(Shape((replace(pod_set, count=1, least=1),)))
        enough = (left[resource] // want for resource, want in each.items() if want and resource in left)
        more = min([pod_set.count - pod_set.least, *enough])
        for resource, want in each.items():
            if resource in left:
                left[resource] -= want * more
        pod_sets.append(replace(pod_set, count=pod_set.least + more))
    return replace(shape, pod_sets=tuple(pod_sets))


def _of_models(workload: Workload, shape: Shape, ledger: Ledger, models: list[str]) -> Shape:
    """Return the shape without the GPU models of which quota does not allow as many as it asks for.

    Where that leaves none, with its minimum alone and the models that allow that.
    """
    smallest = replace(shape, pod_sets=tuple(replace(p, count=p.least) for p in shape.pod_sets))
    for smaller in (shape, smallest):
        asked = sum(p.asked.gpu_milli * p.count for p in smaller.pod_sets if len(p.models) != 1)
        used_up = {model for model in models if ledger.free(workload, f"gpu:{model}") < asked}
        usable = [_usable(pod_set, used_up, ledger.machines.models) for pod_set in smaller.pod_sets]
        if None not in usable:
            parts = zip(smaller.pod_sets, usable, strict=True)
            pod_sets = tuple(p if m is None or m == p.models else replace(p, models=m) for p, m in parts)
            return shape if pod_sets == shape.pod_sets else replace(smaller, pod_sets=pod_sets)
    return smallest


def _usable(pod_set: PodSet, used_up: set[str], known: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the models to ask for, empty = any; None when none is left."""
    asked = pod_set.models or known
    if not pod_set.asked.gpu_milli or len(pod_set.models) == 1 or not used_up & set(asked):
        return pod_set.models
    return tuple(model for model in asked if model not in used_up) or None
