"""Chooses and ranks runs in one statement: typed conditions in SQL, every value of theirs a parameter.

A metric is that of the last attempt at its step. What SQL says otherwise than Python (``//`` and ``%``) is judged row
by row in Python; everything else of such a condition still is SQL.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from trainwright.core.ids import ProjectName
from trainwright.core.query import Known, Operand, Term, truth
from trainwright.core.run import Run
from trainwright.store.database import Row, Rows, Value
from trainwright.store.rows import LARGEST, run_of

_OPERATORS = {"==": "=", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_SUMS = frozenset("+-*/")
_PYTHON = frozenset({"//", "%"})
_FIELDS = {
    "id": "r.id",
    "state": "r.state",
    "pipeline": "r.pipeline",
    "source": "r.source",
    "by": "r.submitted_by",
    "number": "r.number",
    "fingerprint": "('fp:' || substr(r.fingerprint, 8, 12))",
    "submitted_at": "r.submitted_at",
    "started_at": "r.started_at",
    "finished_at": "r.finished_at",
    "age": "((julianday(:now) - julianday(r.submitted_at)) * 86400.0)",
    "took": "((julianday(coalesce(r.finished_at, :now)) - julianday(r.submitted_at)) * 86400.0)",
}
"""What is a column of a run, or made of some."""

_NUMBERS = "('integer', 'real', 'true', 'false')"


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which runs, in which order, and what of each.

    Attributes:
        now: ages count from here; sortable text.
        where: None = all.
        since, until: of the submission, sortable texts; empty = no bound. ``until`` itself is outside.
        pipeline, actor: empty = whichever.
        sort: operands to rank by, each with whether the largest comes first; the newest first where they say nothing.
        shown: operands whose values are wanted.
        limit: None = all.
    """

    project: ProjectName
    now: str
    where: Term | None = None
    since: str = ""
    until: str = ""
    pipeline: str = ""
    actor: str = ""
    sort: tuple[tuple[Operand, bool], ...] = ()
    shown: tuple[Operand, ...] = ()
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class Chosen:
    """A run, and of the operands that were to be shown those that it has; NaN is a float."""

    run: Run
    values: tuple[Known | None, ...] = ()


def choose(rows: Rows, wanted: Wanted) -> list[Chosen]:
    """Return the runs that fit, ranked: what is not a number stands behind all numbers, and what is missing last."""
    statement = _Statement(wanted)
    judged = statement.judged
    found = rows.all(statement.text(), statement.values)
    fits = (row for row in found if all(truth(t, _Reader(row, statement.columns)) for t in judged))
    return [_chosen(row, wanted, statement.columns) for row in _first(fits, wanted.limit if judged else None)]


def has_metric(rows: Rows, project: ProjectName, name: str, step: str = "") -> bool:
    """Tell whether any run of the project has a metric of that name, at that step if one is given."""
    at_step = " AND m.step = :step" if step else ""
    sql = (
        "SELECT EXISTS (SELECT 1 FROM run r JOIN metric m ON m.run_id = r.id"  # noqa: S608 - one of two fixed texts
        f" WHERE r.project = :project AND m.name = :name{at_step})"
    )
    return rows.number(sql, {"project": project, "name": name, "step": step}) == 1


def metric_names(rows: Rows, project: ProjectName) -> set[tuple[str, str]]:
    """Return step and name of every metric of the project: for the sentence about a name that is none."""
    found = rows.all(
        "SELECT DISTINCT m.step, m.name FROM run r JOIN metric m ON m.run_id = r.id WHERE r.project = :project",
        {"project": project},
    )
    return {(row["step"], row["name"]) for row in found}


def param_types(rows: Rows, project: ProjectName, name: str) -> set[str]:
    """Return the types that a parameter has in runs of the project: JSON's words, empty when none has it."""
    found = rows.all(
        "SELECT DISTINCT json_type(params, :path) AS type FROM run WHERE project = :project",
        {"project": project, "path": _path(name)},
    )
    return {row["type"] for row in found} - {None}


def param_names(rows: Rows, project: ProjectName) -> set[str]:
    """Return the name of every parameter of the project's runs."""
    found = rows.all(
        "SELECT DISTINCT p.key FROM run r, json_each(r.params) p WHERE r.project = :project", {"project": project}
    )
    return {row["key"] for row in found}


def has_data(rows: Rows, project: ProjectName, name: str) -> bool:
    """Tell whether any run of the project has read pinned data of that name."""
    found = rows.one(
        "SELECT 1 FROM run r JOIN attempt_input i ON i.run_id = r.id WHERE r.project = :project AND i.name = :name",
        {"project": project, "name": f"data.{name}"},
    )
    return found is not None


