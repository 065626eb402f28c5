"""One page about a simulation: its figures and its charts, before and after; nothing is fetched when it is opened."""

from collections.abc import Sequence
from html import escape

from trainwright.sim.chart import COLOURS, WIDTH, Axis, Line, bars_chart, even, lines_chart
from trainwright.sim.figures import Side, figures
from trainwright.sim.outcome import Outcome
from trainwright.sim.summary import Waits

_STYLE = """
:root{color-scheme:light dark}
body{font:14px/1.5 system-ui,-apple-system,"Segoe UI",Helvetica,Arial,sans-serif;max-width:980px;margin:2rem auto;
padding:0 1rem;background:#fff;color:#1f2328}
@media(prefers-color-scheme:dark){body{background:#14171b;color:#d8dee6}}
table{border-collapse:collapse;margin:1rem 0}
th,td{padding:3px 16px 3px 0;text-align:right;border-bottom:1px solid rgba(128,128,128,.3)}
th:first-child,td:first-child{text-align:left}
.charts{display:flex;flex-wrap:wrap;gap:16px}
svg{max-width:100%;height:auto}
.quiet{opacity:.75}
"""

_TIMES = ((1, "1s"), (10, "10s"), (60, "1m"), (600, "10m"), (3600, "1h"), (36_000, "10h"), (259_200, "3d"),
          (2_592_000, "30d"), (31_536_000, "1y"))  # fmt: skip
"""Marks on an axis of waiting; in between it is as good as logarithmic."""

_MOST_LINES = 8


def page(title: str, sides: Sequence[Side], notes: Sequence[str] = ()) -> str:
    """Return the page as HTML."""
    head = "".join(f"<th>{escape(side.label)}</th>" for side in sides)
    body = "".join(
        f"<tr><td>{escape(name)}</td>{''.join(f'<td>{escape(value)}</td>' for value in values)}</tr>"
        for name, values in figures(sides)
    )
    said = "".join(f'<p class="quiet">{escape(note)}</p>' for note in notes)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width,initial-scale=1"><style>{_STYLE}</style></head><body>'
        f"<h1>{escape(title)}</h1>{said}<table><thead><tr><th></th>{head}</tr></thead><tbody>{body}</tbody></table>"
        f'<div class="charts">{"".join(charts(sides))}</div></body></html>\n'
    )


def picture(sides: Sequence[Side]) -> str:
    """Return all charts as one SVG file, on white."""
    drawn = charts(sides)
    pairs = [drawn[at : at + 2] for at in range(0, len(drawn), 2)]
    placed, y = [], 8
    for pair in pairs:
        for column, chart in enumerate(pair):
            placed.append(f'<g transform="translate({8 + column * (WIDTH + 16)},{y})">{chart}</g>')
        y += max(map(_height, pair)) + 16
    width = 2 * (WIDTH + 16)
    size = f'width="{width}" height="{y}" viewBox="0 0 {width} {y}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} color="#1f2328">'
    ground = f'<rect width="{width}" height="{y}" fill="#ffffff"/>'
    return "\n".join([head, ground, *placed, "</svg>"]) + "\n"


def charts(sides: Sequence[Side]) -> list[str]:
    """Return every chart as an SVG element."""
    found = [_waiting_curve(sides), _waiting_bars(sides), _used(sides), _pending(sides)]
    found += [_shares(side, sides) for side in sides]
    return found


