"""From a planned step to the portable job of one attempt."""

import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import replace

from trainwright.core.ids import StepName
from trainwright.core.job import Argument, CodeTree, Collection, Command, JobSpec, Part, Template
from trainwright.core.join import Join
from trainwright.core.run import Attempt, RunView
from trainwright.core.scalar import Plain, render_scalar
from trainwright.lifecycle.facts import fields_of
from trainwright.lifecycle.retry import resources_of
from trainwright.plan.plan import Plan, PlannedStep, Source, within

GRACE_S = 10.0
"""Seconds between TERM and KILL; long enough to save a small checkpoint."""


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
        params=plan.params if step.params is None else step.params,
        code=replace(code, folder=posixpath.normpath(posixpath.join(code.folder, step.folder))),
        resources=resources_of(step, record.ooms),
        devices=record.devices,
        timeout_s=step.timeout_s,
        grace_s=GRACE_S,
        collections=collections,
    )


def each_fields(step: PlannedStep) -> Iterator[tuple[str, str]]:
    """Yield group and field of everything that a step, or a step inside it, says of an item."""
    command = step.command or Command()
    templates = (*command.refs.values(), *command.argv, *step.env.values())
    refs = [part.ref for template in templates for part in template]
    refs += [argument.ref for argument in command.call.arguments.values()] if command.call else []
    for ref in refs:
        if ref.startswith("each:"):
            _, group, field = ref.split(":", 2)
            yield group, field
    for inner in step.group.body if step.group else ():
        yield from each_fields(inner)


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
        return Part(text=render_scalar(self._field(rest))) if kind == "each" else part

    def _argument(self, argument: Argument) -> Argument:
        kind, _, rest = argument.ref.partition(":")
        if kind == "input" and rest not in self._inputs:
            return Argument()
        return Argument(self._field(rest)) if kind == "each" else argument

    def _field(self, named: str) -> Plain:
        path, _, field = named.partition(":")
        member = self._member(StepName(path))
        return fields_of(self._view.step(member).item, member).get(field)

    def _member(self, path: StepName) -> StepName:
        """Return the member of that group which this step is, or lies in."""
        group = within(path, self._name)
        length = group.count(".") + 2
        return StepName(".".join(self._name.split(".")[:length]))


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
