"""``tw.expect``: a table against what is expected of it; pandera judges, the results are metrics of the step."""

from __future__ import annotations

import sys

from trainwright.runtime import calls, expectations
from trainwright.runtime.expectations import NULLS, PRESENT
from trainwright.runtime.formats import RefusedValue
from trainwright.runtime.frames import frame

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_AS_A_WHOLE = frozenset({PRESENT, "only", "rows"})
"""Checks that no single value fails."""

MOST_EXAMPLES = 5
"""Offending values that are shown of one failure."""


class Failure:
    """One expectation that does not hold.

    Attributes:
        column: empty when it is about the table.
        check: its word: ``range``, ``in``, ``present`` …, or the name of a check of pandera.
        expected: what was expected, in words.
        count: of values that fail; 1 when it is about a column or a table as a whole.
        examples: the first of them, each with the label of its row; without row when there is none.
    """

    __slots__ = ("check", "column", "count", "examples", "expected")

    def __init__(self, column: str, check: str, expected: str, count: int, examples: list[tuple[Any, Any]]) -> None:
        self.column = column
        self.check = check
        self.expected = expected
        self.count = count
        self.examples = examples

    def __str__(self) -> str:
        first = ", ".join(f"{value!r} (row {row})" if row is not None else f"{value}" for value, row in self.examples)
        more = ", …" if self.count > len(self.examples) else ""
        count = f"{self.count} value{'s' if self.count != 1 else ''}: " if self.check not in _AS_A_WHOLE else ""
        return f"{self.column or 'table'}: {self.expected}: {count}{first}{more}"


class Report:
    """What became of all expectations of one table.

    Attributes:
        name: of the table, with which the metrics begin.
        rows: how many it has.
        failures: what does not hold, in the order of the columns.
        metrics: what was logged.
    """

    __slots__ = ("failures", "metrics", "name", "rows")

    def __init__(self, name: str, rows: int, failures: list[Failure], metrics: dict[str, float]) -> None:
        self.name = name
        self.rows = rows
        self.failures = failures
        self.metrics = metrics

    @property
    def passed(self) -> bool:
        """Tell whether everything holds."""
        return not self.failures

    def __str__(self) -> str:
        lines = [f"{self.name}: {self.rows} rows, {len(self.failures)} expectation(s) failed"]
        return "\n".join([*lines, *(f"  {failure}" for failure in self.failures)])


def expect(table: Any, wanted: Any, *, name: str = "table") -> Report:
    """Hold a table against expectations; log what was found as metrics, print what fails, and return it.

    The metrics are ``NAME.rows``, ``NAME.failed_checks``, and of each column spoken of ``NAME.COLUMN.null_rate`` and
    ``NAME.COLUMN.CHECK_failures``; a gate such as ``table.failed_checks == 0`` decides what follows from them.

    Args:
        table: of pandas, polars or Arrow, a ``tw.Dataset``, or a path.
        wanted: a mapping, see ``runtime.expectations``, or a schema or model of pandera.
        name: what the metrics begin with.

    Raises:
        RefusedValue: pandera is not installed, an expectation is none, or the table is none.
    """
    data = frame(table)
    written = wanted if isinstance(wanted, dict) else None
    schema = expectations.schema_of(written) if written is not None else _schema(wanted)
    asked = expectations.words_of(written) if written is not None else _asked(schema)
    failures = _failures(schema, data, written)
    metrics = _metrics(name, data, asked, failures)
    calls.log(None, **metrics)
    report = Report(name, len(data), failures, metrics)
    sys.stderr.write(f"{report}\n")
    sys.stderr.flush()
    return report


def _schema(wanted: Any) -> Any:
    if hasattr(wanted, "to_schema"):
        return wanted.to_schema()
    if hasattr(wanted, "validate") and hasattr(wanted, "columns"):
        return wanted
    kind = type(wanted).__name__
    raise RefusedValue(f"a {kind} is no expectation", "give a mapping, or a DataFrameSchema or DataFrameModel")


def _asked(schema: Any) -> list[tuple[str, str]]:
    """Return column and check of everything that a schema of pandera asks."""
    found = [("", _word(check.error or check.name)) for check in schema.checks]
    for name, column in schema.columns.items():
        found += [(str(name), _word(check.error or check.name)) for check in column.checks]
    return found


def _word(text: Any) -> str:
    return str(text).partition("(")[0].strip() or "check"


def _failures(schema: Any, data: Any, written: Mapping[str, Any] | None) -> list[Failure]:
    from pandera.errors import SchemaErrors

    try:
        schema.validate(data, lazy=True)
    except SchemaErrors as error:
        cases = error.failure_cases
    else:
        return []
    grouped: dict[tuple[str, str], list[tuple[Any, Any]]] = {}
    for about, column, check, value, row in zip(
        cases["schema_context"], cases["column"], cases["check"], cases["failure_case"], cases["index"]
    ):
        absent = str(check) in {"column_in_dataframe", "column_in_schema"}
        where = str(value) if absent else str(column) if about == "Column" else ""
        word = {"column_in_dataframe": PRESENT, "column_in_schema": "only"}.get(str(check), str(check))
        label = row if row is not None and row == row else None  # noqa: PLR0124 - NaN where there is no row
        grouped.setdefault((where, word), []).append((value, label))
    return [_failure(column, word, found, data, written) for (column, word), found in grouped.items()]


def _failure(
    column: str, word: str, found: list[tuple[Any, Any]], data: Any, written: Mapping[str, Any] | None
) -> Failure:
    expected = expectations.shown(written, column, word) if written is not None else word
    if written is not None and word == NULLS:
        missing = int(data[column].isna().sum())
        return Failure(column, word, expected, missing, [(f"{missing / len(data):.2%} are null", None)])
    if written is not None and word == "rows":
        return Failure(column, word, expected, 1, [(f"{len(data)} rows", None)])
    if word in {PRESENT, "only"}:
        there = ", ".join(map(str, data.columns))
        said = f"not there; there are {there}" if word == PRESENT else "not expected"
        return Failure(column, word, expected, 1, [(said, None)])
    if column == "" and len(found) > 1:  # of a table: a case for each cell of a row
        found = list({row: (row, None) for _, row in found}.values())
    return Failure(column, _word(word), expected, len(found), found[:MOST_EXAMPLES])


def _metrics(name: str, data: Any, asked: list[tuple[str, str]], failures: list[Failure]) -> dict[str, float]:
    found: dict[str, float] = {f"{name}.rows": len(data), f"{name}.failed_checks": len(failures)}
    absent = {failure.column for failure in failures if failure.check == PRESENT}
    for column, word in asked:
        if column not in absent:  # nothing can be said of what is not there
            found[_metric(name, column, word)] = 0
        if column and column in data.columns and len(data):
            found[f"{name}.{column}.null_rate"] = float(data[column].isna().mean())
    for failure in failures:
        found[_metric(name, failure.column, failure.check)] = failure.count
    return found


def _metric(name: str, column: str, word: str) -> str:
    return f"{name}.{column}.{word}_failures" if column else f"{name}.{word}_failures"
