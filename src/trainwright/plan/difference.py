"""What differs between two plans, step by step and field by field."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from trainwright.core.codec import canonical_json, to_json
from trainwright.core.ids import StepName
from trainwright.plan.plan import Plan, PlannedStep

LONGEST_SHOWN = 120
"""Characters of a value."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that is not the same.

    Attributes:
        path: ``params.C``, ``data.raw``, ``steps.train.resources.cpu_milli``; a whole step when it is new or gone.
        before, after: as JSON, cut; empty on the side that lacks it.
    """

    path: str
    before: str
    after: str


def differences(before: Plan, after: Plan) -> tuple[Difference, ...]:
    """Return what differs, by path; empty when the plans have one digest."""
    found = [*_between("params", before.params, after.params)]
    pinned = [{d.name: d.content.digest for d in plan.data} for plan in (before, after)]
    found += _between("data", *pinned)
    for key in ("pipeline", "standard", "parallel"):
        found += _between(key, getattr(before, key), getattr(after, key))
    for key in ("tolerance", "gangs", "scheduling"):
        found += _between(key, to_json(getattr(before, key)), to_json(getattr(after, key)))
    found += _steps(before.by_path, after.by_path)
    return tuple(sorted(found, key=lambda d: d.path))


def _steps(before: Mapping[StepName, PlannedStep], after: Mapping[StepName, PlannedStep]) -> Iterator[Difference]:
    for name in sorted({*before, *after}):
        path = f"steps.{name}"
        if name not in before or name not in after:
            yield Difference(path, "" if name not in before else name, "" if name not in after else name)
        else:
            yield from _between(path, _plain(before[name]), _plain(after[name]))


def _plain(step: PlannedStep) -> object:
    """Return a step as JSON, without the steps inside it, which have paths of their own."""
    plain = to_json(step)
    if plain["group"]:
        plain["group"].pop("body")
    return plain


def _between(path: str, before: object, after: object) -> Iterator[Difference]:
    if before == after:
        return
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in sorted({*before, *after}):
            yield from _between(f"{path}.{key}", before.get(key), after.get(key))
    else:
        yield Difference(path, _shown(before), _shown(after))


def _shown(value: object) -> str:
    if value is None:
        return ""
    text = canonical_json(value)
    return text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 1] + "…"
