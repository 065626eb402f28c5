"""A made-up load: submissions at random instants, sizes and durations as they are common in clusters that train."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any, TypeVar

from trainwright.core.node import WHOLE, Node
from trainwright.core.quantity import duration
from trainwright.core.queue import DEFAULT_QUEUE, QueueName
from trainwright.core.resources import Resources
from trainwright.core.workload import Contract
from trainwright.sim.job import Job
from trainwright.sim.mistakes import wrong
from trainwright.sim.shapes import Shapes

_SIZES: Mapping[int, float] = {1: 0.70, 2: 0.10, 4: 0.10, 8: 0.08, 16: 0.02}
"""Of gangs, in GPUs: about as in Microsoft's Philly cluster."""

_SPREAD = 1.5
"""Of the logarithm of durations: a tenth lasts seven times as long as the median and more."""

USERS = 12
LARGEST = 1_000_000

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Asked:
    """What a made-up load is to be like.

    Attributes:
        rate: submissions an hour; None = as many as give ``load``.
        load: work that arrives, as a part of what the cluster can do.
        median_s: of durations.
        sizes: GPUs of a gang → how often; cores where the cluster has no GPU.
        queues, priorities: name or number → how often.
    """

    jobs: int = 1000
    rate: float | None = None
    load: float = 0.9
    median_s: float = 1200.0
    sizes: Mapping[int, float] | None = None
    queues: Mapping[str, float] | None = None
    priorities: Mapping[str, float] | None = None


def asked_of(text: str) -> Asked:
    """Return what ``jobs=1000,rate=60,duration=20m,gpus=1:7/8:1,queues=ads:2/search:1`` asks for.

    Raises:
        SpecError: a key is unknown, or its value is none.
    """
    asked = Asked()
    for pair in filter(None, text.split(",")):
        key, equals, value = pair.partition("=")
        if key.strip() not in _READS or not equals:
            wrong("--synthetic", f"{pair!r} is not one of its settings", key, _READS)
        field, read = _READS[key.strip()]
        try:
            given: dict[str, Any] = {field: read(value.strip())}
            asked = replace(asked, **given)
        except ValueError as error:
            wrong("--synthetic", f"{key}={value}: {error}")
    return asked


def synthetic(asked: Asked, nodes: Sequence[Node], seed: int) -> list[Job]:
    """Return a load for a cluster; same values, same load.

    Raises:
        SpecError: the cluster has no node.
    """
    if not nodes:
        wrong("--synthetic", "the cluster has no node")
    chance = Random(seed)  # noqa: S311 - a load, not a secret
    unit = max(node.total.gpu_milli for node in nodes) // WHOLE
    total = sum(node.total.gpu_milli if unit else node.total.cpu_milli for node in nodes) / 1000
    sizes = dict(asked.sizes or {size: often for size, often in _SIZES.items() if size <= total})
    sizes = sizes or {1: 1.0}
    mean = sum(size * often for size, often in sizes.items()) / sum(sizes.values())
    mean_s = asked.median_s * 2.718281828459045 ** (_SPREAD**2 / 2)
    rate = asked.rate / 3600 if asked.rate else asked.load * total / (mean * mean_s)
    shapes = Shapes(nodes)
    found, at = [], 0.0
    for number in range(1, asked.jobs + 1):
        at += chance.expovariate(rate)
        size = _draw(chance, sizes)
        resources = Resources(0, 0, size * WHOLE) if unit else Resources(size * 1000)
        seconds = asked.median_s * 2.718281828459045 ** chance.gauss(0.0, _SPREAD)
        user = f"user-{chance.randrange(USERS)}"
        queue = QueueName(_draw(chance, asked.queues)) if asked.queues else DEFAULT_QUEUE
        priority = int(_draw(chance, asked.priorities)) if asked.priorities else 0
        shape, kin = shapes.of(resources), Contract(kin=f"{user}/{size}")
        found.append(Job(f"job-{number}", round(at, 3), round(max(seconds, 1.0), 3), shape, queue, user, priority, kin))
    return found


def _draw(chance: Random, often: Mapping[T, float]) -> T:
    return chance.choices(list(often), list(often.values()))[0]


def _count(text: str) -> int:
    count = int(text) if text.isdigit() else 0
    if not 0 < count <= LARGEST:
        raise ValueError(f"write a whole number from 1 to {LARGEST}")
    return count


def _positive(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise ValueError("write a number above 0")
    return value


def _seconds(text: str) -> float:
    seconds = duration(text).total_seconds()
    if not seconds:
        raise ValueError("write a duration above 0")
    return seconds


def _shares(text: str) -> dict[str, float]:
    found = {}
    for part in text.split("/"):
        name, colon, often = part.partition(":")
        if not name:
            raise ValueError("write it as a:2/b:1")
        found[name] = _positive(often) if colon else 1.0
    return found


def _sizes(text: str) -> dict[int, float]:
    return {_count(size): often for size, often in _shares(text).items()}


def _priorities(text: str) -> dict[str, float]:
    return {str(int(number)): often for number, often in _shares(text).items()}


_READS = {
    "jobs": ("jobs", _count),
    "rate": ("rate", _positive),
    "load": ("load", _positive),
    "duration": ("median_s", _seconds),
    "gpus": ("sizes", _sizes),
    "queues": ("queues", _shares),
    "priorities": ("priorities", _priorities),
}
