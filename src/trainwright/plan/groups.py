"""Steps that stand for several: the items of their members."""

from itertools import product
from typing import TypeAlias

from trainwright.core.artifact import ArtifactKind
from trainwright.core.condition import mentioned, parse
from trainwright.core.errors import SpecError
from trainwright.core.scalar import Plain
from trainwright.plan.items import lacking
from trainwright.plan.plan import Group, GroupKind, PlannedInput, PlannedStep, Source
from trainwright.plan.scope import Scope
from trainwright.spec.document import MOST_MEMBERS, StepSpec
from trainwright.spec.findings import suggest
from trainwright.spec.references import Reference

_OF_ROUND = frozenset({"passed", "succeeded", "failed", "skipped", "total"})
"""Facts of a round that stands for several steps."""

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
    if found.source is Source.ALL:
        raise SpecError(
            "TW1073",
            f"{over} is a collection, one value for each member of {head}",
            where=scope.document.where(f"steps.{name}.for_each"),
            remedy="make one list of them in a step, and go over that",
        )
    return found


def group_of(scope: Scope, name: str, step: StepSpec, body: PlannedStep, over: PlannedInput | None) -> Group:
    """Return the group of a step with members or rounds.

    Raises:
        SpecError: there would be too many members, or a parameter that holds values is not known yet.
    """
    if step.loop is not None:
        _refuse_until(scope, name, step, step.loop.until)
        return Group(GroupKind.LOOP, (body,), max_rounds=step.loop.max_rounds, until=step.loop.until)
    items = items_of(scope, name, step)
    if items is not None and len(items) > MOST_MEMBERS:
        raise SpecError(
            "TW1043",
            f"step {name} would have {len(items)} members, at most {MOST_MEMBERS} are allowed",
            where=scope.document.where(f"steps.{name}"),
            remedy="let each member take a part of the list",
        )
    fault = lacking(body, scope.path(name), items or ())
    if fault:
        raise SpecError(
            "TW1021",
            f"{fault}, which step {name} names",
            where=scope.document.where(f"steps.{name}.for_each"),
            remedy="give each item the keys that ${{ each. }} names, or take the reference out",
        )
    return Group(GroupKind.EACH, (body,), items=items, over=over, parallel=step.parallel, tolerate=step.tolerate)


def items_of(scope: Scope, name: str, step: StepSpec) -> tuple[Plain, ...] | None:
    """Return the items of a step whose list is known; the last value of a matrix changes fastest. None = not yet.

    Raises:
        SpecError: a parameter that holds values is known for each member only.
    """
    fan_out = step.fan_out
    if fan_out is None or (fan_out.over and not fan_out.over.startswith("params.")):
        return None
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


def _refuse_until(scope: Scope, name: str, step: StepSpec, until: str) -> None:
    """Check that ``until:`` of a step that uses a file names steps of that file.

    Raises:
        SpecError: it names another one.
    """
    if not step.uses:
        return
    known = {"params", "loop", *scope.document.subs[step.uses].spec.steps}
    for dotted in mentioned(parse(until)):
        head, _, field = dotted.partition(".")
        if head not in known and (field or head not in _OF_ROUND):
            raise SpecError(
                "TW1042",
                f"{dotted} in the condition {until!r} names no step of {step.uses}",
                where=scope.document.where(f"steps.{name}.loop.until"),
                remedy=suggest(head, known, "it may name"),
            )
