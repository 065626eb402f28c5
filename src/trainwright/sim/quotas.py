"""Queues as a person changes them on a command line: ``ads=16``, ``ads.cpu=64``, ``ads.gpu=16..24``; weights too."""

from collections.abc import Collection, Iterable
from dataclasses import replace

from trainwright.core import quantity
from trainwright.core.queue import Cohort, Queue, QueueName, Quota
from trainwright.sim.accounts import total_of
from trainwright.sim.cluster import Cluster
from trainwright.sim.mistakes import wrong

COHORT = "cluster"
"""In which queues share that no document puts into another, once one of them gets a quota."""

_READS = {"cpu": quantity.cpu_milli, "memory": quantity.memory_bytes, "gpu": quantity.gpu_milli}
_EXAMPLE = "write it as ads=16 (GPUs guaranteed), ads.cpu=64, ads.gpu=16..24 (and never more than 24) or ads=..24"


def with_quotas(cluster: Cluster, words: Iterable[str], in_load: Collection[QueueName]) -> Cluster:
    """Return the cluster with other guarantees and ceilings.

    Queues of the load that belong to no cohort come into one with all that there is, so that they lend and borrow.

    Args:
        cluster: as it is.
        words: see above; a resource is GPUs unless it is said.
        in_load: queues that the load names.

    Raises:
        SpecError: a word is none of these, or nobody knows its queue.
    """
    given = [_quota(word, cluster, in_load) for word in words]
    if not given:
        return cluster
    queues = {name: cluster.queues.get(name, Queue(name)) for name in sorted({*cluster.queues, *in_load})}
    resources = sorted({resource for _, resource, _ in given})
    for name, queue in queues.items():
        if not queue.cohort:
            shared = {**{resource: Quota() for resource in resources}, **queue.quotas}
            queues[name] = replace(queue, cohort=COHORT, quotas=shared)
    for name, resource, quota in given:
        queues[name] = replace(queues[name], quotas={**queues[name].quotas, resource: quota})
    extra = {r: _spare(cluster, queues.values(), r) for r in resources}
    cohorts = {**cluster.cohorts, COHORT: Cohort(COHORT, extra)}
    return replace(cluster, queues=queues, cohorts=cohorts)


def with_weights(cluster: Cluster, words: Iterable[str], in_load: Collection[QueueName]) -> Cluster:
    """Return the cluster with other weights of queues: ``ads=2``.

    Raises:
        SpecError: a word is no weight, or nobody knows its queue.
    """
    queues = dict(cluster.queues)
    for word in words:
        name, equals, text = word.partition("=")
        try:
            weight = float(text)
        except ValueError:
            weight = 0.0
        if not equals or not 0 < weight < float("inf"):
            wrong("--queue-weight", f"{word!r} is not QUEUE=WEIGHT", remedy="write a number above 0: ads=2")
        queue = _known(name, "--queue-weight", cluster, in_load)
        queues[queue] = replace(queues.get(queue, Queue(queue)), weight=weight)
    return replace(cluster, queues=queues)


def _quota(word: str, cluster: Cluster, in_load: Collection[QueueName]) -> tuple[QueueName, str, Quota]:
    left, equals, amount = word.partition("=")
    name, dot, resource = left.rpartition(".")
    name, resource = (name, resource) if dot and resource in _READS else (left, "gpu")
    if not equals or not amount:
        wrong("--quota", f"{word!r} is not QUEUE=AMOUNT", remedy=_EXAMPLE)
    queue = _known(name, "--quota", cluster, in_load)
    low, dots, high = amount.partition("..")
    read = _READS[resource]
    try:
        guaranteed = read(low) if low else 0
        ceiling = read(high) if dots and high else None
    except ValueError as error:
        wrong("--quota", f"{word}: {error}", remedy=_EXAMPLE)
    if ceiling is not None and ceiling < guaranteed:
        wrong("--quota", f"{word}: the ceiling is below the guarantee", remedy="raise the ceiling")
    return queue, resource, Quota(guaranteed, ceiling)


def _known(name: str, option: str, cluster: Cluster, in_load: Collection[QueueName]) -> QueueName:
    known = {*map(str, cluster.queues), *map(str, in_load)}
    if name not in known:
        wrong(option, f"there is no queue {name!r}, neither declared nor in the load", name, known)
    return QueueName(name)


def _spare(cluster: Cluster, queues: Iterable[Queue], resource: str) -> int:
    """Return what the cluster has beside what is guaranteed in the shared cohort."""
    totals = total_of(cluster.nodes)
    there = {"cpu": totals.cpu_milli, "memory": totals.memory_bytes, "gpu": totals.gpu_milli}[resource]
    return max(0, there - sum(q.quotas[resource].guaranteed for q in queues if q.cohort == COHORT))
