"""What a table holds: columns, types and figures, in a form of bounded size that can be added up. Pure.

The rules: nulls, NaN and infinities are counted apart. Lowest, highest, mean and standard deviation (of a sample, as
pandas has it) are those of the finite numbers; a bool counts as 0 or 1; texts and instants have a lowest and a highest
only. Distinct values are counted exactly up to ``SKETCH``, and estimated beyond, ± 6 % (one standard error), from the
``SKETCH`` smallest of their hashes.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from heapq import merge as merged

SKETCH = 256
"""Hashes kept of a column."""

_HASHES = 2**64


@dataclass(frozen=True, slots=True)
class Column:
    """One column.

    Attributes:
        type: in Arrow's words; ``int64|string`` when files do not agree.
        rows: all of them.
        nans, infinities: numbers that are none.
        low, high: None without a value that can be ordered.
        count: finite numbers.
        mean: of these.
        spread: sum of squared distances from the mean.
        sketch: smallest hashes of the values, ascending.
    """

    name: str
    type: str
    rows: int
    nulls: int
    nans: int = 0
    infinities: int = 0
    low: int | float | str | None = None
    high: int | float | str | None = None
    count: int = 0
    mean: float = 0.0
    spread: float = 0.0
    sketch: tuple[int, ...] = ()

    @property
    def std(self) -> float | None:
        """Return the standard deviation of the sample; None for fewer than two numbers."""
        return math.sqrt(max(0.0, self.spread) / (self.count - 1)) if self.count > 1 else None

    @property
    def is_exact(self) -> bool:
        """Tell whether the distinct values were counted."""
        return len(self.sketch) < SKETCH

    @property
    def distinct(self) -> int:
        """Return how many distinct values there are, or an estimate."""
        if self.is_exact:
            return len(self.sketch)
        return round((SKETCH - 1) * _HASHES / (self.sketch[-1] + 1))


@dataclass(frozen=True, slots=True)
class Table:
    """One table, which several files may hold parts of.

    Attributes:
        columns: in the order of the first file.
    """

    rows: int
    columns: tuple[Column, ...]


def together(tables: Iterable[Table]) -> Table:
    """Return the table that parts make; a column that a part lacks counts as null there."""
    return reduce(_plus, tables, Table(0, ()))


def smallest(hashes: Iterable[int]) -> tuple[int, ...]:
    """Return the sketch of these hashes."""
    return tuple(sorted(set(hashes))[:SKETCH])


def types_of(kinds: Iterable[str]) -> str:
    """Return the type of values of several: one that holds all, else all of them."""
    found = sorted({kind for text in kinds for kind in text.split("|")} - {"null"})
    if set(found) == {"int64", "double"}:
        return "double"
    return "|".join(found) or "null"


def _plus(one: Table, other: Table) -> Table:
    if not one.columns and not one.rows:
        return other
    first = {column.name: column for column in one.columns}
    second = {column.name: column for column in other.columns}
    names = [*first, *(name for name in second if name not in first)]
    columns = (
        _sum(first.get(name) or _absent(name, one.rows), second.get(name) or _absent(name, other.rows))
        for name in names
    )
    return Table(one.rows + other.rows, tuple(columns))


def _absent(name: str, rows: int) -> Column:
    return Column(name, "null", rows, rows)


def _sum(a: Column, b: Column) -> Column:
    count = a.count + b.count
    apart = b.mean - a.mean
    share = b.count / count if count else 0.0
    return replace(
        a,
        type=types_of((a.type, b.type)),
        rows=a.rows + b.rows,
        nulls=a.nulls + b.nulls,
        nans=a.nans + b.nans,
        infinities=a.infinities + b.infinities,
        low=_end(a.low, b.low, last=False),
        high=_end(a.high, b.high, last=True),
        count=count,
        mean=a.mean + apart * share,
        spread=a.spread + b.spread + apart * apart * a.count * share,
        sketch=_first(merged(a.sketch, b.sketch)),
    )


def _first(ascending: Iterable[int]) -> tuple[int, ...]:
    found: list[int] = []
    for value in ascending:
        if not found or value != found[-1]:
            found.append(value)
            if len(found) == SKETCH:
                break
    return tuple(found)


def _end(one: int | float | str | None, other: int | float | str | None, *, last: bool) -> int | float | str | None:
    """Return the lower or the higher of two values; a number and a text have no order, and neither is told."""
    if one is None or other is None:
        return other if one is None else one
    if isinstance(one, str) or isinstance(other, str):
        both: Sequence[str] = [value for value in (one, other) if isinstance(value, str)]
        return (max(both) if last else min(both)) if len(both) == 2 else None  # noqa: PLR2004 - one and other
    return max(one, other) if last else min(one, other)
