"""The figures of a simulation as lines of a table, before and after beside one another."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from trainwright.core.quantity import show_duration
from trainwright.sim.outcome import Outcome
from trainwright.sim.summary import Summary, Waits


@dataclass(frozen=True, slots=True)
class Side:
    """One simulation with the name of its column: ``before``, ``after``."""

    label: str
    outcome: Outcome
    summary: Summary


def figures(sides: Sequence[Side]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each figure with its text on every side."""
    unit = "GPUs" if sides[0].summary.unit == "gpu" else "cores"
    rows: tuple[tuple[str, Callable[[Summary], str]], ...] = (
        ("jobs that ended", lambda s: f"{s.finished} of {s.jobs}"),
        (f"{unit} in use", lambda s: _percent(s.utilisation)),
        ("of that for nothing", lambda s: _percent(s.wasted)),
        ("fairness", lambda s: "-" if s.fairness is None else f"{s.fairness:.3f}"),
        ("makespan", lambda s: show_duration(s.makespan_s)),
        ("submission to end, mean", lambda s: _time(s.waits[0].took_s)),
        ("preemptions", lambda s: f"{s.preemptions} of {s.preempted_jobs} jobs" if s.preemptions else "0"),
    )
    for name, read in rows:
        yield name, tuple(read(side.summary) for side in sides)


def waiting(sides: Sequence[Side]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return the columns and lines of the table of waiting times by class."""
    which: tuple[tuple[str, Callable[[Waits], float | None]], ...] = (
        ("p50", lambda w: w.p50_s),
        ("p90", lambda w: w.p90_s),
        ("p99", lambda w: w.p99_s),
        ("longest", lambda w: w.most_s),
    )
    found: list[dict[str, Waits]] = [{w.label: w for w in side.summary.waits} for side in sides]
    labels = list(dict.fromkeys(label for waits in found for label in waits))
    many = len(sides) > 1
    columns = [f"{name} {side.label}" if many else name for name, _ in which for side in sides]
    lines = []
    for label in labels:
        first = next(waits[label] for waits in found if label in waits)
        cells = [_time(read(waits[label])) if label in waits else "-" for _, read in which for waits in found]
        lines.append((label, str(first.jobs), *cells))
    return ("waiting of", "jobs", *columns), lines


def _time(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    return "0" if seconds < 0.05 else show_duration(seconds)  # noqa: PLR2004 - what would show as 0.0s


def _percent(part: float | None) -> str:
    return "-" if part is None else f"{100 * part:.1f}%"
