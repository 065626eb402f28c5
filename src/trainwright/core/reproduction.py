"""Making a run again: how surely it is the same, what stands against it, and how near its numbers have to come."""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from trainwright.core.ids import RunId

_PERCENT = re.compile(r"(?P<number>[-+.0-9eE]+) ?%")


class Grade(StrEnum):
    """How far a run can be made again; from the best to the worst."""

    EXACT = "exact"  # nothing is known that could make a difference
    SAME_ENVIRONMENT = "same-environment"  # code, data, parameters and packages are equal; something is not held fixed
    BEST_EFFORT = "best-effort"  # something is known to differ


_ORDER = tuple(Grade)


@dataclass(frozen=True, slots=True)
class Gap:
    """One thing that could not be restored, or is not held fixed.

    Attributes:
        part: of the fingerprint: ``environment``, ``hardware``, ``seed``, ``data``, ``code``, ``steps``, ``checks``.
        sentence: what it is, with its numbers.
        best: the best grade that is possible with it.
    """

    part: str
    sentence: str
    best: Grade


def grade_of(gaps: Iterable[Gap]) -> Grade:
    """Return the grade of a run with these gaps: that of the worst."""
    return max((gap.best for gap in gaps), key=_ORDER.index, default=Grade.EXACT)


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far the value of a metric may be from the original's.

    Attributes:
        amount: a distance; when relative, a part of the original value, 0.01 for one per cent.
    """

    amount: float
    relative: bool = False

    def allows(self, before: float, now: float) -> bool:
        """Tell whether ``now`` is near enough to ``before``; not a number is equal to itself here, infinity too."""
        if math.isnan(before) or math.isnan(now):
            return math.isnan(before) and math.isnan(now)
        if math.isinf(before) or math.isinf(now):
            return before == now
        # Two decimal numbers whose distance is just the tolerance pass, whatever binary fractions make of them.
        most = self.amount * abs(before) if self.relative else self.amount
        distance = abs(now - before)
        return distance <= most or (most > 0 and math.isclose(distance, most, rel_tol=1e-9))

    def __str__(self) -> str:
        if not self.amount:
            return "exact"
        return f"{self.amount * 100:.6g}%" if self.relative else f"{self.amount:.6g}"


EXACTLY = Tolerance(0.0)
"""What holds for a metric without a tolerance of its own."""


def tolerance_of(value: object) -> Tolerance:
    """Return the tolerance that somebody wrote: ``0.001``, or ``1%`` of the original value.

    Raises:
        ValueError: it is neither, or negative, or not finite.
    """
    relative = False
    number = value
    if isinstance(value, str):
        percent = _PERCENT.fullmatch(value.strip())
        relative, number = percent is not None, percent["number"] if percent else value.strip()
    try:
        amount = math.nan if isinstance(number, bool) else float(number)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        amount = math.nan
    if not math.isfinite(amount) or amount < 0:
        raise ValueError(f"{value!r} is no tolerance: write a distance, such as 0.001, or a part, such as 1%")
    return Tolerance(amount / 100 if relative else amount, relative)


@dataclass(frozen=True, slots=True)
class Reproduced:
    """What a run makes again.

    Attributes:
        run: the original.
        grade: how surely it is the same, as found before it started.
        gaps: why it is not surer.
        tolerance: ``step.metric`` or ``metric`` → how far it may be off; what is absent has to be equal.
        record: content with the records of the original, where they came in a restored folder; empty where they are in
            the project.
    """

    run: RunId
    grade: Grade
    gaps: tuple[Gap, ...] = ()
    tolerance: Mapping[str, Tolerance] = field(default_factory=dict)
    record: str = ""