def _waiting_curve(sides: Sequence[Side]) -> str:
    """Return which part of the jobs waited at most how long."""
    lines = []
    for number, side in enumerate(sides):
        waited = sorted(w for life in side.outcome.lives if (w := life.waited_s) is not None)
        step = max(1, len(waited) // 400)
        points = [(value, (index + 1) / len(waited)) for index, value in enumerate(waited)]
        thin = [(0.0, 0.0), *points[::step], *points[-1:]]
        lines.append(Line(side.label, tuple(thin), COLOURS[number], dashed=number > 0))
    longest = max((w.most_s or 0.0 for side in sides for w in side.summary.waits[:1]), default=0.0)
    return lines_chart("Waiting", lines, _waiting_axis(longest), even("part of the jobs", 1.0, _percent))


def _waiting_bars(sides: Sequence[Side]) -> str:
    """Return what nine of ten jobs of each class waited at most."""
    by_label: list[dict[str, Waits]] = [{w.label: w for w in side.summary.waits} for side in sides]
    names = [label for label in by_label[0] if all(label in other for other in by_label)]
    groups = [(side.label, [found[n].p90_s or 0.0 for n in names]) for side, found in zip(sides, by_label, strict=True)]
    longest = max((value for _, values in groups for value in values), default=0.0)
    title = "Nine of ten waited at most, by class"
    shown = [name.removeprefix("size: ").removeprefix("queue: ") for name in names]
    return bars_chart(title, shown, groups, _waiting_axis(longest))


def _used(sides: Sequence[Side]) -> str:
    """Return the part of the cluster that was held."""
    lines = []
    for number, side in enumerate(sides):
        times = side.outcome.times
        held = [sum(series[i] for series in times.used.values()) for i in range(len(times.capacity))]
        parts = [h / c if c else 0.0 for h, c in zip(held, times.capacity, strict=True)]
        lines.append(Line(side.label, _over_time(side.outcome, parts), COLOURS[number], dashed=number > 0))
    what = "GPUs" if sides[0].outcome.times.unit == "gpu" else "cores"
    return lines_chart(f"{what} in use", lines, _time_axis(sides), even("part of what there is", 1.0, _percent))


def _pending(sides: Sequence[Side]) -> str:
    """Return how many jobs waited."""
    lines, most = [], 0.0
    for number, side in enumerate(sides):
        times = side.outcome.times
        waiting = [sum(series[i] for series in times.pending.values()) for i in range(len(times.capacity))]
        most = max([most, *waiting])
        lines.append(Line(side.label, _over_time(side.outcome, waiting), COLOURS[number], dashed=number > 0))
    return lines_chart("Jobs that wait", lines, _time_axis(sides), even("jobs", most, lambda v: f"{v:g}"))


def _shares(side: Side, sides: Sequence[Side]) -> str:
    """Return what each queue held over time, one on top of the other."""
    times = side.outcome.times
    busiest = sorted(times.used, key=lambda queue: (-sum(times.used[queue]), queue))
    shown = [(str(queue), list(times.used[queue])) for queue in busiest[:_MOST_LINES]]
    rest = [times.used[queue] for queue in busiest[_MOST_LINES:]]
    if rest:
        shown.append(("others", [sum(series[i] for series in rest) for i in range(len(times.capacity))]))
    floor = [0.0] * len(times.capacity)
    lines = []
    for number, (name, series) in enumerate(shown):
        top = [low + value for low, value in zip(floor, series, strict=True)]
        points = _over_time(side.outcome, top)
        colour = COLOURS[min(number, len(COLOURS) - 1)]
        lines.append(Line(name, points, colour, filled=True, floor=tuple(f for f in floor for _ in range(2))))
        floor = top
    unit = "GPUs" if times.unit == "gpu" else "cores"
    title = f"{unit} by queue, {side.label}" if len(sides) > 1 else f"{unit} by queue"
    high = max(value for one in sides for value in one.outcome.times.capacity)
    return lines_chart(title, lines[: _MOST_LINES + 1], _time_axis(sides), even("", high, lambda v: f"{v:g}"))


def _over_time(outcome: Outcome, values: Sequence[float]) -> tuple[tuple[float, float], ...]:
    """Return steps: a value holds over its span."""
    span, end = outcome.times.span_s, (outcome.until - outcome.begin).total_seconds()
    pairs = ((index * span, min((index + 1) * span, end), value) for index, value in enumerate(values))
    return tuple(point for start, stop, value in pairs for point in ((start, value), (stop, value)))


def _time_axis(sides: Sequence[Side]) -> Axis:
    end = max((side.outcome.until - side.outcome.begin).total_seconds() for side in sides)
    unit, name = next(
        ((s, n) for s, n in ((86_400, "days"), (3600, "hours"), (60, "minutes")) if end >= 3 * s), (1, "s")
    )
    axis = even(f"{name} since the first submission", end / unit, lambda value: f"{value:g}")
    return Axis(axis.label, tuple((v * unit, t) for v, t in axis.ticks), lambda value: axis.place(value / unit))


def _waiting_axis(longest: float) -> Axis:
    """Return an axis of waiting: equal steps from mark to mark."""
    marks = [0.0, *(float(m) for m, _ in _TIMES)]
    last = next((i for i, mark in enumerate(marks) if mark >= longest), len(marks) - 1)
    marks = marks[: max(last, 1) + 1]

    def place(value: float) -> float:
        index = next((i for i in range(1, len(marks)) if value <= marks[i]), len(marks) - 1)
        low, high = marks[index - 1], marks[index]
        return min(1.0, (index - 1 + (value - low) / (high - low)) / (len(marks) - 1))

    texts = ["0", *(text for _, text in _TIMES)]
    return Axis("waited", tuple(zip(marks, texts, strict=False)), place)


def _percent(value: float) -> str:
    return f"{100 * value:.0f}%"


def _height(chart: str) -> int:
    return int(float(chart.split('height="', 1)[1].split('"', 1)[0]))
