"""What would have to be different for a waiting workload to start now: each answer is tried, not guessed."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from trainwright.core.ids import AttemptId
from trainwright.core.node import WHOLE
from trainwright.core.quantity import show_bytes, show_milli
from trainwright.core.snapshot import ClusterSnapshot
from trainwright.core.workload import Isolation, PodSet, Workload
from trainwright.sched.policy import Policy
from trainwright.sched.round import schedule

_LAST = (2**31, 2**31)
"""Order of what is submitted after everybody else."""


@dataclass(frozen=True, slots=True)
class Counterfactual:
    """A change after which it would start now.

    Attributes:
        says: the change, as a person would make it: ``gpu: 4``.
        workload: as it would be submitted.
    """

    says: str
    workload: Workload


def counterfactuals(
    snapshot: ClusterSnapshot, policy: Policy, now: datetime, attempt: AttemptId
) -> tuple[Counterfactual, ...]:
    """Return the changes, one key at a time, with which the workload would start at once if it were submitted anew.

    It is tried as what it would be: the youngest of all, instead of the one that waits.
    """
    waiting = snapshot.pending[attempt]
    young = replace(
        waiting,
        queued_at=now,
        order=_LAST,
        standing=replace(waiting.standing, claim=(), not_before=None, rank=0, held=False),
    )

    def starts(changed: Workload) -> bool:
        world = replace(snapshot, pending=snapshot.pending.plus({attempt: changed}))
        decided = schedule(world, policy, now)
        return any(placement.attempt == attempt for placement in decided.placements)

    return tuple(found for change in _CHANGES for found in change(young, starts))


def _less_gpu(workload: Workload, starts: Callable[[Workload], bool]) -> Iterator[Counterfactual]:
    asked = workload.shape.pod_sets[0].asked.gpu_milli
    step = WHOLE if asked > WHOLE else 50
    yield from _most(workload, list(range(step, asked, step)), _with_gpu, "gpu", show_milli, starts)


def _fewer_workers(workload: Workload, starts: Callable[[Workload], bool]) -> Iterator[Counterfactual]:
    first = workload.shape.pod_sets[0]
    yield from _most(workload, list(range(1, first.least)), _with_count, "workers", str, starts)


def _less_cpu(workload: Workload, starts: Callable[[Workload], bool]) -> Iterator[Counterfactual]:
    asked = workload.shape.pod_sets[0].asked.cpu_milli
    step = 1000 if asked > 1000 else 100  # noqa: PLR2004 - one core
    yield from _most(workload, list(range(step, asked, step)), _with_cpu, "cpu", show_milli, starts)


def _less_memory(workload: Workload, starts: Callable[[Workload], bool]) -> Iterator[Counterfactual]:
    asked = workload.shape.pod_sets[0].asked.memory_bytes
    amounts = [asked * part // 16 for part in range(1, 16)] if asked else []
    yield from _most(workload, amounts, _with_memory, "memory", show_bytes, starts)


def _any_model(workload: Workload, starts: Callable[[Workload], bool]) -> Iterator[Counterfactual]:
    first = workload.shape.pod_sets[0]
    if first.models:
        yield from _tried("any gpu_model", _reshaped(workload, replace(first, models=())), starts)


def _no_isolation(workload: Workload, starts: Callable[[Workload], bool]) -> Iterator[Counterfactual]:
    if workload.shape.isolation is not Isolation.NONE:
        changed = replace(workload, shape=replace(workload.shape, isolation=Isolation.NONE))
        yield from _tried("isolation: none", changed, starts)


def _any_pool(workload: Workload, starts: Callable[[Workload], bool]) -> Iterator[Counterfactual]:
    if workload.shape.pools:
        yield from _tried("any pool", replace(workload, shape=replace(workload.shape, pools=())), starts)


def _no_window(workload: Workload, starts: Callable[[Workload], bool]) -> Iterator[Counterfactual]:
    if workload.contract.window is not None:
        yield from _tried("no window", replace(workload, contract=replace(workload.contract, window=None)), starts)


def _any_price(workload: Workload, starts: Callable[[Workload], bool]) -> Iterator[Counterfactual]:
    if workload.shape.most_price is not None:
        yield from _tried("any price", replace(workload, shape=replace(workload.shape, most_price=None)), starts)


_CHANGES = (
    _less_gpu,
    _fewer_workers,
    _less_cpu,
    _less_memory,
    _any_model,
    _no_isolation,
    _any_pool,
    _no_window,
    _any_price,
)


def _most(
    workload: Workload,
    amounts: list[int],
    changed: Callable[[Workload, int], Workload],
    key: str,
    show: Callable[[int], str],
    starts: Callable[[Workload], bool],
) -> Iterator[Counterfactual]:
    """Yield the largest of ascending amounts with which it starts: what fits with more fits with less."""
    low, high = 0, len(amounts)  # starts with all below low, does not from high on
    while low < high:
        middle = (low + high) // 2
        if starts(changed(workload, amounts[middle])):
            low = middle + 1
        else:
            high = middle
    if low:
        amount = amounts[low - 1]
        yield Counterfactual(f"{key}: {show(amount)}", changed(workload, amount))


def _tried(says: str, changed: Workload, starts: Callable[[Workload], bool]) -> Iterator[Counterfactual]:
    if starts(changed):
        yield Counterfactual(says, changed)


def _reshaped(workload: Workload, first: PodSet) -> Workload:
    return replace(workload, shape=replace(workload.shape, pod_sets=(first, *workload.shape.pod_sets[1:])))


def _with_gpu(workload: Workload, milli: int) -> Workload:
    first = workload.shape.pod_sets[0]
    return _reshaped(workload, replace(first, asked=replace(first.asked, gpu_milli=milli)))


def _with_cpu(workload: Workload, milli: int) -> Workload:
    first = workload.shape.pod_sets[0]
    return _reshaped(workload, replace(first, asked=replace(first.asked, cpu_milli=milli)))


def _with_memory(workload: Workload, count: int) -> Workload:
    first = workload.shape.pod_sets[0]
    return _reshaped(workload, replace(first, asked=replace(first.asked, memory_bytes=count)))


def _with_count(workload: Workload, count: int) -> Workload:
    first = workload.shape.pod_sets[0]
    return _reshaped(workload, replace(first, count=count, least=count))
