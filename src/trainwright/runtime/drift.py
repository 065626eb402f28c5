"""``tw.drift``: how far the columns of a table have moved from those of an earlier one, as metrics of the step."""

from __future__ import annotations

import sys

from trainwright.runtime import calls
from trainwright.runtime.frames import frame

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

BINS = 10
FLOOR = 1e-4
"""What the share of an empty bin counts as, so that its logarithm is finite."""

_SHOWN = 5


def drift(
    table: Any, reference: Any, *, columns: Sequence[str] | None = None, bins: int = BINS, name: str = "drift"
) -> dict[str, float]:
    """Compare the columns that two tables share; log the figures as metrics, and return them.

    Of each column: ``NAME.COLUMN.psi`` and ``NAME.COLUMN.null_rate_change``; of numbers also ``.ks``, of anything else
    ``.total_variation``. Of the tables: ``NAME.max_psi``, ``NAME.row_ratio``, ``NAME.columns_added``,
    ``NAME.columns_removed``. A figure of a column without a value on one side is NaN, which passes no gate.

    Args:
        table: of now: of pandas, polars or Arrow, a ``tw.Dataset``, or a path.
        reference: the earlier one.
        columns: to compare; all that both have by default.
        bins: into which numbers are counted, see :func:`psi_of_numbers`.
        name: what the metrics begin with.

    Raises:
        KeyError: one of ``columns`` is not in both.
    """
    new, old = frame(table), frame(reference)
    shared = [column for column in new.columns if column in old.columns]
    for column in columns or ():
        if column not in shared:
            raise KeyError(f"the column {column} is not in both tables; in both are {', '.join(map(str, shared))}")
    found: dict[str, float] = {
        f"{name}.row_ratio": len(new) / len(old) if len(old) else float("nan"),
        f"{name}.columns_added": len(new.columns) - len(shared),
        f"{name}.columns_removed": len(old.columns) - len(shared),
    }
    moved: dict[str, float] = {}
    for column in list(columns or shared):
        figures = _of_column(new[column], old[column], bins)
        moved[str(column)] = figures["psi"]
        found.update({f"{name}.{column}.{word}": value for word, value in figures.items()})
    if moved:
        found[f"{name}.max_psi"] = max(moved.values(), key=lambda value: (value != value, value))  # noqa: PLR0124 - NaN
    calls.log(None, **found)
    order = sorted(moved, key=lambda column: -moved[column])
    largest = ", ".join(f"{column} {moved[column]:.3g}" for column in order[:_SHOWN])
    sys.stderr.write(f"{name}: {len(moved)} columns compared; population stability index: {largest or 'none'}\n")
    return found


def psi(expected: Sequence[float], actual: Sequence[float]) -> float:
    """Return the population stability index of two lists of shares: Σ (a - e) · ln(a / e).

    A share below ``FLOOR`` counts as ``FLOOR``. Common reading: below 0.1 stable, above 0.25 moved. Source: N. Siddiqi,
    *Credit Risk Scorecards* (2006); it is the Jeffreys divergence (H. Jeffreys, 1946) of the binned shares.
    """
    from math import log

    pairs = [(max(e, FLOOR), max(a, FLOOR)) for e, a in zip(expected, actual)]
    return sum((a - e) * log(a / e) for e, a in pairs)


def psi_of_numbers(new: Any, old: Any, bins: int = BINS) -> float:
    """Return the index of numbers, counted into bins of equal counts in ``old``.

    The inner edges are the values of ``old`` at the ranks i / ``bins`` (the lower one between two), each once; a bin
    ends with its edge, and the first and last are open. Where ``old`` has no more than ``bins`` distinct numbers, they
    are counted value by value.

    Args:
        new: array without NaN, not empty.
        old: likewise.
        bins: at least 2.
    """
    import numpy as np

    distinct = np.unique(old)
    if len(distinct) <= bins:
        return psi(*_shares(old.tolist(), new.tolist()))
    edges = np.unique(np.quantile(old, [i / bins for i in range(1, bins)], method="lower"))
    counts = [np.bincount(np.searchsorted(edges, v, side="left"), minlength=len(edges) + 1) for v in (old, new)]
    return psi((counts[0] / len(old)).tolist(), (counts[1] / len(new)).tolist())


def kolmogorov_smirnov(new: Any, old: Any) -> float:
    """Return the largest distance of the two empirical distribution functions: sup |F_new(x) - F_old(x)|.

    Source: N. Smirnov (1939); the statistic of the two-sample Kolmogorov-Smirnov test.

    Args:
        new: array without NaN, not empty.
        old: likewise.
    """
    import numpy as np

    points = np.concatenate([new, old])
    shares = [np.searchsorted(np.sort(values), points, side="right") / len(values) for values in (new, old)]
    return float(np.max(np.abs(shares[0] - shares[1])))


def total_variation(expected: Sequence[float], actual: Sequence[float]) -> float:
    """Return half the sum of the differences of shares, ½ Σ |a - e|: from 0, equal, to 1, nothing in common."""
    return sum(abs(a - e) for e, a in zip(expected, actual)) / 2


def _of_column(new: Any, old: Any, bins: int) -> dict[str, float]:
    from pandas.api import types

    def is_number(values: Any) -> bool:
        return bool(types.is_numeric_dtype(values) and not types.is_bool_dtype(values))

    numbers = is_number(new) and is_number(old)
    change = _null_rate(new) - _null_rate(old)
    new, old = new.dropna(), old.dropna()
    words = ("psi", "ks") if numbers else ("psi", "total_variation")
    if not len(new) or not len(old):
        return {**dict.fromkeys(words, float("nan")), "null_rate_change": change}
    if numbers:
        a, b = (values.to_numpy(dtype=float) for values in (new, old))
        figures = (psi_of_numbers(a, b, bins), kolmogorov_smirnov(a, b))
    else:
        shares = _shares(old.map(str).tolist(), new.map(str).tolist())
        figures = (psi(*shares), total_variation(*shares))
    return {**dict(zip(words, figures)), "null_rate_change": change}


def _null_rate(values: Any) -> float:
    return float(values.isna().mean()) if len(values) else 0.0


def _shares(old: list[Any], new: list[Any]) -> tuple[list[float], list[float]]:
    """Return the share of each value that either has, in one order."""
    from collections import Counter

    then, now = Counter(old), Counter(new)
    every = sorted({*then, *now})
    return [then[value] / len(old) for value in every], [now[value] / len(new) for value in every]
