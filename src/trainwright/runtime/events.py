"""What a script told the runner, summed up: the attempt's append-only ``events.jsonl``.

One JSON object a line: ``{"t":…,"k":"metric","s":step or null,"v":{name: number}}``, ``{"k":"params","v":{…}}``,
``{"k":"progress","d":done,"n":total}``; NaN and infinities are words. A torn line is passed over.
"""

from __future__ import annotations

import math

from trainwright.runtime import plainjson

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

FILE = "events.jsonl"


class _Series:
    """One metric so far; ``low`` and ``high`` are over its numbers, NaN until there is one."""

    __slots__ = ("count", "high", "last", "last_step", "low")

    def __init__(self) -> None:
        self.last = self.low = self.high = math.nan
        self.count = 0
        self.last_step: int | None = None

    def add(self, value: float, step: int | None) -> None:
        """Take in the next point."""
        self.last = value
        self.last_step = step
        self.count += 1
        if not math.isnan(value):
            self.low = value if not self.low <= value else self.low
            self.high = value if not self.high >= value else self.high

    def facts(self) -> dict[str, Any]:
        """Return the JSON of ``core.run.MetricSummary``."""
        return {
            "last": plainjson.number(self.last),
            "low": plainjson.number(self.low),
            "high": plainjson.number(self.high),
            "count": self.count,
            "last_step": self.last_step,
        }


def summary(path: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the metrics, as JSON of ``core.run.MetricSummary`` by name, and the noted facts."""
    series: dict[str, _Series] = {}
    params: dict[str, Any] = {}
    for event in read(path):
        kind = event.get("k")
        if kind == "metric":
            for name, value in event["v"].items():
                series.setdefault(name, _Series()).add(float(value), event.get("s"))
        elif kind == "params":
            params.update(event["v"])
    return {name: one.facts() for name, one in sorted(series.items())}, params


def read(path: str, start: int = 0) -> Iterator[dict[str, Any]]:
    """Yield the events from byte ``start`` on; none when there is no such file."""
    try:
        file = open(path, "rb")  # noqa: SIM115 - closed below
    except FileNotFoundError:
        return
    with file:
        file.seek(start)
        for line in file:
            event = _event(line)
            if event is not None:
                yield event


def _event(line: bytes) -> dict[str, Any] | None:
    try:
        event = plainjson.loads(line)
    except ValueError:
        return None
    return event if isinstance(event, dict) and isinstance(event.get("v", {}), dict) else None
