"""A trace file as a load: CSV or JSON lines, also compressed, in our columns or in those of a published trace.

Columns of our own: ``submit`` (seconds, or an instant such as ``2026-03-01T12:00:00Z``) and ``duration`` (seconds, or
``1h30m``) are needed; see ``COLUMNS`` for the others.
"""

import csv
import gzip
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TextIO

from trainwright.core.errors import NotFoundError
from trainwright.core.node import Node
from trainwright.sim.columns import COLUMNS, Columns, NoValueError
from trainwright.sim.dialects import DIALECTS, Dialect
from trainwright.sim.job import Job
from trainwright.sim.mistakes import refuse_line
from trainwright.spec.findings import nearest

_SUFFIXES = (".csv", ".csv.gz", ".jsonl", ".jsonl.gz", ".ndjson", ".ndjson.gz")


@dataclass(frozen=True, slots=True)
class Load:
    """Work to simulate.

    Attributes:
        begin: the instant of second 0; None = the load names no day.
        unused: columns that mean nothing here.
    """

    jobs: tuple[Job, ...]
    begin: datetime | None = None
    dialect: str = ""
    unused: tuple[str, ...] = ()


def read_trace(path: Path, name: str, nodes: Sequence[Node]) -> Load:
    """Return the load in a file.

    Args:
        path: of the file.
        name: as the person typed it.
        nodes: that the load is for: a job larger than the largest of them becomes several equal replicas.

    Raises:
        NotFoundError: there is no such file.
        SpecError: it is no trace, or a line of it is wrong; says which.
    """
    if not name.endswith(_SUFFIXES):
        refuse_line("the name of a trace tells what it is", name, 0, remedy=f"one of {', '.join(_SUFFIXES)}")
    try:
        with _opened(path) as text:
            return _read(text, name, nodes)
    except FileNotFoundError:
        raise NotFoundError("TW4004", f"there is no file {name}") from None
    except UnicodeDecodeError:
        refuse_line("is not UTF-8", name, 0, remedy="save it as UTF-8")
    except (OSError, EOFError) as error:
        refuse_line(f"cannot be read: {error}", name, 0)


def _read(text: TextIO, name: str, nodes: Sequence[Node]) -> Load:
    columns = Columns(nodes)
    dialect: Dialect | None = None
    unused: dict[str, None] = {}
    found: list[tuple[float | datetime, Job]] = []
    known: frozenset[str] = frozenset()
    for line, row in _rows(text, name):
        if not found:
            dialect = next((d for d in DIALECTS if d.columns <= row.keys()), None)
        if dialect is None and not known >= row.keys():
            unused.update(dict.fromkeys(_strangers(row, name, line)))
            known |= row.keys()
        try:
            job = columns.job(_translated(dialect, row), len(found) + 1)
        except NoValueError as error:
            refuse_line(str(error), name, line, remedy=error.remedy)
        if found and isinstance(job[0], datetime) is not isinstance(found[0][0], datetime):
            refuse_line("submit is an instant on some lines and a number of seconds on others", name, line)
        found.append(job)
    if not found:
        refuse_line("has no line of data", name, 0, remedy=f"columns: {', '.join(COLUMNS)}")
    return _from_zero(found, dialect, tuple(unused))


def _translated(dialect: Dialect | None, row: Mapping[str, str]) -> Mapping[str, str]:
    if dialect is None:
        return row
    try:
        return dialect.translate(row)
    except (ValueError, TypeError) as error:
        raise NoValueError(f"no line of a {dialect.name} trace: {error}") from error


def _from_zero(found: list[tuple[float | datetime, Job]], dialect: Dialect | None, unused: tuple[str, ...]) -> Load:
    """Let the load begin with its first submission."""
    begin = min((at for at, _ in found if isinstance(at, datetime)), default=None)
    zero = min((at for at, _ in found if not isinstance(at, datetime)), default=0.0)
    jobs = []
    for at, job in found:
        since = at - zero if not isinstance(at, datetime) else (at - (begin or at)).total_seconds()
        jobs.append(replace(job, submit_s=since))
    return Load(tuple(jobs), begin, dialect.name if dialect else "", unused)


def _strangers(row: Mapping[str, str], name: str, line: int) -> Iterator[str]:
    """Yield columns that mean nothing here; one that looks like a known one is a mistake, as is a needed one's lack."""
    line = 1 if _is_csv(name) else line
    strange = [column for column in row if column not in COLUMNS]
    for needed in ("submit", "duration"):
        if needed not in row:
            near = nearest(needed, strange)
            remedy = f"is {near} meant to be it? rename it" if near else f"columns: {', '.join(COLUMNS)}"
            refuse_line(f"the column {needed} is missing", name, line, remedy=remedy)
    for column in strange:
        near = nearest(column, COLUMNS.keys() - row.keys())
        if near:
            refuse_line(f"there is no column {column!r}", name, line, remedy=f"did you mean {near}?")
        yield column


def _rows(text: TextIO, name: str) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the number of each line and its values by column, spaces around them gone."""
    if _is_csv(name):
        yield from _csv_rows(text, name)
        return
    for line, written in enumerate(text, 1):
        if not written.strip():
            continue
        try:
            row = json.loads(written)
        except ValueError as error:
            refuse_line(f"is not JSON: {error}", name, line)
        if not isinstance(row, dict):
            refuse_line("is no JSON object", name, line, remedy='write {"submit": 0, "duration": 60, "gpus": 1}')
        yield line, {key: "" if value is None else _said(value) for key, value in row.items()}


def _csv_rows(text: TextIO, name: str) -> Iterator[tuple[int, dict[str, str]]]:
    reader = csv.reader(text)
    try:
        header = [column.strip().removeprefix("\ufeff") for column in next(reader, [])]
        twice = next((c for i, c in enumerate(header) if c in header[:i]), None)
        if twice is not None:
            refuse_line(f"the column {twice!r} stands there twice", name, 1)
        for values in reader:
            if not values:
                continue
            if len(values) != len(header):
                message = f"has {len(values)} values, and the first line has {len(header)} columns"
                refuse_line(message, name, reader.line_num)
            yield reader.line_num, {c: v.strip() for c, v in zip(header, values, strict=True)}
    except csv.Error as error:
        refuse_line(f"is not CSV: {error}", name, reader.line_num)


def _is_csv(name: str) -> bool:
    return name.removesuffix(".gz").endswith(".csv")


def _said(value: object) -> str:
    return value.strip() if isinstance(value, str) else json.dumps(value)


def _opened(path: Path) -> TextIO:
    if path.suffix == ".gz":
        return io.TextIOWrapper(gzip.open(path, "rb"), encoding="utf-8", newline="")
    return path.open(encoding="utf-8", newline="")
