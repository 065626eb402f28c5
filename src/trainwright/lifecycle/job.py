"""From a planned step to the portable job of one attempt."""

from trainwright.core.artifact import Input, Output
from trainwright.core.job import CodeTree, Command, JobSpec
from trainwright.core.run import Attempt, RunView
from trainwright.plan.plan import Plan, PlannedStep

GRACE_S = 10.0
"""Seconds between TERM and KILL; long enough to save a small checkpoint."""


def inputs_of(plan: Plan, outputs: tuple[Output, ...], step: PlannedStep) -> tuple[Input, ...]:
    """Return what the step reads, resolved to content.

    Args:
        plan: of the run.
        outputs: of the run so far, oldest first; every step before this one has succeeded.
        step: to be attempted.
    """
    if not step.inputs:
        return ()
    pinned = {d.name: d for d in plan.data}
    made = {(o.step, o.name): o for o in outputs}  # the last attempt's stands
    found: list[Input] = []
    for planned in step.inputs:
        if planned.step is None:
            data = pinned[planned.output]
            found.append(Input(planned.name, planned.kind, data.content, data.address))
        else:
            output = made[planned.step, planned.output]
            found.append(Input(planned.name, planned.kind, output.content, output.address))
    return tuple(found)


def build_job(plan: Plan, view: RunView, record: Attempt, code: CodeTree) -> JobSpec:
    """Return the job of an attempt: same plan and records, same job."""
    step = plan.step(record.step)
    return JobSpec(
        attempt=record.id,
        run=view.run.id,
        project=view.run.project,
        pipeline=plan.pipeline,
        step=step.name,
        number=record.number,
        token=record.token,
        command=step.command or Command(),
        env=step.env,
        inputs=view.inputs.get(record.id, ()),
        outputs=step.outputs,
        params=plan.params,
        code=code,
        resources=step.resources,
        devices=record.devices,
        timeout_s=step.timeout_s,
        grace_s=GRACE_S,
    )
