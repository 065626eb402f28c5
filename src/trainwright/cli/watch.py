"""Hosting the engine while a person watches one run."""

import signal
import sys
from collections.abc import Callable
from datetime import datetime, timedelta
from types import FrameType
from typing import TYPE_CHECKING

from trainwright.cli import output
from trainwright.core.ids import RunId, StepName
from trainwright.core.run import RunView, StepRun
from trainwright.core.states import AttemptState, StepState
from trainwright.plan.plan import Plan
from trainwright.service import metrics
from trainwright.service.context import Context
from trainwright.service.outline import MOST, Outline

if TYPE_CHECKING:
    from rich.table import Table

    from trainwright.app import App
    from trainwright.engine.engine import Engine


LARGE = 200
"""Steps of a run that is not drawn at every turn."""

BETWEEN_DRAWINGS = timedelta(seconds=0.25)

_LIVE_MEMBERS = 8
"""Members of one group that a terminal lists one by one."""

BETWEEN_COUNTS = timedelta(seconds=1)
"""How often the members of a large group are counted where every count is a line."""

_STEP_COLUMNS = 24
"""Longer names of steps are cut in the live table."""


class Interrupts:
    """Counts what asks this process to let go: Ctrl-C, a closed terminal, TERM."""

    def __init__(self) -> None:
        self.asked = 0
        self.hung_up = False

    def __enter__(self) -> "Interrupts":
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)

    def _note(self, number: int, _: FrameType | None) -> None:
        self.asked += 1
        self.hung_up = number != signal.SIGINT


def watch(app: "App", run_id: RunId, plan: Plan, interrupts: Interrupts, engine: "Engine") -> RunView:
    """Turn an engine and show a run until it has ended or somebody interrupts; return its last records."""
    screen = _screen(app.context, plan)
    told = False
    drawn_at: datetime | None = None
    try:
        while True:
            engine.turn()
            if engine.trouble and not told:
                told = True
                output.say(f"{engine.trouble.problem}\nnothing is lost; waiting until it can be used again")
            view = engine.view(run_id)
            over = view.run.state.is_final or interrupts.asked > 0
            now = app.context.clock.now()
            if over or drawn_at is None or len(view.steps) <= LARGE or now - drawn_at > BETWEEN_DRAWINGS:
                screen(view)
                drawn_at = now
            if over:
                return view
            engine.wait()
    finally:
        screen.close()


class _Lines:
    """For pipes and logs: one line whenever a step changes; members of large groups are only counted, once a second."""

    def __init__(self, context: Context, plan: Plan) -> None:
        self._context, self._plan = context, plan
        self._seen: dict[str, tuple[str, str]] = {}
        self._counted_at: dict[str, datetime] = {}

    def __call__(self, view: RunView) -> None:
        outline = Outline(view, self._plan)
        for step in outline.inside(None):
            self._walk(view, outline, step, self._context.clock.now())

    def _walk(self, view: RunView, outline: Outline, step: StepRun, now: datetime) -> None:
        """Say what changed in a step: a group begins before its members, and ends after them."""
        members = outline.inside(step.name)
        large = len(members) > MOST
        count = outline.count(step) if large or step.state.is_final else ""
        if not step.state.is_final:
            self._say(view, step, count, now)
        for member in () if large else members:
            self._walk(view, outline, member, now)
        if step.state.is_final:
            self._say(view, step, count, now)

    def _say(self, view: RunView, step: StepRun, count: str, now: datetime) -> None:
        line = f"{output.marked(step.state):12}{step.name}"
        seen = self._seen.get(step.name, ("", ""))
        if seen == (line, count) or step.state is StepState.PENDING:
            return
        early = self._counted_at.get(step.name, now - 2 * BETWEEN_COUNTS) > now - BETWEEN_COUNTS
        if seen[0] == line and (early or step.state.is_final):
            return
        self._seen[step.name] = line, count
        self._counted_at[step.name] = now
        words = _last_words(self._context, view, step)
        took = output.took(step.started_at, step.finished_at, now)
        output.say("  ".join(filter(None, (line, took, count, words))))

    def close(self) -> None:
        """Leave nothing behind."""


