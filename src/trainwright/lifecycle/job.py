"""From a planned step to the portable job of one attempt."""

from trainwright.core.artifact import Input
from trainwright.core.ids import AttemptId
from trainwright.core.job import CodeTree, Command, JobSpec
from trainwright.core.run import RunView
from trainwright.plan.plan import Plan, PlannedStep

GRACE_S = 10.0
"""Seconds between TERM and KILL; long enough to save a small checkpoint."""


def inputs_of(plan: Plan, view: RunView, step: PlannedStep) -> tuple[Input, ...]:
    """Return what the step reads, resolved to content; every step before it has succeeded."""
    pinned = {d.name: d for d in plan.data}
    made = {(o.step, o.name): o for o in view.outputs}  # the last attempt's stands: outputs come oldest first
    found: list[Input] = []
    for planned in step.inputs:
        if planned.step is None:
            data = pinned[planned.output]
            found.append(Input(planned.name, planned.kind, data.content, data.address))
        else:
            output = made[planned.step, planned.output]
            found.append(Input(planned.name, planned.kind, output.content, output.address))
    return tuple(found)


def build_job(plan: Plan, view: RunView, attempt: AttemptId, code: CodeTree) -> JobSpec:
    """Return the job of an attempt: same plan and records, same job."""
    record = next(a for a in view.attempts if a.id == attempt)
    step = plan.step(record.step)
    return JobSpec(
        attempt=attempt,
        run=view.run.id,
        project=view.run.project,
        pipeline=plan.pipeline,
        step=step.name,
        number=record.number,
        token=record.token,
        command=step.command or Command(),
        env=step.env,
        inputs=view.inputs.get(attempt, ()),
        outputs=step.outputs,
        params=plan.params,
        code=code,
        resources=step.resources,
        devices=record.devices,
        timeout_s=step.timeout_s,
        grace_s=GRACE_S,
    )
