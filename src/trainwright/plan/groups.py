"""Steps that stand for several: the items of their members, and the scope of a sub-pipeline."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from typing import TypeAlias

from trainwright.core.artifact import ArtifactKind
from trainwright.core.errors import DeniedError, Position, SpecError, TrainwrightError
from trainwright.core.job import Part
from trainwright.core.scalar import Plain
from trainwright.plan.plan import Group, GroupKind, PlannedInput, PlannedStep
from trainwright.plan.scope import Scope, joined
from trainwright.spec.arguments import literal_of, reference_of
from trainwright.spec.document import Document, StepSpec
from trainwright.spec.findings import show, suggest
from trainwright.spec.groups import MOST_ITEMS
from trainwright.spec.params import resolve
from trainwright.spec.references import Reference

Body: TypeAlias = tuple[PlannedStep, ...]


def list_of(scope: Scope, name: str, step: StepSpec) -> PlannedInput | None:
    """Return the output that holds the list over which a step goes; None when the list is known already.

    Raises:
        SpecError: what a sub-pipeline gives under that name is no value.
    """
    over = step.fan_out.over if step.fan_out else ""
    head, _, field = over.partition(".")
    if not over or head == "params":
        return None
    found = scope.input(name, Reference(head, field, 0))
    if found is None or found.kind is not ArtifactKind.VALUE:
        raise SpecError(
            "TW1021",
            f"{over} is not a value",
            where=scope.document.where(f"steps.{name}.for_each"),
            remedy="go over an output that is declared as one, as in out: {shards: value}",
        )
    return found


def group_of(scope: Scope, name: str, step: StepSpec, body: PlannedStep, over: PlannedInput | None) -> Group:
    """Return the group of a step with members or rounds.

    Raises:
        SpecError: there would be too many members, or a parameter that holds values is not known yet.
    """
    if step.loop is not None:
        return Group(GroupKind.LOOP, (body,), max_rounds=step.loop.max_rounds, until=step.loop.until)
    items = None if over is not None else _items(scope, name, step)
    if items is not None and len(items) > MOST_ITEMS:
        raise SpecError(
            "TW1043",
            f"step {name} would have {len(items)} members, at most {MOST_ITEMS} are allowed",
            where=scope.document.where(f"steps.{name}"),
            remedy="let each member take a part of the list",
        )
    return Group(GroupKind.EACH, (body,), items=items, over=over, parallel=step.parallel, tolerate=step.tolerate)


def _items(scope: Scope, name: str, step: StepSpec) -> tuple[Plain, ...]:
    """Return the items of a step whose list is written out or in a parameter; the last value changes fastest."""
    fan_out = step.fan_out
    if fan_out is None:
        return ()
    if fan_out.matrix:
        names = list(fan_out.matrix)
        values = [_values(scope, name, fan_out.matrix[key]) for key in names]
        return tuple(dict(zip(names, row, strict=True)) for row in product(*values))
    return _values(scope, name, fan_out.over if fan_out.items is None else fan_out.items)


def _values(scope: Scope, name: str, values: tuple[Plain, ...] | str) -> tuple[Plain, ...]:
    if not isinstance(values, str):
        return values
    field = values.partition(".")[2]
    found = scope.params.get(field)
    if isinstance(found, list):
        return tuple(found)
    raise SpecError(
        "TW1070",
        f"{values} is known for each member only, and step {name} goes over it",
        where=scope.document.where(f"steps.{name}"),
        remedy="write the list, or give it as a parameter of the whole run",
    )


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
    return Scope(
        document=sub,
        params=_resolved(scope, name, sub, given, bound),
        prefix=f"{scope.template_path(name)}.",
        data_prefix=f"{scope.data_prefix}{name}.",
        bound=bound,
        data=data,
        registered=scope.registered,
        folder=joined(scope.folder, step.uses),
    )


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
        inputs = [key for key in given if key in problem.message]
        place = f"steps.{name}.with.{inputs[0]}" if inputs else f"steps.{name}.with"
        raise kind(
            problem.code,
            f"step {name}: {problem.message}",
            where=scope.document.where(place),
            why=f"{problem.why} ({problem.where})" if problem.why else f"see {problem.where}",
            remedy=problem.remedy.replace("-p ", "with: "),
        ) from error
