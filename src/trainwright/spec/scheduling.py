"""``scheduling:``, ``runs_on:`` and ``workers:``: their shape and their value."""

import re
from datetime import datetime
from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PlainValidator, WithJsonSchema

from trainwright.core import quantity
from trainwright.core.scheduling import Choice, Scheduling
from trainwright.core.window import Window, window_of
from trainwright.core.workload import Preemption
from trainwright.spec.findings import WrongValueError, show, suggest
from trainwright.spec.names import check_name

MOST_WORKERS = 10_000
_AMOUNT = {"type": ["string", "number"]}
_PREEMPTIONS = {True: Preemption.BY_PRIORITY, False: Preemption.NEVER} | {str(p): p for p in Preemption}
_WORKERS = re.compile(r"(\d{1,5})\s*\.\.\s*(\d{1,5})")


def _preemption(value: object) -> Preemption:
    if isinstance(value, bool | str) and value in _PREEMPTIONS:
        return _PREEMPTIONS[value]
    words = [str(preemption) for preemption in Preemption]
    remedy = suggest(str(value), words, "possible") if isinstance(value, str) else "write true, false or time-sliced"
    raise WrongValueError("TW1014", f"preemptible: {show(value)} is not possible", remedy=remedy)


def _window(value: object) -> Window:
    try:
        return window_of(value if isinstance(value, str) else repr(value))
    except ValueError as error:
        raise WrongValueError("TW1016", str(error)) from error


def _duration(value: object) -> float:
    try:
        seconds = quantity.duration(value).total_seconds()  # type: ignore[arg-type]  # it refuses everything else
    except (ValueError, TypeError) as error:
        remedy = "write it as 30s, 10m or 24h"
        raise WrongValueError("TW1016", f"{show(value)} is not a duration", remedy=remedy) from error
    return seconds


def _deadline(value: object) -> float | datetime:
    if isinstance(value, str) and re.match(r"\d{4}-\d\d-\d\d", value):
        try:
            at = datetime.fromisoformat(value)
        except ValueError as error:
            raise WrongValueError("TW1016", f"{show(value)} is not an instant: {error}") from error
        if at.tzinfo is None:
            remedy = "add Z or an offset, as in 2026-12-24T18:00+01:00"
            raise WrongValueError("TW1016", f"the deadline {show(value)} has no time zone", remedy=remedy)
        return at
    return _duration(value)


def _priority(value: object) -> int | str:
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) <= 1_000_000_000:  # noqa: PLR2004
        return value
    if isinstance(value, str):
        return check_name(value, "priority class")
    remedy = "write the name of a class, such as batch or high, or a whole number"
    raise WrongValueError("TW1013", f"priority: {show(value)} is neither", remedy=remedy)


def _workers(value: object) -> tuple[int, int]:
    least = most = value
    if isinstance(value, str) and (match := _WORKERS.fullmatch(value.strip())):
        least, most = int(match[1]), int(match[2])
    if not isinstance(least, int) or not isinstance(most, int) or isinstance(value, bool):
        remedy = "write workers: 4, or workers: 2..8 for as many as there is room for"
        raise WrongValueError("TW1013", f"workers: {show(value)} is no number of workers", remedy=remedy)
    if not 1 <= least <= most <= MOST_WORKERS:
        remedy = f"write at least 1 and at most {MOST_WORKERS}, the smaller number first"
        raise WrongValueError("TW1016", f"workers: {show(value)} is not possible", remedy=remedy)
    return least, most


def _runs_on(value: object) -> tuple[str, ...] | Choice:
    if isinstance(value, str) and value in set(Choice):
        return Choice(value)
    names = value if isinstance(value, list) else [value]
    if not names or not all(isinstance(name, str) for name in names):
        remedy = "write pools in order, as in [slurm-a, spot], or cheapest or soonest"
        raise WrongValueError("TW1013", f"runs_on: {show(value)} names no pools", remedy=remedy)
    return tuple(check_name(str(name), "pool") for name in names)


Workers = Annotated[tuple[int, int] | None, PlainValidator(_workers), WithJsonSchema({"type": ["integer", "string"]})]
RunsOn = Annotated[
    tuple[str, ...] | Choice | None,
    PlainValidator(_runs_on),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
]
_Duration = Annotated[float, PlainValidator(_duration), WithJsonSchema(_AMOUNT)]


class SchedulingModel(BaseModel):
    """Where and when the work may run, and who goes first."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    queue: Annotated[str, AfterValidator(lambda text: check_name(text, "queue"))] | None = None
    priority: Annotated[int | str, PlainValidator(_priority), WithJsonSchema(_AMOUNT)] | None = None
    preemptible: (
        Annotated[
            Preemption, PlainValidator(_preemption), WithJsonSchema({"enum": [True, False, *map(str, Preemption)]})
        ]
        | None
    ) = None
    window: Annotated[Window, PlainValidator(_window), WithJsonSchema({"type": "string"})] | None = None
    deadline: Annotated[float | datetime, PlainValidator(_deadline), WithJsonSchema(_AMOUNT)] | None = None
    expected_duration: _Duration | None = None
    restart_cost: _Duration | None = None
    grace: _Duration | None = None
    max_price: Annotated[float | int, Field(ge=0)] | None = None
    purpose: Annotated[str, Field(max_length=200)] | None = None


SchedulingEmpty = Annotated[SchedulingModel, BeforeValidator(lambda value: {} if value is None else value)]


def scheduling_of(model: SchedulingModel, runs_on: tuple[str, ...] | Choice | None) -> Scheduling:
    """Return what was asked, as a value."""
    at = model.deadline if isinstance(model.deadline, datetime) else None
    return Scheduling(
        queue=model.queue,
        priority=model.priority,
        preemption=model.preemptible,
        window=model.window,
        deadline_s=None if at is not None else model.deadline,  # type: ignore[arg-type]  # a number by now
        deadline_at=at,
        expected_s=model.expected_duration,
        restart_cost_s=model.restart_cost,
        grace_s=model.grace,
        most_price=model.max_price,
        pools=runs_on if isinstance(runs_on, tuple) else None,
        choice=runs_on if isinstance(runs_on, Choice) else None,
        purpose=model.purpose,
    )
