"""Small pieces of HTML for notebooks: everything escaped, styles inline, no script, nothing fetched.

Text and ground are the page's own, so that it reads in light and dark; states bring a ground of their own.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from trainwright.core.states import MARKS

_GROUNDS = {
    "succeeded": "#1a7f37",
    "cached": "#1a7f37",
    "passed": "#1a7f37",
    "running": "#0969da",
    "queued": "#9a6700",
    "failed": "#cf222e",
    "not-a-number": "#cf222e",
    "missing": "#cf222e",
    "cancelled": "#8250df",
}
_ELSE = "#59636e"
_RULE = "1px solid rgba(128,128,128,.4)"
_CELL = "padding:2px 12px 2px 0;text-align:left;vertical-align:top"


@dataclass(frozen=True, slots=True)
class Html:
    """Text that is HTML already; anything else is escaped where it is put in."""

    text: str


def html(value: object) -> str:
    """Return a value as HTML: escaped, unless it is HTML."""
    return value.text if isinstance(value, Html) else escape(str(value))


def block(*parts: object) -> str:
    """Return what a notebook shows: the parts, one below the other."""
    inner = "".join(f'<div style="margin:4px 0">{html(part)}</div>' for part in parts)
    return f'<div style="font-size:13px;line-height:1.45">{inner}</div>'


def line(*parts: object) -> Html:
    """Return parts beside one another."""
    return Html(" ".join(map(html, parts)))


def strong(text: object) -> Html:
    """Return text that stands out."""
    return Html(f"<b>{html(text)}</b>")


def code(text: object) -> Html:
    """Return an identifier or an address."""
    return Html(f"<code>{html(text)}</code>")


def quiet(text: object) -> Html:
    """Return text that may be passed over."""
    return Html(f'<span style="opacity:.7">{html(text)}</span>')


def pill(state: str) -> Html:
    """Return a state or verdict: its colour, its mark, its word, so that no one of them is needed."""
    style = f"background:{_GROUNDS.get(state, _ELSE)};color:#ffffff;padding:0 8px;border-radius:9px;white-space:nowrap"
    mark = f"{MARKS[state]} " if state in MARKS else ""
    return Html(f'<span style="{style}">{html(mark + state)}</span>')


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Html:
    """Return a table; columns without any value are left out."""
    lines = [tuple(row) for row in rows]
    filled = [i for i in range(len(columns)) if i == 0 or any(row[i] not in ("", None) for row in lines)]
    head = "".join(f'<th style="{_CELL};border-bottom:{_RULE}">{html(columns[i])}</th>' for i in filled)
    body = "".join(
        "<tr>" + "".join(f'<td style="{_CELL}">{html(_cell(row[i]))}</td>' for i in filled) + "</tr>" for row in lines
    )
    grid = f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody>"
    return Html(f'<table style="border-collapse:collapse">{grid}</table>')


def figure(value: object) -> str:
    """Return a number of six digits, and anything else as text."""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _cell(value: object) -> object:
    return "" if value is None else figure(value) if isinstance(value, float) else value
