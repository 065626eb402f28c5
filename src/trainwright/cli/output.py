"""How results are printed: data on stdout, talk on stderr, JSON for programs, tables that fit for people."""

import json
import os
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from trainwright.core.codec import to_json
from trainwright.core.quantity import show_duration

if TYPE_CHECKING:
    from rich.console import Console

STATE_STYLE = {
    "succeeded": "green",
    "passed": "green",
    "running": "cyan",
    "queued": "yellow",
    "failed": "bold red",
    "not-a-number": "bold red",
    "missing": "bold red",
    "cancelled": "magenta",
    "skipped": "dim",
    "pending": "dim",
}
STATE_MARK = {
    "succeeded": "✓",
    "running": "▶",
    "queued": "…",
    "failed": "✗",
    "cancelled": "■",
    "skipped": "-",
    "pending": "·",
}


def say(text: str = "") -> None:
    """Print talk on stderr."""
    print(text, file=sys.stderr, flush=True)  # noqa: T201


def put(text: str = "") -> None:
    """Print data on stdout."""
    print(text, flush=True)  # noqa: T201


def put_json(value: object) -> None:
    """Print one JSON document on stdout."""
    put(json.dumps(to_json(value), ensure_ascii=False, indent=2))


def put_jsonl(values: Iterable[object]) -> None:
    """Print one JSON document a line on stdout."""
    for value in values:
        put(json.dumps(to_json(value), ensure_ascii=False))


def console(*, stderr: bool = False) -> "Console":
    """Return a console that colours only on terminals and never wraps a pipe at 80 columns."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    columns = os.environ.get("COLUMNS", "")  # noqa: TID251 - a terminal's matter
    width = None if stream.isatty() else int(columns) if columns.isdigit() else 160
    return Console(stderr=stderr, width=width, highlight=False, soft_wrap=not stream.isatty())


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, stderr: bool = False, title: str = "") -> None:
    """Print a table; a column named ``state`` is coloured, the last one takes what room is left."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    grid = Table(box=box.SIMPLE_HEAD, title=title or None, title_justify="left", pad_edge=False, show_edge=False)
    for name in columns:
        grid.add_column(name, overflow="fold", no_wrap=name in {"state", "step", "run", "started", "took"})
    for row in rows:
        grid.add_row(*(Text(cell, style=STATE_STYLE.get(cell.split(" ")[-1], "")) for cell in row))
    console(stderr=stderr).print(grid)


def when(at: datetime | None, now: datetime) -> str:
    """Return an instant: how long ago on a terminal, ISO 8601 UTC elsewhere."""
    if at is None:
        return ""
    if not sys.stdout.isatty():
        return at.astimezone(UTC).isoformat(timespec="seconds")
    return f"{show_duration((now - at).total_seconds())} ago"


def took(start: datetime | None, end: datetime | None, now: datetime) -> str:
    """Return how long something took or has taken so far."""
    return "" if start is None else show_duration(max(0.0, ((end or now) - start).total_seconds()))


def figure(value: float) -> str:
    """Return a number of six digits."""
    return f"{value:.6g}"


def marked(state: str) -> str:
    """Return a state with its mark, so that colour is never needed to tell states apart."""
    return f"{STATE_MARK.get(state, '?')} {state}"
