"""``retry:`` of a step: its shape, what its keys mean together, and its value."""

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, WithJsonSchema

from trainwright.core import quantity
from trainwright.core.job import LONGEST_BACKOFF_S, RETRYABLE, MemoryGrowth, Retry
from trainwright.core.states import ExitClass
from trainwright.spec.findings import WrongValueError, shape, show, suggest

MOST_RETRIES = 1000

LEAST_GROWTH_MILLI, MOST_GROWTH_MILLI = 1500, 16_000
"""Of memory after an attempt that ran out of it: less is spent in vain, more is no longer meant."""

_CAUSES = [member.value for member in RETRYABLE]
_AMOUNT = {"type": ["string", "number"]}
_COUNT = {"type": "integer", "minimum": 0}
_BUDGETS = {
    "type": "object",
    "propertyNames": {"enum": _CAUSES},
    "additionalProperties": {"type": "integer", "minimum": 1},
}
_CLASSES = {"anyOf": [{"type": "array", "items": {"enum": _CAUSES}}, _BUDGETS]}
_GROWTH = re.compile(r"x(\d{1,3}(?:\.\d{1,3})?)(?:\.\.(\S+))?")


def _backoff(value: object) -> tuple[float, float]:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise WrongValueError("TW1016", f"{show(value)} is not a duration", remedy="write it as 30s..10m")
    try:
        low, high = quantity.duration_range(value)
    except ValueError as error:
        raise WrongValueError("TW1016", str(error), remedy="write it as 30s..10m") from error
    if high.total_seconds() > LONGEST_BACKOFF_S:
        raise WrongValueError("TW1016", f"backoff {show(value)} is longer than a day", remedy="write at most 24h")
    return low.total_seconds(), high.total_seconds()


def _growth(value: object) -> MemoryGrowth:
    match = _GROWTH.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise WrongValueError("TW1016", f"{show(value)} is not a growth", remedy="write it as x2, or x2..64Gi")
    times_milli = int(Decimal(match[1]) * 1000)
    if not LEAST_GROWTH_MILLI <= times_milli <= MOST_GROWTH_MILLI:
        raise WrongValueError("TW1016", f"{show(value)} is not between x1.5 and x16", remedy="write x2")
    return MemoryGrowth(times_milli, _most(value, match[2]) if match[2] else 0)


def _on(value: object) -> dict[ExitClass, int | None]:
    """Take a list of classes, or a mapping from each to its budget."""
    if value in ([], {}):
        raise WrongValueError("TW1013", "on: names no kind of end", remedy="leave on: out, or write retry: 0")
    if isinstance(value, dict):
        return {_cause(word): _budget(word, count) for word, count in value.items()}
    if not isinstance(value, list):
        remedy = "write on: [crash, oom], or on: {crash: 3, oom: 1}"
        raise WrongValueError("TW1013", f"on: is {shape(value)}, not a list or a mapping", remedy=remedy)
    return {_cause(word, f".{index}"): None for index, word in enumerate(value)}


def _budget(word: object, count: object) -> int:
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= MOST_RETRIES:
        remedy = "write 1, 2, 3 …, or leave the word out"
        raise WrongValueError("TW1013", f"{show(count)} is not a number of retries", remedy=remedy, at=f".{word}")
    return count


def _cause(value: object, at: str = "") -> ExitClass:
    words = {member.value: member for member in ExitClass}
    if not isinstance(value, str) or value not in words:
        remedy = suggest(str(value), _CAUSES, "possible")
        raise WrongValueError("TW1014", f"{show(value)} is not possible here", remedy=remedy, at=at)
    if words[value] not in RETRYABLE:
        remedy = f"possible: {', '.join(_CAUSES)}"
        raise WrongValueError("TW1014", f"{value} cannot be retried by a rule", remedy=remedy, at=at)
    return words[value]


def _retries(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MOST_RETRIES:
        raise WrongValueError("TW1013", f"{show(value)} is not a number of retries", remedy="write 0, 1, 2 …")
    return value


def _most(value: object, amount: str) -> int:
    try:
        return quantity.memory_bytes(amount)
    except ValueError as error:
        raise WrongValueError("TW1016", f"{show(value)}: {error}", remedy="write it as x2..64Gi") from error


class RetryModel(BaseModel):
    """How often and after what a step is tried again."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    max: Annotated[int | None, PlainValidator(_retries), WithJsonSchema(_COUNT)] = None
    on: Annotated[dict[ExitClass, int | None] | None, PlainValidator(_on), WithJsonSchema(_CLASSES)] = None
    backoff: Annotated[tuple[float, float], PlainValidator(_backoff), WithJsonSchema(_AMOUNT)] = Field(
        default_factory=lambda: (Retry().backoff_s, Retry().backoff_max_s)
    )
    memory: Annotated[MemoryGrowth | None, PlainValidator(_growth), WithJsonSchema({"type": "string"})] = None


def retry_of(model: RetryModel) -> Retry:
    """Return the policy; ``max`` is the sum of the budgets when it is not written."""
    low, high = model.backoff
    named = model.on or {}
    budgets = {cause: count for cause, count in sorted(named.items()) if count is not None}
    on = Retry().on if model.on is None else tuple(sorted(named, key=RETRYABLE.index))
    return Retry(sum(budgets.values()) if model.max is None else model.max, on, low, high, budgets, model.memory)


def clashes_of_retry(name: str, retry: RetryModel, memory: int) -> Iterator[tuple[str, WrongValueError]]:
    """Yield the keys of step ``name`` that do not go together, with what is wrong.

    Args:
        name: of the step.
        retry: of the step.
        memory: bytes that it states; 0 = none.
    """
    named = retry.on or {}
    if retry.max is None and not any(named.values()):
        remedy = "say how often to try again, as in max: 2"
        yield "retry", WrongValueError("TW1012", f"steps: {name}: retry: max is missing", remedy=remedy)
    if retry.memory is None:
        return
    if ExitClass.OOM not in named:
        message = f"step {name} grows its memory and is not retried after it ran out of it"
        why = "on: without oom leaves out the only end that more memory mends"
        yield "retry.memory", WrongValueError("TW1017", message, why=why, remedy="write on: [oom], or add oom to on:")
    if not memory:
        message = f"step {name} grows a memory that it does not state"
        remedy = "write resources: {memory: 4Gi}, or leave memory: out of retry:"
        yield "retry.memory", WrongValueError("TW1017", message, remedy=remedy)
    elif 0 < retry.memory.most_bytes <= memory:
        message = f"the memory of step {name} is at its most before it grows"
        remedy = f"write a larger most, as in memory: x2..{quantity.show_bytes(4 * memory)}"
        yield "retry.memory", WrongValueError("TW1017", message, remedy=remedy)
