"""``kind: Queue``: where a team's work waits, what is guaranteed to it, and what it may borrow."""

from typing import Annotated, Literal

from pydantic import Field, PlainValidator, WithJsonSchema

from trainwright.core import quantity
from trainwright.core.queue import Budget, Queue, QueueName, Quota
from trainwright.spec.findings import WrongValueError, shape, show, suggest
from trainwright.spec.kinds.amounts import amount
from trainwright.spec.kinds.kind import Kind, SpecModel, name_of

_KEYS = ("guaranteed", "ceiling", "nominalQuota", "borrowingLimit")


def _quotas(value: object) -> dict[str, Quota]:
    if not isinstance(value, dict):
        remedy = "write resources, as in quota: {gpu: {guaranteed: 8, ceiling: 16}}"
        raise WrongValueError("TW1013", f"quota: is {shape(value)}, not a mapping", remedy=remedy)
    return {str(name): _quota(str(name), given) for name, given in value.items()}


def _quota(resource: str, given: object) -> Quota:
    """Take one amount for a guarantee, or a mapping in our words or in Kueue's."""
    if not isinstance(given, dict):
        return Quota(amount(resource, given, f".{resource}"))
    for key in given:
        if key not in _KEYS:
            remedy = suggest(str(key), _KEYS, "keys")
            raise WrongValueError(
                "TW1010", f"{resource}: has the unknown key {show(key)}", remedy=remedy, at=f".{resource}.{key}"
            )
    read = {key: amount(resource, value, f".{resource}.{key}") for key, value in given.items()}
    guaranteed = read.get("guaranteed", read.get("nominalQuota", 0))
    ceiling = read.get("ceiling")
    if ceiling is None and "borrowingLimit" in read:
        ceiling = guaranteed + read["borrowingLimit"]
    if ceiling is not None and ceiling < guaranteed:
        remedy = "raise the ceiling, or lower what is guaranteed"
        raise WrongValueError(
            "TW1017", f"{resource}: the ceiling is below the guarantee", remedy=remedy, at=f".{resource}"
        )
    return Quota(guaranteed, ceiling)


def _period(value: object) -> int:
    try:
        return round(quantity.duration(value).total_seconds())  # type: ignore[arg-type]  # it refuses everything else
    except (ValueError, TypeError) as error:
        raise WrongValueError("TW1016", f"{show(value)} is not a duration", remedy="write it as 7d or 30d") from error


class BudgetModel(SpecModel):
    """What a queue may spend in a period."""

    most: Annotated[float | int, Field(ge=0)]
    period: Annotated[int, PlainValidator(_period), WithJsonSchema({"type": "string"})] = 30 * 86_400
    above: Literal["block", "degrade"] = "block"


class QueueModel(SpecModel):
    """Where a team's work waits, what is guaranteed to it, and what it may borrow."""

    cohort: Annotated[str, name_of("cohort")] | None = None
    weight: Annotated[float | int, Field(gt=0, le=1_000_000)] = 1.0
    quota: Annotated[
        dict[str, Quota], PlainValidator(_quotas), WithJsonSchema({"type": "object", "additionalProperties": True})
    ] = Field(default_factory=dict)
    budget: BudgetModel | None = None
    order: Literal["fair", "strict"] = "fair"
    team: Annotated[str, Field(max_length=100)] = ""


def _value(name: str, model: QueueModel) -> Queue:
    budget = None
    if model.budget is not None:
        budget = Budget(float(model.budget.most), model.budget.period, model.budget.above == "degrade")
    return Queue(
        name=QueueName(name),
        cohort=model.cohort or "",
        weight=float(model.weight),
        quotas=dict(sorted(model.quota.items())),
        budget=budget,
        strict=model.order == "strict",
        team=model.team,
    )


KIND = Kind("Queue", "where a team's work waits, what is guaranteed to it, and what it may borrow", QueueModel, _value)
