"""What cpu and GPU time served: by purpose, queue, pipeline or person."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from trainwright.core.errors import SpecError
from trainwright.core.ids import Digest
from trainwright.core.queue import DEFAULT_QUEUE
from trainwright.core.scheduling import Gang, Scheduling
from trainwright.plan.plan import Plan
from trainwright.service.context import Context
from trainwright.service.nearest import did_you_mean
from trainwright.store import runs
from trainwright.store.usage import Used, attempts_between

UNSAID = "(not said)"
"""What served a purpose that nobody stated."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What one purpose, queue, pipeline or person used.

    Attributes:
        gpu_hours: GPUs, shares too, times hours.
        cpu_hours: cores asked for times hours.
        attempts: that ran in the time.
    """

    name: str
    gpu_hours: float
    cpu_hours: float
    attempts: int


_BY: Mapping[str, Callable[[Used, Scheduling], str]] = {
    "purpose": lambda _, asked: asked.purpose or UNSAID,
    "queue": lambda _, asked: asked.queue or DEFAULT_QUEUE,
    "pipeline": lambda used, _: used.pipeline,
    "person": lambda used, _: used.actor,
}


def usage(context: Context, by: str, since: timedelta) -> tuple[Usage, ...]:
    """Return what was used from ``since`` ago until now, most GPU time first, then most cpu time.

    Raises:
        SpecError: ``by`` is none of purpose, queue, pipeline and person.
    """
    if by not in _BY:
        remedy = did_you_mean(by, _BY, f"one of {', '.join(_BY)}")
        raise SpecError("TW2001", f"--by {by} is not possible", remedy=remedy)
    now = context.clock.now()
    start = now - since
    plans: dict[Digest, Plan] = {}
    sums: dict[str, list[float]] = {}
    with context.database.reading() as rows:
        for used in attempts_between(rows, context.project, start, now):
            if used.plan_digest not in plans:
                plans[used.plan_digest] = runs.plan(rows, context.project, used.plan_digest)
            plan = plans[used.plan_digest]
            path = plan.path(used.step)
            hours = _hours(used, start, now) * plan.gangs.get(path, Gang()).count
            asked = plan.step(used.step).resources
            total = sums.setdefault(_BY[by](used, plan.scheduling.get(path, Scheduling())), [0.0, 0.0, 0])
            total[0] += hours * asked.gpu_milli / 1000
            total[1] += hours * asked.cpu_milli / 1000
            total[2] += 1
    found = [Usage(name, gpu, cpu, int(count)) for name, (gpu, cpu, count) in sums.items()]
    return tuple(sorted(found, key=lambda usage: (-usage.gpu_hours, -usage.cpu_hours, usage.name)))


def _hours(used: Used, start: datetime, now: datetime) -> float:
    return (min(used.finished_at or now, now) - max(used.started_at, start)).total_seconds() / 3600
