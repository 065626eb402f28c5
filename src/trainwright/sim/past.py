"""This project's own past as a load: every attempt that ran and ended, as it was asked for then."""

from datetime import timedelta
from typing import TYPE_CHECKING

from trainwright.core.priority import BUILT_IN
from trainwright.core.queue import DEFAULT_QUEUE, QueueName
from trainwright.core.scheduling import Gang, Scheduling
from trainwright.core.workload import Contract, PodSet, Preemption, Shape
from trainwright.sim.job import Job
from trainwright.sim.mistakes import wrong
from trainwright.sim.trace import Load
from trainwright.store import runs
from trainwright.store.usage import Used, attempts_between

if TYPE_CHECKING:
    from trainwright.core.ids import Digest
    from trainwright.plan.plan import Plan
    from trainwright.service.context import Context


def past_load(context: "Context", since: timedelta) -> Load:
    """Return what was queued within ``since`` and has run to an end.

    Raises:
        SpecError: there is no such attempt.
    """
    now = context.clock.now()
    plans: dict[Digest, Plan] = {}
    shapes: dict[Shape, Shape] = {}
    found = []
    with context.database.reading() as rows:
        for used in attempts_between(rows, context.project, now - since, now):
            if used.finished_at is None or used.queued_at < now - since:
                continue
            if used.plan_digest not in plans:
                plans[used.plan_digest] = runs.plan(rows, context.project, used.plan_digest)
            found.append((used, plans[used.plan_digest]))
    if not found:
        remedy = "a made-up load: --synthetic jobs=1000; a file: --trace FILE; further back: --history 365d"
        wrong("--history", "no attempt of this project ran and ended in that time", remedy=remedy)
    begin = min(used.queued_at for used, _ in found)
    jobs = [_job(used, plan, (used.queued_at - begin).total_seconds(), shapes) for used, plan in found]
    return Load(tuple(sorted(jobs, key=lambda job: (job.submit_s, job.name))), begin)


def _job(used: Used, plan: "Plan", submit_s: float, shapes: dict[Shape, Shape]) -> Job:
    path = plan.path(used.step)
    asked = plan.scheduling.get(path, Scheduling())
    gang = plan.gangs.get(path, Gang())
    step, plain = plan.step(used.step), Contract()
    pod_set = PodSet(step.resources, gang.count, gang.least, gang.models)
    shape = Shape((pod_set,), asked.pools or (), gang.isolation, asked.most_price)
    ended = used.finished_at or used.started_at
    priority = asked.priority if isinstance(asked.priority, int) else BUILT_IN.get(asked.priority or "normal", 0)
    return Job(
        name=f"{used.pipeline}/{used.step}",
        submit_s=submit_s,
        duration_s=(ended - used.started_at).total_seconds(),
        shape=shapes.setdefault(shape, shape),
        queue=QueueName(asked.queue) if asked.queue else DEFAULT_QUEUE,
        user=used.actor,
        priority=priority,
        contract=Contract(
            preemption=asked.preemption or Preemption.BY_PRIORITY,
            restart_cost_s=plain.restart_cost_s if asked.restart_cost_s is None else asked.restart_cost_s,
            grace_s=plain.grace_s if asked.grace_s is None else asked.grace_s,
            expected_s=asked.expected_s,
            most_s=step.timeout_s,
            window=asked.window,
            kin=f"{used.actor}/{used.pipeline}/{path}",
        ),
    )
