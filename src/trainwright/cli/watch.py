"""Hosting the engine while a person watches one run."""

import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING

from trainwright.cli import output
from trainwright.core.ids import RunId
from trainwright.core.run import RunView
from trainwright.core.states import AttemptState, StepState
from trainwright.service import metrics
from trainwright.service.context import Context

if TYPE_CHECKING:
    from rich.table import Table

    from trainwright.app import App
    from trainwright.engine.engine import Engine


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


def watch(app: "App", run_id: RunId, interrupts: Interrupts, engine: "Engine") -> RunView:
    """Turn an engine and show a run until it has ended or somebody interrupts; return its last records."""
    screen = _screen(app.context)
    told = False
    try:
        while True:
            engine.turn()
            if engine.trouble and not told:
                told = True
                output.say(f"{engine.trouble.problem}\nnothing is lost; waiting until it can be used again")
            view = engine.view(run_id)
            screen(view)
            if view.run.state.is_final or interrupts.asked:
                return view
            engine.wait()
    finally:
        screen.close()


class _Lines:
    """For pipes and logs: one line whenever a step changes."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._seen: dict[str, str] = {}

    def __call__(self, view: RunView) -> None:
        for step in view.steps:
            line = f"{output.marked(step.state):12}{step.name}"
            if self._seen.get(step.name) == line or step.state is StepState.PENDING:
                continue
            self._seen[step.name] = line
            now = self._context.clock.now()
            words = _last_words(self._context, view, step.name)
            output.say("  ".join(filter(None, (line, output.took(step.started_at, step.finished_at, now), words))))

    def close(self) -> None:
        """Leave nothing behind."""


class _Live:
    """For terminals: a table that is redrawn in place."""

    def __init__(self, context: Context) -> None:
        from rich.live import Live

        self._context = context
        self._live = Live(console=output.console(stderr=True), auto_refresh=False, transient=False)
        self._live.start()

    def __call__(self, view: RunView) -> None:
        self._live.update(_table(self._context, view, self._live.console.width), refresh=True)

    def close(self) -> None:
        """Leave the last table on the screen."""
        self._live.stop()


def _screen(context: Context) -> "_Lines | _Live":
    return _Live(context) if sys.stderr.isatty() else _Lines(context)


def _table(context: Context, view: RunView, columns: int) -> "Table":
    from rich import box
    from rich.cells import cell_len
    from rich.table import Table
    from rich.text import Text

    now = context.clock.now()
    names = ("state", "step", "took", "last metric or reason")
    lines = [
        (
            output.marked(step.state),
            step.name,
            output.took(step.started_at, step.finished_at, now),
            _last_words(context, view, step.name),
        )
        for step in view.steps
    ]
    step_width = min(max(map(cell_len, (names[1], *(s.name for s in view.steps)))), _STEP_COLUMNS)
    widths = (11, step_width, 8)
    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    for name, width in zip(names, (*widths, max(8, columns - sum(widths) - 6)), strict=True):
        grid.add_column(name, no_wrap=True, overflow="ellipsis", width=width)
    for line in lines:
        grid.add_row(*(Text(cell, style=output.STATE_STYLE.get(cell.split(" ")[-1], "")) for cell in line))
    return grid


def _last_words(context: Context, view: RunView, name: str) -> str:
    """Return the last metrics and progress of a step, or why it waits."""
    step = next(s for s in view.steps if s.name == name)
    attempt = view.latest(step.name)
    if step.state in {StepState.PENDING, StepState.QUEUED, StepState.SKIPPED, StepState.FAILED}:
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


def follow_log(context: Context, view: Callable[[], RunView], step: str, write: Callable[[bytes], object]) -> None:
    """Copy the output of a step's latest attempt until the step has ended; a repetition follows on."""
    number, offset = 0, 0
    while True:
        present = view()
        record = next(s for s in present.steps if s.name == step)
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
