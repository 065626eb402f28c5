"""Metric series: append-only files of attempts, read as they are."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trainwright.core.codec import decode_float
from trainwright.core.run import Attempt, RunView
from trainwright.service.context import Context

EVENTS = "events.jsonl"
USAGE = "usage.jsonl"
LOG = "log"


@dataclass(frozen=True, slots=True)
class Point:
    """One value of one metric.

    Attributes:
        at_s: seconds since the epoch, UTC.
        step: given by the script; None without one.
    """

    name: str
    value: float
    step: int | None
    at_s: float


@dataclass(frozen=True, slots=True)
class Live:
    """What a running attempt has said so far.

    Attributes:
        metrics: last value of each, in order of first appearance.
        done, total: of its progress; 0 of 0 when it reports none.
    """

    metrics: dict[str, float]
    done: float = 0.0
    total: float = 0.0


def series(context: Context, attempt: Attempt) -> list[Point]:
    """Return every point an attempt logged, in order; empty when it logged none. A reused one has its origin's."""
    return [
        Point(name, decode_float(value), line.get("s"), line["t"])
        for line in _lines(folder_of(context, attempt) / EVENTS)
        if line["k"] == "metric"
        for name, value in line["v"].items()
    ]


def merged(context: Context, attempts: Sequence[Attempt]) -> list[tuple[Attempt, Point]]:
    """Return what all attempts at one step logged, as one series: no name has a step twice.

    An attempt that goes on from a checkpoint takes the place of what an earlier one logged at the same steps and after
    them. Of points without a step only those of the last attempt that logged any stand.

    Args:
        context: of the project.
        attempts: at one step, oldest first.
    """
    found: list[tuple[Attempt, Point]] = []
    for attempt in attempts:
        points = series(context, attempt)
        begins: dict[str, int] = {}
        for point in points:
            step = -1 if point.step is None else point.step
            begins[point.name] = min(step, begins.get(point.name, step))
        found = [
            (other, p) for other, p in found if p.name not in begins or (p.step is not None and p.step < begins[p.name])
        ]
        found += [(attempt, point) for point in points]
    return found


def live(context: Context, attempt: Attempt) -> Live:
    """Return the latest that an attempt said."""
    metrics: dict[str, float] = {}
    done = total = 0.0
    for line in _lines(context.backend.folder(attempt.id) / EVENTS):
        if line["k"] == "metric":
            metrics.update({name: decode_float(value) for name, value in line["v"].items()})
        elif line["k"] == "progress":
            done, total = float(line["d"]), float(line["n"])
    return Live(metrics, done, total)


def usage(context: Context, attempt: Attempt) -> list[dict[str, Any]]:
    """Return the samples of what an attempt used, oldest first: ``t``, ``cpu`` (cores), ``memory_bytes``, ``gpus``.

    An attempt that was over within a second has none.
    """
    return list(_objects(folder_of(context, attempt) / USAGE))


def log_file(context: Context, attempt: Attempt) -> Path:
    """Return where the output of an attempt's command is; it may not exist yet."""
    return folder_of(context, attempt) / LOG


def folder_of(context: Context, attempt: Attempt) -> Path:
    """Return the folder with what an attempt wrote; that of its origin for one that was reused and never ran."""
    return context.backend.folder(attempt.origin or attempt.id)


def tail(context: Context, attempt: Attempt, lines: int) -> list[str]:
    """Return the last lines of an attempt's output."""
    path = log_file(context, attempt)
    if not path.is_file():
        return []
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - 65536))
        text = file.read().decode("utf-8", errors="replace")
    return text.splitlines()[-lines:] if lines else []


def final(view: RunView) -> dict[str, dict[str, float]]:
    """Return step → metric → last value of the latest attempts, in the plan's order."""
    found: dict[str, dict[str, float]] = {}
    for step in view.steps:
        attempt = view.latest(step.name)
        if attempt is not None and attempt.metrics:
            found[step.name] = {name: m.last for name, m in sorted(attempt.metrics.items())}
    return found


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    return (line for line in _objects(path) if "k" in line)


def _objects(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the complete lines; the last may be half written."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return
    for raw in data.splitlines():
        try:
            line = json.loads(raw)
        except ValueError:
            continue
        if isinstance(line, dict):
            yield line