@dataclass
class _Statement:
    """Grows while it is written: the parameters, and the operands that come back as columns."""

    wanted: Wanted
    values: dict[str, Value] = field(default_factory=dict)
    columns: dict[Operand, int] = field(default_factory=dict)
    judged: list[Term] = field(default_factory=list)

    def text(self) -> str:
        wanted = self.wanted
        self.values |= {"project": wanted.project, "now": wanted.now}
        tests = ["r.project = :project", *self._bounds()]
        for part in _conjuncts(wanted.where):
            if _is_for_python(part):
                self.judged.append(part)
            else:
                tests.append(self._sql(part))
        for operand in (
            *wanted.shown,
            *(o for o, _ in wanted.sort),
            *(o for term in self.judged for o in _operands(term)),
        ):
            self.columns.setdefault(operand, len(self.columns))
        columns = "".join(f", {self._value(o)} AS v{i}, {self._has(o)} AS h{i}" for o, i in self.columns.items())
        places = [(self.columns[operand], " DESC" if down else "") for operand, down in wanted.sort]
        order = "".join(f"h{i} DESC, v{i}{down} NULLS LAST, " for i, down in places)  # by the columns: computed once
        limit = ""
        if wanted.limit is not None and not self.judged:
            limit = f" LIMIT {self._bind(min(wanted.limit, LARGEST))}"
        where = " AND ".join(tests)
        return f"SELECT r.*{columns} FROM run r WHERE {where} ORDER BY {order}r.number DESC{limit}"  # noqa: S608

    def _bounds(self) -> Iterator[str]:
        wanted = self.wanted
        for column, sign, value in (
            ("r.submitted_at", ">=", wanted.since),
            ("r.submitted_at", "<", wanted.until),
            ("r.pipeline", "=", wanted.pipeline),
            ("r.submitted_by", "=", wanted.actor),
        ):
            if value:
                yield f"{column} {sign} {self._bind(value)}"

    def _bind(self, value: Value) -> str:
        name = f"p{len(self.values)}"
        self.values[name] = value
        return f":{name}"

    def _sql(self, term: Term) -> str:
        if term.op == "value":
            return self._bind(int(term.value) if isinstance(term.value, bool) else term.value)
        if term.operand is not None:
            return self._has(term.operand) if term.op == "has" else self._read(term.operand, term.kind)
        parts = [self._sql(part) for part in term.parts]
        if term.op in {"and", "or"}:
            return f"({f' {term.op.upper()} '.join(parts)})" if parts else str(int(term.op == "and"))
        if term.op in _OPERATORS:
            return f"({parts[0]} {_OPERATORS[term.op]} {parts[1]})"
        if term.op in _SUMS:
            return f"(CAST({parts[0]} AS REAL) {term.op} CAST({parts[1]} AS REAL))"
        return {
            "not": "(NOT {0})",
            "in": "(instr({1}, {0}) > 0)",
            "neg": "(- CAST({0} AS REAL))",
            "pos": "CAST({0} AS REAL)",
            "abs": "abs(CAST({0} AS REAL))",
        }.get(term.op, f"{term.op}({', '.join(parts)})").format(*parts)

    def _read(self, operand: Operand, kind: str) -> str:
        if operand.home != "param":
            return self._value(operand)
        path = self._bind(_path(operand.name))
        kinds = "('text')" if kind == "text" else _NUMBERS
        return f"(CASE WHEN json_type(r.params, {path}) IN {kinds} THEN json_extract(r.params, {path}) END)"

    def _value(self, operand: Operand) -> str:
        match operand.home:
            case "field":
                return _FIELDS[operand.name]
            case "param":
                return self._read(operand, "text" if operand.kind == "text" else "number")
            case "data":
                return f"({self._input('i.address', operand)} LIMIT 1)"
            case _:
                return f"(SELECT m.last {self._metric(operand)} ORDER BY s.rowid DESC LIMIT 1)"

    def _has(self, operand: Operand) -> str:
        match operand.home:
            case "field":
                return f"({_FIELDS[operand.name]} IS NOT NULL)"
            case "param":
                return f"(json_type(r.params, {self._bind(_path(operand.name))}) IS NOT NULL)"
            case "data":
                return f"EXISTS ({self._input('1', operand)})"
            case _:
                return f"EXISTS (SELECT 1 {self._metric(operand)})"

    def _input(self, what: str, operand: Operand) -> str:
        name = self._bind(f"data.{operand.name}")
        return f"SELECT {what} FROM attempt_input i WHERE i.run_id = r.id AND i.name = {name}"  # noqa: S608

    def _metric(self, operand: Operand) -> str:
        at_step = f" AND m.step = {self._bind(operand.step)}" if operand.step else ""
        return (
            f"FROM metric m JOIN step s ON s.run_id = m.run_id AND s.name = m.step WHERE m.run_id = r.id"
            f" AND m.name = {self._bind(operand.name)}{at_step}"
            " AND m.attempt_id = m.run_id || '/' || m.step || '/' || s.attempts"
        )


def _chosen(row: Row, wanted: Wanted, columns: dict[Operand, int]) -> Chosen:
    read = _Reader(row, columns)
    return Chosen(run_of(row), tuple(read(operand) for operand in wanted.shown))


class _Reader:
    """Looks operands up in the columns of one row."""

    def __init__(self, row: Row, columns: dict[Operand, int]) -> None:
        self._row, self._columns = row, columns

    def __call__(self, operand: Operand) -> Known | None:
        place = self._columns[operand]
        if operand.home == "param":
            found = json.loads(self._row["params"]).get(operand.name)
            return found if isinstance(found, bool | int | float | str) else None
        value: Known | None = self._row[f"v{place}"]
        if value is None and self._row[f"h{place}"] and operand.home == "metric":
            return float("nan")
        return value


def _first(rows: Iterator[Row], limit: int | None) -> Iterator[Row]:
    for count, row in enumerate(rows):
        if limit is not None and count >= limit:
            return
        yield row


def _conjuncts(term: Term | None) -> Iterator[Term]:
    if term is not None and term.op == "and":
        for part in term.parts:
            yield from _conjuncts(part)
    elif term is not None:
        yield term


def _is_for_python(term: Term) -> bool:
    return term.op in _PYTHON or any(map(_is_for_python, term.parts))


def _operands(term: Term) -> Iterator[Operand]:
    if term.operand is not None:
        yield term.operand
    for part in term.parts:
        yield from _operands(part)


def _path(name: str) -> str:
    """Return the JSON path of a key; what is no name of ours leads nowhere."""
    return f'$."{name}"' if re.fullmatch(r"[\w.-]+", name) else '$."\\u0000"'
