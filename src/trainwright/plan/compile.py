"""A checked document, parameters and pinned data to one ``Plan``: same input, same bytes."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from trainwright.core.artifact import PinnedData
from trainwright.core.condition import mentioned, parse
from trainwright.core.errors import BugError, SpecError
from trainwright.core.ids import StepName
from trainwright.core.join import Join
from trainwright.core.scalar import Plain
from trainwright.core.stage import RULES, Stage
from trainwright.plan.groups import Body, group_of, list_of
from trainwright.plan.order import topological
from trainwright.plan.plan import Check, Group, GroupKind, Plan, PlannedInput, PlannedStep
from trainwright.plan.registration import baseline_model, registered, registrations
from trainwright.plan.scheduling import gangs_by_path, scheduling_by_path
from trainwright.plan.scope import Scope, outputs_of
from trainwright.plan.texts import command_of, env_of, params_of, references_of
from trainwright.plan.uses import sub_scope
from trainwright.spec.arguments import literal_of, reference_of
from trainwright.spec.document import Document, StepSpec
from trainwright.spec.references import Reference

_OF_MEMBER = ("each", "matrix")


def data_requests(document: Document) -> dict[str, str]:
    """Return what ``data:`` asks for, by name in sorted order: ``{"raw": "datasets/digits@latest"}``.

    Data that a sub-pipeline asks for itself is named ``STEP.NAME``.
    """
    return dict(sorted(_requests(document, "", document.spec.data)))


def _requests(document: Document, prefix: str, asked: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    yield from ((prefix + name, uri) for name, uri in asked.items())
    for name, step in document.spec.steps.items():
        if step.uses:
            sub = document.subs[step.uses]
            own = {}
            for entry, uri in sub.spec.data.items():
                given = step.arguments.get(entry)
                if reference_of(given, document.spec.steps) is None:
                    own[entry] = uri if given is None else str(literal_of(given))
            yield from _requests(sub, f"{prefix}{name}.", own)


def compile_plan(document: Document, params: Mapping[str, Plain], data: tuple[PinnedData, ...]) -> Plan:
    """Return the plan of one run.

    Args:
        document: checked by ``spec.load``, with the files that its steps use.
        params: every declared parameter with its value, as ``spec.params.resolve`` returns them.
        data: every entry of ``data_requests``, pinned; the order means nothing.

    Raises:
        SpecError: steps wait for one another in a circle, a check asks for production without one model to mean,
            a standard pipeline lacks stages, or a sub-pipeline is used wrongly.
        DeniedError: a model would be registered that nobody checks, or under an alias that only a promotion moves.
        BugError: data was not pinned.
    """
    spec = document.spec
    pinned = {entry.name: entry for entry in data}
    asked = data_requests(document)
    unpinned = sorted(set(asked) - set(pinned))
    if unpinned:
        raise BugError("TW9001", f"data not pinned before compiling: {', '.join(unpinned)}")
    _require_stages(document)
    steps = _steps(Scope(document, params))
    return Plan(
        spec.api_version,
        spec.pipeline,
        spec.standard,
        dict(sorted(params.items())),
        tuple(pinned[name] for name in asked),
        steps,
        spec.parallel,
        dict(sorted(spec.tolerance.items())),
        gangs_by_path(document),
        scheduling_by_path(document),
    )


def _steps(scope: Scope) -> tuple[PlannedStep, ...]:
    """Return the steps of one file, each after all it needs."""
    document, spec = scope.document, scope.document.spec
    reads = {name: _reads(scope, name, step) for name, step in sorted(spec.steps.items())}
    needs = {name: _needs(scope, name, step) for name, step in spec.steps.items()}
    topological(document, needs)  # a circle is reported before anything that takes the graph to have none
    registers = registrations(scope, reads, needs)
    for name, (registration, judges) in registers.items():
        source = registration.source.name.partition(".")[0]
        needs[name] = tuple(sorted({*needs[name], source, *judges}))
    scope = replace(scope, registered=registered(scope, reads))
    found: list[PlannedStep] = []
    for name in topological(document, needs):
        step = spec.steps[name]
        base = PlannedStep(
            name=scope.path(name),
            stage=step.stage,
            registration=registers[name][0] if name in registers else None,
            inputs=reads[name],
            outputs=outputs_of(document, step),
            needs=tuple(map(scope.path, needs[name])),
            join=step.join,
            when=step.when,
            params=None if scope.prefix == "" else scope.params,
            bound=scope.bound,
            folder=scope.folder,
        )
        if name not in registers:
            base = _filled(scope, name, base, baseline_model(scope, name, reads, scope.registered))
        found.append(base)
        if step.on_fail is not None:
            found.append(_on_fail(scope, name, step.on_fail))
    return tuple(found)


def _filled(scope: Scope, name: str, base: PlannedStep, baseline: str) -> PlannedStep:
    """Return a step with what it executes, or with what it stands for."""
    step = scope.document.spec.steps[name]
    if step.fan_out is None and step.loop is None:
        return _single(scope, name, base, baseline)
    own = tuple(text for text in step.when if _is_of_member(text))
    template = replace(base, name=scope.template_path(name), needs=(), join=Join.ALL_SUCCESS, when=own)
    body = _single(scope, name, template, baseline)
    over = list_of(scope, name, step)
    return replace(
        base,
        inputs=() if over is None else (over,),
        when=tuple(text for text in step.when if text not in own),
        group=group_of(scope, name, step, body, over),
    )


def _single(scope: Scope, name: str, base: PlannedStep, baseline: str) -> PlannedStep:
    """Return a step, or the template of its members, with its command or the steps of its sub-pipeline."""
    step = scope.document.spec.steps[name]
    if step.uses:
        inner = sub_scope(scope, name, step)
        body: Body = _steps(inner)
        made = {
            output: (inner.path(made.partition(".")[0]), made.partition(".")[2])
            for output, made in sorted(inner.document.spec.outputs.items())
        }
        return replace(base, inputs=(), group=Group(GroupKind.ONCE, body, outputs=made))
    return replace(
        base,
        command=command_of(step, lambda reference: scope.part(name, reference), lambda v: scope.argument(name, v)),
        resources=step.resources,
        checks=_checks(step),
        retry=step.retry,
        timeout_s=step.timeout_s,
        env=env_of(step, lambda reference: scope.part(name, reference)),
        baseline_model=baseline,
        baseline_required=step.baseline_required,
        skip_code=step.skip_code,
        param_names=params_of(step),
        cache=step.cache,
        warm=step.warm,
        environment=scope.environment_of(step),
    )


def _on_fail(scope: Scope, name: str, step: StepSpec) -> PlannedStep:
    """Return the step that follows the failure of another."""
    inputs = (scope.input(name, reference) for reference in references_of(step))
    return PlannedStep(
        name=StepName(f"{scope.path(name)}.on_fail"),
        command=command_of(step, lambda reference: scope.part(name, reference), lambda v: scope.argument(name, v)),
        inputs=_once(i for i in inputs if i is not None),
        needs=(scope.path(name),),
        resources=step.resources,
        retry=step.retry,
        timeout_s=step.timeout_s,
        env=env_of(step, lambda reference: scope.part(name, reference)),
        join=Join.ONE_FAILED,
        environment=scope.environment_of(step) if step.environment else None,  # it has to run when that one cannot
        params=None if scope.prefix == "" else scope.params,
        bound=scope.bound,
        folder=scope.folder,
    )


def _references(scope: Scope, step: StepSpec) -> Iterator[Reference]:
    """Yield everything that a step reads, as it says it."""
    if step.register:
        name, _, output = step.register.model.partition(".")
        yield Reference(name, output, 0)
    for value in step.arguments.values():
        reference = reference_of(value, scope.document.spec.steps)
        if reference is not None:
            yield reference
    yield from references_of(step)


def _reads(scope: Scope, name: str, step: StepSpec) -> tuple[PlannedInput, ...]:
    """Return everything a step reads, by name in sorted order, each once."""
    return _once(i for r in _references(scope, step) if (i := scope.input(name, r)) is not None)


def _once(inputs: Iterator[PlannedInput]) -> tuple[PlannedInput, ...]:
    return tuple(sorted(set(inputs), key=lambda i: i.name))


def _needs(scope: Scope, name: str, step: StepSpec) -> tuple[str, ...]:
    """Return the steps of the same file that come before one: whose outputs it reads, and whom it names."""
    steps = scope.document.spec.steps
    named = {reference.name for reference in _references(scope, step)}
    named |= {dotted.partition(".")[0] for text in step.when for dotted in mentioned(parse(text))}
    named |= {step.fan_out.over.partition(".")[0]} if step.fan_out else set()
    return tuple(sorted({*(n for n in named if n in steps and n != name), *step.depends_on}))


def _is_of_member(text: str) -> bool:
    return any(dotted.partition(".")[0] in _OF_MEMBER for dotted in mentioned(parse(text)))


def _checks(step: StepSpec) -> tuple[Check, ...]:
    """Return the author's checks, then those of the stage that the author did not write too."""
    gates = RULES[step.stage].gates if step.stage else ()
    own = tuple(Check(text) for text in step.checks)
    return own + tuple(Check(gate, default=True) for gate in gates if gate not in step.checks)


def _require_stages(document: Document) -> None:
    if not document.spec.standard:
        return
    present = set(_stages(document))
    missing = [stage.value for stage in Stage if stage not in present]
    if missing:
        raise SpecError(
            "TW1061",
            f"the pipeline is standard and has no step of the stage {', '.join(missing)}",
            where=document.where("standard"),
            why="a standard pipeline has all six stages",
            remedy="give steps these stages, or leave standard: out",
        )


def _stages(document: Document) -> Iterator[Stage | None]:
    """Yield the stages of all steps, those of pipeline files that it uses too."""
    for step in document.spec.steps.values():
        yield step.stage
        if step.uses:
            yield from _stages(document.subs[step.uses])