class _Live:
    """For terminals: a table that is redrawn in place."""

    def __init__(self, context: Context, plan: Plan) -> None:
        from rich.live import Live

        self._context, self._plan = context, plan
        self._live = Live(console=output.console(stderr=True), auto_refresh=False, transient=False)
        self._live.start()

    def __call__(self, view: RunView) -> None:
        self._live.update(_table(self._context, view, self._plan, self._live.console.width), refresh=True)

    def close(self) -> None:
        """Leave the last table on the screen."""
        self._live.stop()


def _screen(context: Context, plan: Plan) -> "_Lines | _Live":
    return _Live(context, plan) if sys.stderr.isatty() else _Lines(context, plan)


def _table(context: Context, view: RunView, plan: Plan, columns: int) -> "Table":
    from rich import box
    from rich.cells import cell_len
    from rich.table import Table
    from rich.text import Text

    now = context.clock.now()
    names = ("state", "step", "took", "last metric or reason")
    outline = Outline(view, plan)
    rows: list[tuple[str, str, str, str]] = []
    for line in outline.lines(most=_LIVE_MEMBERS):
        step, indent = line.step, "  " * line.depth
        if step is None:
            rows.append(("", f"{indent}… {line.rest:,} more", "", ""))
            continue
        took = output.took(step.started_at, step.finished_at, now)
        words = "  ".join(filter(None, (outline.count(step), _last_words(context, view, step))))
        rows.append((output.marked(step.state), indent + step.name, took, words))
    step_width = min(max(map(cell_len, (names[1], *(row[1] for row in rows)))), _STEP_COLUMNS)
    widths = (11, step_width, 8)
    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    for name, width in zip(names, (*widths, max(8, columns - sum(widths) - 6)), strict=True):
        grid.add_column(name, no_wrap=True, overflow="ellipsis", width=width)
    for row in rows:
        grid.add_row(*(Text(cell, style=output.STATE_STYLE.get(cell.split(" ")[-1], "")) for cell in row))
    return grid


_TOLD_BY_REASON = frozenset(
    {StepState.PENDING, StepState.QUEUED, StepState.SKIPPED, StepState.FAILED, StepState.CACHED}
)


def _last_words(context: Context, view: RunView, step: StepRun) -> str:
    """Return the last metrics and progress of a step, or why it waits."""
    attempt = view.latest(step.name)
    if step.state in _TOLD_BY_REASON:
        return step.reason.sentence() if step.reason else ""
    if attempt is None:
        return f"{step.metadata['model_version']}" if step.metadata.get("model_version") else ""
    if attempt.state is AttemptState.RUNNING:
        said = metrics.live(context, attempt)
        progress = f"{said.done:g}/{said.total:g} " if said.total else ""
        values = said.metrics
    else:
        progress, values = "", {key: m.last for key, m in attempt.metrics.items()}
    shown = list(values.items())[-3:]
    return progress + "  ".join(f"{key} {output.figure(value)}" for key, value in shown)


def follow_log(context: Context, view: Callable[[], RunView], step: StepName, write: Callable[[bytes], object]) -> None:
    """Copy the output of a step's latest attempt until the step has ended; a repetition follows on."""
    number, offset = 0, 0
    while True:
        present = view()
        record = present.step(step)
        attempt = present.latest(record.name)
        if attempt is not None:
            if attempt.number != number:
                number, offset = attempt.number, 0
            path = metrics.log_file(context, attempt)
            if path.is_file():
                with path.open("rb") as file:
                    file.seek(offset)
                    offset += write(file.read()) or 0  # type: ignore[operator]
        if record.state.is_final:
            return
        context.clock.sleep(0.1)
