"""Charts as SVG that read on light and on dark: text and axes take the colour of the page, series are of middle tones.

No style sheet, no script, no font of its own: any number of them may stand in one page or in one file.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 460, 240
COLOURS = ("#3b82c4", "#d9822b", "#2f9e6e", "#9a6dd7", "#d1495b", "#2aa3b8", "#8f9a2d", "#c46aa8", "#8a919a")
"""Told apart by the colour-blind too, the first ones best; the last is for the rest."""

_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 12, 34, 44
_TICKS = 4
_FONT = 'font-family="system-ui,-apple-system,Segoe UI,Helvetica,Arial,sans-serif"'


@dataclass(frozen=True, slots=True)
class Line:
    """A series of points (x, y); x ascends.

    Attributes:
        dashed: a second mark beside the colour.
        filled: down to ``floor``, or to the axis.
        floor: the lower edge of a filled line, one y a point.
    """

    label: str
    points: tuple[tuple[float, float], ...]
    colour: str
    dashed: bool = False
    filled: bool = False
    floor: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Axis:
    """One direction of a chart.

    Attributes:
        low, high: values at its ends.
        ticks: (value, text).
        place: value → 0 to 1.
    """

    label: str
    ticks: tuple[tuple[float, str], ...]
    place: Callable[[float], float]


def lines_chart(title: str, lines: Sequence[Line], x: Axis, y: Axis) -> str:
    """Return a chart of lines, as an SVG element."""
    parts = [*_frame(title, x, y)]
    parts += [_line(line, x, y) for line in lines]
    parts += _legend([(line.label, line.colour, line.dashed) for line in lines])
    return _svg(title, parts, HEIGHT)


def bars_chart(title: str, names: Sequence[str], groups: Sequence[tuple[str, Sequence[float]]], x: Axis) -> str:
    """Return horizontal bars: for each name one of each group, which is a label and a value for each name."""
    row, left = 15 * len(groups) + 9, 110
    height = _TOP + row * len(names) + _BOTTOM
    width = WIDTH - left - _RIGHT
    parts = [_heading(title), *_grid_down(x, left, width, height)]
    for index, name in enumerate(names):
        top = _TOP + index * row + 4
        middle = top + (row - 8) / 2 + 4
        parts.append(f'<text x="{left - 6}" y="{middle:.1f}" text-anchor="end">{escape(_cut(name, 16))}</text>')
        for number, (_, values) in enumerate(groups):
            size = max(1.0, x.place(values[index]) * width)
            at = f'x="{left}" y="{top + 15 * number}" width="{size:.1f}" height="13"'
            parts.append(f'<rect {at} rx="2" fill="{COLOURS[number]}"/>')
    parts += _legend([(label, COLOURS[number], False) for number, (label, _) in enumerate(groups)])
    return _svg(title, parts, height)


def even(label: str, high: float, show: Callable[[float], str]) -> Axis:
    """Return an axis from 0 to a round number not below ``high``."""
    step = _round_step(high / _TICKS)
    top = step * max(1, -int(-high // step)) if high > 0 else 1.0
    count = round(top / step) if high > 0 else 1
    ticks = tuple((top * i / count, show(top * i / count)) for i in range(count + 1))
    return Axis(label, ticks, lambda value: min(1.0, max(0.0, value / top)))


def _round_step(least: float) -> float:
    if least <= 0:
        return 1.0
    size = 1.0
    while size > least:
        size /= 10
    while size * 10 <= least:
        size *= 10
    return next(size * factor for factor in (1, 2, 2.5, 5, 10) if size * factor >= least)


def _svg(title: str, parts: Sequence[str], height: float) -> str:
    size = f'width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" {_FONT} font-size="11" fill="currentColor">'
    return "\n".join([head, f"<title>{escape(title)}</title>", *parts, "</svg>"])


def _frame(title: str, x: Axis, y: Axis) -> list[str]:
    parts = [_heading(title)]
    right, bottom = WIDTH - _RIGHT, HEIGHT - _BOTTOM
    for value, text in y.ticks:
        at = bottom - y.place(value) * (bottom - _TOP)
        parts.append(_rule(_LEFT, at, right, at))
        parts.append(f'<text x="{_LEFT - 6}" y="{at + 4:.1f}" text-anchor="end" opacity=".75">{escape(text)}</text>')
    parts += _grid_down(x, _LEFT, right - _LEFT, HEIGHT, rules=False)
    parts.append(f'<text x="{_LEFT}" y="{_TOP - 6}" opacity=".75">{escape(y.label)}</text>')
    return parts


def _grid_down(x: Axis, left: float, width: float, height: float, *, rules: bool = True) -> list[str]:
    parts, bottom = [], height - _BOTTOM
    for value, text in x.ticks:
        at = left + x.place(value) * width
        if rules:
            parts.append(_rule(at, _TOP, at, bottom))
        place = f'x="{at:.1f}" y="{bottom + 14}" text-anchor="middle" opacity=".75"'
        parts.append(f"<text {place}>{escape(text)}</text>")
    parts.append(f'<text x="{left + width}" y="{bottom + 27}" text-anchor="end" opacity=".75">{escape(x.label)}</text>')
    return parts


def _heading(title: str) -> str:
    return f'<text x="4" y="14" font-size="13" font-weight="600">{escape(title)}</text>'


def _rule(x1: float, y1: float, x2: float, y2: float) -> str:
    ends = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {ends} stroke="currentColor" stroke-opacity=".18"/>'


def _line(line: Line, x: Axis, y: Axis) -> str:
    left, width, bottom = _LEFT, WIDTH - _RIGHT - _LEFT, HEIGHT - _BOTTOM
    tall = bottom - _TOP

    def at(px: float, py: float) -> str:
        return f"{left + x.place(px) * width:.1f},{bottom - y.place(py) * tall:.1f}"

    path = " ".join(at(px, py) for px, py in line.points)
    if line.filled:
        floor = line.floor or (0.0,) * len(line.points)
        back = " ".join(at(px, py) for (px, _), py in zip(reversed(line.points), reversed(floor), strict=True))
        return f'<polygon points="{path} {back}" fill="{line.colour}" fill-opacity=".8"/>'
    dash = ' stroke-dasharray="5 3"' if line.dashed else ""
    return f'<polyline points="{path}" fill="none" stroke="{line.colour}" stroke-width="1.8"{dash}/>'


def _legend(entries: Sequence[tuple[str, str, bool]]) -> list[str]:
    """Return the marks of the series, from the right along the top, or below the title when they are many."""
    parts: list[str] = []
    right = float(WIDTH - _RIGHT)
    for label, colour, dashed in reversed(entries):
        text = _cut(label, 14)
        right -= 6.2 * len(text) + 4
        parts.append(f'<text x="{right:.1f}" y="{_TOP - 6}">{escape(text)}</text>')
        dash = ' stroke-dasharray="4 2"' if dashed else ""
        ends = f'x1="{right - 18:.1f}" y1="{_TOP - 10}" x2="{right - 4:.1f}" y2="{_TOP - 10}"'
        parts.append(f'<line {ends} stroke="{colour}" stroke-width="3"{dash}/>')
        right -= 26
    return parts


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
