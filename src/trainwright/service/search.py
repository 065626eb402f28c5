"""Finding runs: by a condition, by time, pipeline and person; ranked by a metric or whatever else a run has."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from trainwright.core import quantity
from trainwright.core.condition import parse
from trainwright.core.errors import SpecError
from trainwright.core.ids import ProjectName
from trainwright.core.query import Known, Operand, Term, instant_text, typed
from trainwright.core.run import Run
from trainwright.service.context import Context
from trainwright.service.nearest import did_you_mean
from trainwright.store import selection
from trainwright.store.database import Rows
from trainwright.store.rows import instant

FIELDS = {
    "id": "text",
    "state": "text",
    "pipeline": "text",
    "source": "text",
    "by": "text",
    "fingerprint": "text",
    "number": "number",
    "age": "age",
    "took": "age",
    "submitted_at": "instant",
    "started_at": "instant",
    "finished_at": "instant",
}
"""What every run has, and of which kind."""

_SHORT = {"started": "submitted_at", "submitted": "submitted_at", "finished": "finished_at"}
_EXAMPLE = 'write for example: evaluate.auc > 0.8 and params.C < 1 and state == "succeeded"'


@dataclass(frozen=True, slots=True)
class Query:
    """What somebody asks for, as typed; empty = does not matter.

    Attributes:
        where: a condition.
        since, until: an instant (``2026-03-01``), or how long ago (``2d``).
        by: a person; ``me`` is the one who asks.
        sort: a name; the smallest comes first, or the largest with ``-`` before it.
        show: names whose values are wanted beside those that ``where`` and ``sort`` speak of.
        limit: at most so many; None = all.
    """

    where: str = ""
    since: str = ""
    until: str = ""
    pipeline: str = ""
    by: str = ""
    sort: str = ""
    show: tuple[str, ...] = ()
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """Runs, the best or newest first, and of each what was asked for.

    Attributes:
        names: of the values, as they were written.
        lines: each run with its values; None = it has none, NaN = it has one that is not a number.
    """

    names: tuple[str, ...]
    lines: tuple[tuple[Run, tuple[Known | None, ...]], ...]


def find_runs(context: Context, query: Query) -> Found:
    """Return the runs that fit.

    Raises:
        SpecError: the condition is not in the language, compares a text with a number, or speaks of what no run has.
    """
    now = context.clock.now()
    with context.database.reading() as rows:
        names = _Names(rows, context.project)
        where = _condition(query.where, names)
        sort = query.sort.strip()
        key = sort.removeprefix("-")
        operand = names.find(_SHORT.get(key, key)) if key else None
        for name in query.show:
            names.seen.setdefault(name, names.find(name))
        shown = {n: o for n, o in names.seen.items() if o.home in {"metric", "data"} or n in {key, *query.show}}
        wanted = selection.Wanted(
            project=context.project,
            now=instant(now) or "",
            where=where,
            since=_bound(query.since, now),
            until=_bound(query.until, now),
            pipeline=query.pipeline,
            actor=context.actor if query.by == "me" else query.by,
            sort=() if operand is None else ((operand, sort.startswith("-")),),
            shown=tuple(shown.values()),
            limit=query.limit,
        )
        chosen = selection.choose(rows, wanted)
    return Found(tuple(shown), tuple((one.run, one.values) for one in chosen))


def _condition(text: str, names: "_Names") -> Term | None:
    if not text.strip():
        return None
    try:
        return typed(parse(text), names.find, names.asked)
    except ValueError as error:
        raise SpecError("TW2401", f"--where {text!r}: {error}", remedy=_EXAMPLE) from error


def _bound(text: str, now: datetime) -> str:
    """Return the sortable text of an instant, or of how long ago; empty without any."""
    if not text:
        return ""
    try:
        return instant(now - quantity.duration(text)) or ""
    except (ValueError, OverflowError):
        pass
    try:
        return instant_text(text)
    except ValueError as error:
        remedy = "write how long ago (2d, 12h) or an instant (2026-03-01, 2026-03-01T12:00:00Z)"
        raise SpecError("TW2403", f"{text} is neither a duration nor an instant", remedy=remedy) from error


class _Names:
    """Finds what names stand for among the runs of a project, and remembers which were asked for."""

    def __init__(self, rows: Rows, project: ProjectName) -> None:
        self._rows, self._project = rows, project
        self.seen: dict[str, Operand] = {}

    def find(self, dotted: str) -> Operand:
        """Return the operand of a name.

        Raises:
            SpecError: no run has it.
        """
        operand = self._known(dotted)
        if operand is None:
            raise self._unknown(dotted)
        self.seen.setdefault(dotted, operand)
        return operand

    def asked(self, dotted: str) -> Operand:
        """Return the operand of a name that no run needs to have."""
        return self._known(dotted) or Operand("metric", dotted.removeprefix("metrics."))

    def _known(self, dotted: str) -> Operand | None:
        home, _, rest = dotted.partition(".")
        if dotted in FIELDS:
            return Operand("field", dotted, kind=FIELDS[dotted])
        if home == "params" and rest:
            types = selection.param_types(self._rows, self._project, rest)
            kinds = {"text" if t == "text" else "number" for t in types if t not in {"array", "object", "null"}}
            return Operand("param", rest, kind=kinds.pop() if len(kinds) == 1 else "any") if types else None
        if home == "metrics" and rest:
            return self._metric("", rest)
        if home == "data" and rest and selection.has_data(self._rows, self._project, rest):
            return Operand("data", rest, kind="text")
        return next(filter(None, (self._metric(step, name) for step, name in _splits(dotted))), None)

    def _metric(self, step: str, name: str) -> Operand | None:
        known = selection.has_metric(self._rows, self._project, name, step)
        return Operand("metric", name, step) if known else None

    def _unknown(self, dotted: str) -> SpecError:
        metrics = selection.metric_names(self._rows, self._project)
        params = selection.param_names(self._rows, self._project)
        known = {*FIELDS, *(f"params.{p}" for p in params), *(n for _, n in metrics), *(f"{s}.{n}" for s, n in metrics)}
        if dotted in params:
            remedy = f"did you mean params.{dotted}?"
        else:
            some = ", ".join(sorted({n for _, n in metrics})[:8]) or "none yet"
            remedy = did_you_mean(dotted, known, f"metrics are {some}; parameters begin with params.")
        return SpecError("TW2402", f"no run of this project has {dotted}", remedy=remedy)


def _splits(dotted: str) -> Iterator[tuple[str, str]]:
    """Yield step and metric that a name may mean: a step's first, then a metric of whichever step."""
    parts = dotted.split(".")
    for place in range(1, len(parts)):
        yield ".".join(parts[:place]), ".".join(parts[place:])
    yield "", dotted
