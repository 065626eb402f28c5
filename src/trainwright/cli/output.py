"""How results are printed: data on stdout, talk on stderr, JSON for programs, tables that fit for people."""

import json
import re
import sys
from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from trainwright.core.codec import to_json
from trainwright.core.quantity import show_duration
from trainwright.core.states import MARKS
from trainwright.core.width import cell_width

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
    "cached": "green",
    "pending": "dim",
}


ENDLESS = 100_000
"""Columns of what is no terminal."""

_WHOLE = frozenset(
    {"#", "run", "state", "step", "started", "took", "digest", "files", "size", "tries", "used", "cpu", "vram"}
)
"""Columns that are never made narrower; the others wrap between words, or are cut."""

_GAP = 2
"""Between columns."""

_NARROWEST = 8


def say(text: str = "") -> None:
    """Print talk on stderr."""
    print(text, file=sys.stderr, flush=True)  # noqa: T201


def put(text: str = "") -> None:
    """Print data on stdout."""
    print(text, flush=True)  # noqa: T201


def put_json(value: object) -> None:
    """Print one JSON document on stdout."""
    put(json.dumps(to_json(value), ensure_ascii=False, indent=2))


def fields(value: object) -> dict[str, object]:
    """Return the JSON fields of a record, to add others to them."""
    return dict(to_json(value))


def put_jsonl(values: Iterable[object]) -> None:
    """Print one JSON document a line on stdout."""
    for value in values:
        put(json.dumps(to_json(value), ensure_ascii=False))


def console(*, stderr: bool = False) -> "Console":
    """Return a console that colours only on terminals and never cuts or wraps what goes elsewhere."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    return Console(stderr=stderr, width=None if stream.isatty() else ENDLESS, highlight=False)


def table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], *, stderr: bool = False, one_line: Collection[str] = ()
) -> None:
    """Print a table; states are coloured, columns without any value are left out.

    Args:
        columns: their names.
        rows: a text for each column.
        stderr: print it as talk.
        one_line: columns that a terminal which is too narrow cuts, rather than wraps.
    """
    lines = [tuple(row) for row in rows]
    filled = [i for i, name in enumerate(columns) if i == 0 or name[:1] == "#" or any(line[i] for line in lines)]
    names = [columns[i] for i in filled]
    lines = [tuple(line[i] for i in filled) for line in lines]
    if (sys.stderr if stderr else sys.stdout).isatty():
        _draw(names, lines, one_line, stderr=stderr)
    else:
        (say if stderr else put)(plain(names, lines))


def plain(names: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Return a table as text: nothing cut, nothing wrapped, nothing at the ends of lines.

    Done without rich, which takes longer to import than a short pipeline to plan.
    """
    cells = [[cell.split("\n") for cell in line] for line in (names, *lines)]
    widths = [max(cell_width(part) for row in cells for part in row[i]) for i in range(len(names))]
    text = []
    for row in cells:
        for depth in range(max(map(len, row))):
            parts = [cell[depth] if depth < len(cell) else "" for cell in row]
            padded = (part + " " * (width - cell_width(part)) for part, width in zip(parts, widths, strict=True))
            text.append((" " * _GAP).join(padded).rstrip())
    text.insert(max(map(len, cells[0])), "─" * (sum(widths) + _GAP * (len(names) - 1)))
    return "\n".join(text)


def _draw(names: Sequence[str], lines: Sequence[Sequence[str]], one_line: Collection[str], *, stderr: bool) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    screen = console(stderr=stderr)
    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    for name, width in zip(names, fitted(names, lines, screen.width), strict=True):
        grid.add_column(
            name, width=width, no_wrap=name in one_line, overflow="ellipsis" if name in one_line else "fold"
        )
    for line in lines:
        grid.add_row(*(Text(cell, style=STATE_STYLE.get(cell.split(" ")[-1], "")) for cell in line))
    screen.print(grid)


def fitted(names: Sequence[str], lines: Sequence[Sequence[str]], room: int) -> list[int]:
    """Return the width of each column: what it needs, or less for the widest ones until the table fits ``room``."""
    needed = [
        max(cell_width(part) for cell in (name, *(line[i] for line in lines)) for part in cell.split("\n"))
        for i, name in enumerate(names)
    ]
    excess = sum(needed) + _GAP * (len(names) - 1) - room
    while excess > 0:
        widest = max((i for i, name in enumerate(names) if name not in _WHOLE), key=needed.__getitem__, default=None)
        if widest is None or needed[widest] <= _NARROWEST:
            break
        needed[widest] -= 1
        excess -= 1
    return needed


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


def cell(value: object) -> str:
    """Return a value in a table: numbers of six digits, digests by their beginning, nothing for None."""
    if value is None:
        return ""
    if isinstance(value, float):
        return figure(value)
    return value[7:19] if isinstance(value, str) and re.fullmatch("sha256:[0-9a-f]{64}", value) else str(value)


def marked(state: str) -> str:
    """Return a state with its mark, so that colour is never needed to tell states apart."""
    return f"{MARKS.get(state, '?')} {state}"


def some(names: Iterable[str], most: int = 8) -> str:
    """Return the first names and how many more there are."""
    known = list(names)
    more = f" and {len(known) - most} more" if len(known) > most else ""
    return ", ".join(known[:most]) + more
