"""Several runs side by side: one line a parameter or metric, one column a run."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from trainwright.core.codec import to_json
from trainwright.core.run import Run
from trainwright.core.scalar import Plain
from trainwright.service.context import Context
from trainwright.service.lookup import find_run
from trainwright.service.metrics import final
from trainwright.store import runs

_SMALLER_IS_BETTER = ("loss", "error", "err", "mse", "rmse", "mae", "perplexity", "seconds", "latency")


@dataclass(frozen=True, slots=True)
class Line:
    """One parameter or metric of all runs.

    Attributes:
        part: ``param`` or ``metric``.
        values: JSON values, one a run; None where it has none.
        best: places of the best runs; empty for parameters, and where nothing is a number.
    """

    part: str
    name: str
    values: tuple[Plain, ...]
    best: tuple[int, ...] = ()

    @property
    def equal(self) -> bool:
        """Tell whether all runs agree."""
        first = self.values[0]
        return all(type(value) is type(first) and value == first for value in self.values)


def side_by_side(context: Context, names: Sequence[str], metrics: str = "*") -> tuple[list[Run], list[Line]]:
    """Return the runs, and their parameters and metrics, equal ones included.

    The best value of a metric is its largest; the smallest of what is named after a loss, an error or a time.

    Args:
        context: of the project.
        names: as people name runs.
        metrics: a pattern such as ``evaluate.*``; a name without a step fits those of every step.

    Raises:
        NotFoundError, SpecError: as ``find_run``.
    """
    with context.database.reading() as rows:
        views = [runs.view(rows, find_run(rows, context.project, name).id) for name in names]
    params = [view.run.params for view in views]
    logged = [{(s, n): v for s, each in final(view).items() for n, v in each.items()} for view in views]
    lines = [Line("param", name, tuple(p.get(name) for p in params)) for name in _ordered(params)]
    for step, name in _ordered(logged):
        if fnmatchcase(f"{step}.{name}", metrics) or fnmatchcase(name, metrics):
            values = [each.get((step, name)) for each in logged]
            lines.append(Line("metric", f"{step}.{name}", tuple(map(to_json, values)), _best(name, values)))
    return [view.run for view in views], lines


def _ordered(named: Iterable[Iterable]) -> list:  # type: ignore[type-arg]
    """Return every key, in the order of first appearance."""
    return list(dict.fromkeys(key for each in named for key in each))


def is_less_better(metric: str) -> bool:
    """Tell whether the smallest value of a metric is its best, by its name."""
    words = metric.lower().replace("-", "_").replace("/", "_").replace(".", "_").split("_")
    return any(word in _SMALLER_IS_BETTER for word in words)


def _best(metric: str, values: Sequence[float | None]) -> tuple[int, ...]:
    numbers = [v for v in values if v is not None and not math.isnan(v)]
    if len(set(numbers)) < 2:  # noqa: PLR2004 - of equals none is best
        return ()
    best = min(numbers) if is_less_better(metric) else max(numbers)
    return tuple(place for place, value in enumerate(values) if value == best)
