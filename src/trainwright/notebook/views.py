"""What ``tw.ps``, ``tw.show``, ``tw.compare`` and ``tw.plan_of`` return: values that show themselves.

They are read when they are asked for and do not change afterwards; ask again to see what has happened since.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice

from trainwright.core.quantity import show_bytes, show_duration
from trainwright.core.query import Known
from trainwright.core.run import Attempt, Run, RunView, StepRun
from trainwright.core.scalar import Plain
from trainwright.core.states import MARKS
from trainwright.notebook.html import Html, block, code, figure, line, pill, quiet, strong, table
from trainwright.notebook.svg import svg
from trainwright.plan.graph import graph_of
from trainwright.plan.plan import GroupKind, Plan
from trainwright.service.compare import Difference
from trainwright.service.metrics import final
from trainwright.service.why import gate_line, memory_of_run

_SHOWN_METRICS = 6
"""Of a step, in a table of all steps; the last ones, which a script logs when it is done."""

_SHOWN_MEMBERS = 20
"""Of all groups of a run, that did not go well."""

_WELL = frozenset({"succeeded", "cached", "running"})


@dataclass(frozen=True, slots=True)
class Runs:
    """The latest runs, newest first.

    Attributes:
        runs: their records.
        at: when they were read.
        names: of what was asked for beside.
        values: of each run, in the order of ``names``; None where it has none.
    """

    runs: tuple[Run, ...]
    at: datetime
    names: tuple[str, ...] = ()
    values: tuple[tuple[Known | None, ...], ...] = ()

    def __len__(self) -> int:
        return len(self.runs)

    def __iter__(self) -> Iterator[Run]:
        return iter(self.runs)

    def __getitem__(self, index: int) -> Run:
        return self.runs[index]

    def __repr__(self) -> str:
        return "\n".join(map(_run_line, self.runs)) or "no runs yet"

    def _repr_html_(self) -> str:
        if not self.runs:
            return block("no runs yet")
        columns = ("run", "#", "pipeline", "state", "submitted", "took", *self.names, "parameters", "reason")
        rows = [
            (
                code(run.id),
                run.number,
                run.pipeline,
                pill(run.state),
                _instant(run.submitted_at),
                _took(run.submitted_at, run.finished_at, self.at),
                *(_value(self.values[place][i]) for i in range(len(self.names))),
                _settings(run.params),
                _reason(run),
            )
            for place, run in enumerate(self.runs)
        ]
        return block(table(columns, rows))


@dataclass(frozen=True, slots=True)
class ShownRun:
    """One run with everything known of it.

    Attributes:
        view: all its records.
        plan: what it does.
        fingerprint: address of what identifies it, ``fp:3fa9…``.
        at: when it was read.
    """

    view: RunView
    plan: Plan
    fingerprint: str
    at: datetime

    @property
    def run(self) -> Run:
        """Return its own record."""
        return self.view.run

    @property
    def state(self) -> str:
        """Return where it is: pending, running, succeeded, failed or cancelled."""
        return str(self.view.run.state)

    @property
    def params(self) -> Mapping[str, Plain]:
        """Return its parameters."""
        return self.view.run.params

    @property
    def metrics(self) -> dict[str, dict[str, float]]:
        """Return the last value of every metric, by step."""
        return final(self.view)

    @property
    def shown(self) -> list[StepRun]:
        """Return the steps of the plan, and of the members of groups the first that did not go well."""
        members = (s for s in self.view.steps if s.parent and s.state.is_final and not s.state.is_success)
        return [s for s in self.view.steps if not s.parent] + list(islice(members, _SHOWN_MEMBERS))

    def __repr__(self) -> str:
        steps = [
            f"  {_marked(step.state)}  {step.name}  {_told(self.view, self.plan, step)}".rstrip() for step in self.shown
        ]
        return "\n".join([_run_line(self.run), *steps])

    def _repr_html_(self) -> str:
        run = self.run
        told = f"file {run.source}, submitted {_instant(run.submitted_at)} by {run.submitted_by}"
        title = line(pill(run.state), strong(f"{run.pipeline} #{run.number}"), code(run.id), code(self.fingerprint))
        rows = [self._row(step) for step in self.shown]
        parts: list[object] = [title, quiet(told)]
        parts += [_reason(run)] if _reason(run) else []
        parts += [table(("parameter", "value"), run.params.items())] if run.params else []
        parts += [table(("state", "step", "tries", "took", "metrics", "reason"), rows)]
        parts += [line(pill(g.verdict), f"{s.name}: {gate_line(g)}") for s in self.shown for g in s.gates]
        parts += memory_of_run(self.view, self.plan)
        made = [
            (
                out.address,
                out.kind,
                code(out.content.digest[7:19]),
                out.content.files,
                show_bytes(out.content.size_bytes),
            )
            for out in self.view.outputs
        ]
        parts += [table(("made", "kind", "digest", "files", "size"), made)] if made else []
        return block(*parts)

    def _row(self, step: StepRun) -> tuple[object, ...]:
        attempt = self.view.latest(step.name)
        length = _took(step.started_at, step.finished_at, self.at)
        reason = step.reason.sentence() if step.reason and step.state not in _WELL else ""
        return (
            pill(step.state),
            step.name,
            step.attempts or "",
            length,
            _figures(attempt) or _tally(self.plan, step),
            reason,
        )


@dataclass(frozen=True, slots=True)
class Comparison:
    """What differs between two runs.

    Attributes:
        left, right: the runs.
        lines: every parameter, metric and part of the fingerprint, equal ones too.
    """

    left: Run
    right: Run
    lines: tuple[Difference, ...]

    @property
    def differences(self) -> tuple[Difference, ...]:
        """Return the lines in which they differ."""
        return tuple(each for each in self.lines if not each.equal)

    def __repr__(self) -> str:
        found = [f"  {d.part} {d.name}: {_value(d.left)} → {_value(d.right)}" for d in self.differences]
        return "\n".join([f"{_run_line(self.left)}\n{_run_line(self.right)}", *found])

    def _repr_html_(self) -> str:
        sides = [f"#{run.number} {run.id}" for run in (self.left, self.right)]
        rows = [(d.part, d.name, _value(d.left), _value(d.right)) for d in self.differences]
        shown = table(("part", "name", *sides), rows) if rows else f"{' and '.join(sides)} differ in nothing"
        return block(shown, quiet(f"{len(self.lines) - len(rows)} parts are equal"))


@dataclass(frozen=True, slots=True)
class ShownPlan:
    """What a run of a file would do.

    Attributes:
        plan: compiled, with its data pinned.
    """

    plan: Plan

    @property
    def digest(self) -> str:
        """Return ``sha256:…`` of the plan."""
        return str(self.plan.digest)

    def __repr__(self) -> str:
        steps = [
            f"  {step.name}" + (f" after {', '.join(step.needs)}" if step.needs else "") for step in self.plan.steps
        ]
        return "\n".join([f"plan {self.plan.pipeline} {self.digest[7:19]}", *steps])

    def _repr_html_(self) -> str:
        plan = self.plan
        rows = []
        for step in plan.steps:
            makes = ", ".join(f"{name}: {kind}" for name, kind in step.outputs.items())
            if step.registration:
                makes = f"models/{step.registration.model}"
            checks = "; ".join(check.expression for check in step.checks if not check.default)
            room = str(step.resources) if step.command else ""
            rows.append((step.name, step.stage or "", room, makes, checks))
        parts: list[object] = [
            line("plan", strong(plan.pipeline), code(self.digest[7:19]), quiet(_settings(plan.params)))
        ]
        parts += [line("data", data.name, "=", data.address, code(data.content.digest[7:19])) for data in plan.data]
        parts += [Html(svg(graph_of(plan, data=True), plan.pipeline))]
        return block(*parts, table(("step", "stage", "resources", "makes", "checks"), rows))


def _run_line(run: Run) -> str:
    words = [_marked(run.state), f"{run.pipeline} #{run.number}", run.id, _settings(run.params), _reason(run)]
    return "  ".join(word for word in words if word)


def _marked(state: str) -> str:
    return f"{MARKS.get(state, '?')} {state}"


def _told(view: RunView, plan: Plan, step: StepRun) -> str:
    """Return the metrics of a step that went well, else its reason."""
    if step.reason and step.state not in _WELL:
        return step.reason.sentence()
    return _figures(view.latest(step.name)) or _tally(plan, step)


def _tally(plan: Plan, step: StepRun) -> str:
    """Return how the members of a group stand; empty for other steps."""
    tally, group = step.tally, plan.step(step.name).group
    if tally is None or group is None:
        return ""
    if group.kind is GroupKind.LOOP:
        return f"round {tally.begun} of at most {tally.total}"
    return f"{tally.succeeded} of {tally.total} succeeded, {tally.failed} failed"


def _figures(attempt: Attempt | None) -> str:
    metrics = list(attempt.metrics.items()) if attempt else []
    return "  ".join(f"{name} {figure(metric.last)}" for name, metric in metrics[-_SHOWN_METRICS:])


def _reason(run: Run) -> str:
    return run.reason.sentence() if run.reason and run.state != "succeeded" else ""


def _settings(params: Mapping[str, Plain]) -> str:
    return "  ".join(f"{name}={value}" for name, value in params.items())


def _value(value: Plain) -> str:
    return "" if value is None else figure(value)


def _instant(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _took(start: datetime | None, end: datetime | None, now: datetime) -> str:
    return "" if start is None else show_duration(max(0.0, ((end or now) - start).total_seconds()))
