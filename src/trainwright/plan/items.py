"""Items of members: what references can name of them, and who names it."""

from collections.abc import Iterator, Mapping, Sequence

from trainwright.core.condition import parse
from trainwright.core.ids import StepName
from trainwright.core.job import Command, Template
from trainwright.core.scalar import Plain
from trainwright.plan.plan import PlannedStep, within

OWN_FIELDS = frozenset({"value", "index"})
"""Fields that every item has."""

SCOPES = ("each", "matrix", "loop")
"""Names under which a member's own item is known."""


def fields_of(item: Plain, name: StepName) -> Mapping[str, Plain]:
    """Return what references can name of an item: its keys, ``value`` for all of it, ``index`` for its place."""
    keys = item if isinstance(item, dict) else {}
    last = name.rpartition(".")[2]
    return {**keys, "value": item, **({"index": int(last)} if last.isdigit() else {})}


def place_of(ref: str, name: StepName) -> tuple[StepName, str]:
    """Return member and field behind ``each:GROUP:FIELD`` in the step ``name``."""
    _, path, field = ref.split(":", 2)
    group = within(StepName(path), name)
    length = group.count(".") + 2
    return StepName(".".join(name.split(".")[:length])), field


def lacking(body: PlannedStep, group: StepName, items: Sequence[Plain]) -> str:
    """Return which item lacks a field that the members of a group name; empty when none does.

    Args:
        body: template of the members.
        group: path of the group in the plan.
        items: of the members.
    """
    wanted = sorted({field for owner, field in _named(body) if owner == group and field not in OWN_FIELDS})
    for number, item in enumerate(items):
        missing = [f for f in wanted if not isinstance(item, dict) or f not in item]
        if missing:
            return f"item {number} has no {', '.join(missing)}"
    return ""


def _named(step: PlannedStep) -> Iterator[tuple[str, str]]:
    """Yield group and field of everything that a step, or a step inside it, says of an item."""
    command = step.command or Command()
    templates: list[Template] = [*command.refs.values(), *command.argv, *step.env.values(), tuple(step.bound.values())]
    refs = [part.ref for template in templates for part in template]
    refs += [argument.ref for argument in command.call.arguments.values()] if command.call else []
    for ref in refs:
        if ref.startswith("each:"):
            _, group, field = ref.split(":", 2)
            yield group, field
    for dotted in (name for text in step.when for name in parse(text).operands):
        head, _, field = dotted.partition(".")
        if head in SCOPES and field:
            yield step.name.removesuffix(".*"), field.partition(".")[0]
    for inner in step.group.body if step.group else ():
        yield from _named(inner)
