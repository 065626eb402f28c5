"""What a step gives to the pipeline file that it uses: the scope of the steps in there."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from trainwright.core.errors import DeniedError, Position, SpecError, TrainwrightError
from trainwright.core.ids import StepName
from trainwright.core.job import Part
from trainwright.core.scalar import Plain
from trainwright.plan.groups import items_of
from trainwright.plan.items import fields_of
from trainwright.plan.plan import PlannedInput
from trainwright.plan.scope import Scope, joined
from trainwright.spec.arguments import literal_of, reference_of
from trainwright.spec.document import Document, StepSpec
from trainwright.spec.findings import show, suggest
from trainwright.spec.params import resolve
from trainwright.spec.references import Reference


def sub_scope(scope: Scope, name: str, step: StepSpec) -> Scope:
    """Return what names mean within the pipeline file that a step uses.

    Raises:
        SpecError: ``with:`` names an input that the file does not have, lacks one, or a value has the wrong type.
        DeniedError: a value is outside what the file allows.
    """
    sub = scope.document.subs[step.uses]
    given: dict[str, Plain] = {}
    bound: dict[str, Part] = {}
    data: dict[str, PlannedInput] = {}
    for key, value in sorted(step.arguments.items()):
        where = scope.document.where(f"steps.{name}.with.{key}")
        reference = reference_of(value, scope.document.spec.steps)
        if key in sub.spec.data:
            read = None if reference is None else scope.input(name, reference)
            if read is not None:
                data[key] = read
            elif not isinstance(literal_of(value), str) or reference is not None:
                raise _wrong_data(sub, key, value, where)
        elif key in sub.spec.params:
            part = None if reference is None else _part(scope, name, key, reference, where)
            if part is not None and part.ref:
                bound[key] = part
                if reference is not None and reference.name in {"each", "matrix"}:
                    _refuse_items(scope, name, step, reference, key)
            elif reference is not None:
                given[key] = scope.params[reference.field]
            else:
                given[key] = literal_of(value)
        else:
            raise SpecError(
                "TW1070",
                f"{step.uses} has no input {key}",
                where=where,
                why="the inputs of a pipeline file are its params: and its data:",
                remedy=suggest(key, {*sub.spec.params, *sub.spec.data}, "it has"),
            )
    prefix = f"{scope.template_path(name)}."
    return Scope(
        document=sub,
        params=_resolved(scope, name, sub, given, bound),
        prefix=prefix,
        data_prefix=f"{scope.data_prefix}{name}.",
        bound=bound,
        data=data,
        registered={**scope.registered, **dict(_registered(scope, name, sub, prefix))},
        folder=joined(scope.folder, step.uses),
        environment=scope.default_environment,
    )


def _registered(
    scope: Scope, name: str, sub: Document, prefix: str
) -> Iterator[tuple[tuple[StepName, str], tuple[str, ...]]]:
    """Yield the outputs of steps in a file that are registered under the name of an output of the file."""
    for output, made in sub.spec.outputs.items():
        names = scope.registered.get((scope.path(name), output))
        if names:
            maker, _, inner = made.partition(".")
            yield (StepName(prefix + maker), inner), names


def _part(scope: Scope, name: str, key: str, reference: Reference, where: Position) -> Part:
    """Return what stands for a parameter of a sub-pipeline that is given as a reference."""
    if reference.name in {"params", "each", "matrix", "loop"}:
        return scope.part(name, reference)
    raise SpecError(
        "TW1070",
        f"{key} is a parameter, and {reference.name}.{reference.field} is content",
        where=where,
        remedy="give it to an entry of data: there, or give a value",
    )


def _wrong_data(sub: Document, key: str, value: Plain, where: Position) -> SpecError:
    return SpecError(
        "TW1070",
        f"{show(value)} is nothing that {key} of {sub.file} could read",
        where=where,
        remedy="give an output of a step (prep.table), data of this file (data.raw), or a dataset",
    )


def _resolved(
    scope: Scope, name: str, sub: Document, given: Mapping[str, Plain], bound: Mapping[str, Part]
) -> dict[str, Plain]:
    """Return the parameters of a sub-pipeline that are known now; what is wrong is shown where it was given."""
    declared = {key: spec for key, spec in sub.spec.params.items() if key not in bound}
    try:
        return resolve(replace(sub, spec=replace(sub.spec, params=declared)), given)
    except TrainwrightError as error:
        kind = DeniedError if isinstance(error, DeniedError) else SpecError
        problem = error.problem
        inputs = [key for key in given if re.search(rf"\b{re.escape(key)}\b", problem.message)]
        by_name = problem.where.startswith("-p ")  # as for a run: that is not how it was given
        declared_at = str(sub.where(f"params.{inputs[0]}")) if by_name and inputs else problem.where
        remedy = re.sub(r"-p (\w+)=…", r"\1: … to with:", problem.remedy)
        raise kind(
            problem.code,
            f"step {name}: {problem.message}",
            where=scope.document.where(f"steps.{name}.with.{inputs[0]}" if inputs else f"steps.{name}.with"),
            why=f"{problem.why} ({declared_at})" if problem.why else f"it is declared at {declared_at}",
            remedy=remedy,
        ) from error


def _refuse_items(scope: Scope, name: str, step: StepSpec, given: Reference, key: str) -> None:
    """Hold what each member gives for a parameter against its declaration, when the items are known already.

    Raises:
        SpecError: a value has the wrong type.
        DeniedError: a value is outside what the file allows.
    """
    sub = scope.document.subs[step.uses]
    only = replace(sub, spec=replace(sub.spec, params={key: sub.spec.params[key]}))
    for number, item in enumerate(items_of(scope, name, step) or ()):
        fields = fields_of(item, StepName(f"{name}.{number}"))
        if given.field in fields:
            _resolved(scope, name, only, {key: fields[given.field]}, {})
