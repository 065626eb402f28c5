"""From a planned step to the portable job of one attempt."""

import posixpath
from collections.abc import Mapping
from dataclasses import replace

from trainwright.core.ids import StepName
from trainwright.core.job import Argument, CodeTree, Collection, Command, JobSpec, Part, Template
from trainwright.core.join import Join
from trainwright.core.run import Attempt, RunView
from trainwright.core.scalar import Plain, render_scalar
from trainwright.lifecycle.facts import params_of
from trainwright.lifecycle.retry import resources_of
from trainwright.plan.items import fields_of, place_of
from trainwright.plan.plan import Plan, PlannedStep, Source, within

GRACE_S = 10.0
"""Seconds between TERM and KILL of a step that asks for no other grace; long enough to save a small checkpoint."""


def build_job(plan: Plan, view: RunView, record: Attempt, code: CodeTree) -> JobSpec:
    """Return the job of an attempt: same plan and records, same job."""
    step = plan.step(record.step)
    inputs = view.inputs.get(record.id, ())
    collections = _collections(step, tuple(i.name for i in inputs))
    fill = _Fill(view, record.step, {*collections, *(i.name for i in inputs)})
    return JobSpec(
        attempt=record.id,
        run=view.run.id,
        project=view.run.project,
        pipeline=plan.pipeline,
        step=record.step,
        number=record.number,
        token=record.token,
        command=fill.command(step.command or Command()),
        env={**fill.templates(step.env), **_failure(step, view, record.step)},
        inputs=inputs,
        outputs=step.outputs,
        params=params_of(step, record.step, plan.params, view.step),
        code=code_of(code, step),
        resources=resources_of(step, record.ooms),
        devices=record.devices,
        places=record.places,
        timeout_s=step.timeout_s,
        grace_s=grace_s(plan, record),
        collections=collections,
        warm=step.warm,
        environment=step.environment,
    )


def grace_s(plan: Plan, record: Attempt) -> float:
    """Return the seconds that an attempt has from being told to leave until it is killed."""
    asked = plan.scheduling.get(plan.path(record.step))
    return GRACE_S if asked is None or asked.grace_s is None else asked.grace_s


def code_of(code: CodeTree, step: PlannedStep) -> CodeTree:
    """Return the code of a run as a step starts from it: in the folder of its own pipeline file."""
    return replace(code, folder=posixpath.normpath(posixpath.join(code.folder, step.folder)))


class _Fill:
    """Puts the items of members into templates, and nothing in the place of inputs that there are none of."""

    def __init__(self, view: RunView, name: StepName, inputs: set[str]) -> None:
        self._view, self._name, self._inputs = view, name, inputs

    def command(self, command: Command) -> Command:
        call = command.call
        if call is not None:
            call = replace(call, arguments={name: self._argument(a) for name, a in call.arguments.items()})
        argv = tuple(map(self.template, command.argv))
        return replace(command, refs=self.templates(command.refs), argv=argv, call=call)

    def templates(self, named: Mapping[str, Template]) -> dict[str, Template]:
        return {name: self.template(template) for name, template in named.items()}

    def template(self, template: Template) -> Template:
        return tuple(map(self._part, template))

    def _part(self, part: Part) -> Part:
        kind, _, rest = part.ref.partition(":")
        if kind == "input" and rest not in self._inputs:
            return Part()
        return Part(text=render_scalar(self._field(part.ref))) if kind == "each" else part

    def _argument(self, argument: Argument) -> Argument:
        kind, _, rest = argument.ref.partition(":")
        if kind == "input" and rest not in self._inputs:
            return Argument()
        return Argument(self._field(argument.ref)) if kind == "each" else argument

    def _field(self, ref: str) -> Plain:
        member, field = place_of(ref, self._name)
        return fields_of(self._view.step(member).item, member).get(field)


def _collections(step: PlannedStep, names: tuple[str, ...]) -> dict[str, Collection]:
    found = {}
    for wanted in step.inputs:
        if wanted.source is Source.ALL:
            numbered = [n for n in names if n.startswith(f"{wanted.name}.")]
            numbered.sort(key=lambda n: int(n.rpartition(".")[2]))
            found[wanted.name] = Collection(wanted.kind, tuple(numbered))
    return found


def _failure(step: PlannedStep, view: RunView, name: StepName) -> dict[str, Template]:
    """Return what a step that follows a failure is told about it."""
    if step.join is not Join.ONE_FAILED:
        return {}
    failed = view.step(within(step.needs[0], name))
    told: dict[str, Plain] = {
        "TW_FAILED_STEP": failed.name,
        "TW_FAILED_REASON": failed.reason.sentence() if failed.reason else "",
    }
    return {key: (Part(text=render_scalar(value)),) for key, value in told.items()}
