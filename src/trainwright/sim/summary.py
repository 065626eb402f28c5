"""What a simulated load comes to in a few figures, by class of jobs, and two of them side by side."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from trainwright.sim.job import Life
from trainwright.sim.outcome import Outcome

MOST_QUEUES = 8
"""Queues with a line of their own, the busiest ones; the rest share one."""

_SIZES = ((0, "no gpu"), (999, "part of a gpu"), (1000, "1 gpu"), (2000, "2 gpus"), (4000, "3-4 gpus"),
          (8000, "5-8 gpus"))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Waits:
    """How long jobs of one class waited, all their waiting between submission and end together.

    Attributes:
        label: ``all``, ``size: 1 gpu``, ``queue: ads``, ``priority: 100``.
        unfinished: jobs among them that never ended; their waiting is not counted.
        p50_s, p90_s, p99_s, most_s: seconds; None where none finished.
        took_s: mean seconds from submission to end.
    """

    label: str
    jobs: int
    unfinished: int
    p50_s: float | None
    p90_s: float | None
    p99_s: float | None
    most_s: float | None
    took_s: float | None


@dataclass(frozen=True, slots=True)
class Summary:
    """One outcome in figures.

    Attributes:
        utilisation: part of what there was that was held, 0 to 1, up to the last end; None without capacity.
        wasted: part of what was held that came to nothing: work done twice, restarts, saving.
        fairness: Jain's index of what queues held, divided by their weights, while they had work waiting: 1 = as their
            weights say, 1/n = one of n had everything; None when never two of them waited at a time.
        makespan_s: from the first submission to the last end.
        preemptions: times that a job was told to leave and did.
        preempted_jobs: jobs that this happened to.
        stuck: reason → jobs that could never start, or not again.
        rounds: of scheduling.
    """

    unit: str
    jobs: int
    finished: int
    utilisation: float | None
    wasted: float
    fairness: float | None
    makespan_s: float
    preemptions: int
    preempted_jobs: int
    waits: tuple[Waits, ...]
    stuck: tuple[tuple[str, int], ...]
    rounds: int


def summarise(outcome: Outcome) -> Summary:
    """Return the figures of an outcome."""
    lives = outcome.lives
    finished = [life for life in lives if life.finished_at is not None]
    first = min((life.queued_at for life in lives), default=outcome.begin)
    held_s = sum(life.held_s * _weight(life) for life in lives)
    return Summary(
        unit=outcome.times.unit,
        jobs=len(lives),
        finished=len(finished),
        utilisation=outcome.used_s / outcome.capacity_s if outcome.capacity_s else None,
        wasted=sum(life.lost_s * _weight(life) for life in lives) / held_s if held_s else 0.0,
        fairness=fairness(outcome),
        makespan_s=max(0.0, (outcome.until - first).total_seconds()),
        preemptions=sum(len(life.preempted_at) for life in lives),
        preempted_jobs=sum(bool(life.preempted_at) for life in lives),
        waits=tuple(waits(label, chosen) for label, chosen in classes(lives)),
        stuck=_stuck(lives),
        rounds=outcome.rounds,
    )


def fairness(outcome: Outcome) -> float | None:
    """Return Jain's index of weighted shares, the mean over the time in which two queues or more had work waiting."""
    times = outcome.times
    total, spans = 0.0, 0
    for index in range(len(times.capacity)):
        waiting = [queue for queue, series in times.pending.items() if series[index] > _SCARCELY]
        if len(waiting) < 2:  # noqa: PLR2004 - one alone has nobody to share with
            continue
        shares = [times.used[q][index] / outcome.weights[q] if q in times.used else 0.0 for q in waiting]
        squares = sum(share * share for share in shares)
        total += sum(shares) ** 2 / (len(shares) * squares) if squares else 1.0
        spans += 1
    return total / spans if spans else None


_SCARCELY = 0.5
"""Jobs that wait, as a mean over a span: fewer, and the queue had what it wanted most of the time."""


def classes(lives: Sequence[Life]) -> Iterable[tuple[str, list[Life]]]:
    """Yield the jobs of each class: all, by size of the gang, queue and priority; kinds with one class are left out."""
    yield "all", list(lives)
    names = [name for _, name in _SIZES] + ["9 gpus or more"]
    yield from _kinds("size", [(size_of(life), life) for life in lives], names)
    by_queue: dict[str, list[Life]] = {}
    for life in lives:
        by_queue.setdefault(life.job.queue, []).append(life)
    busiest = sorted(by_queue, key=lambda name: (-len(by_queue[name]), name))[:MOST_QUEUES]
    of_queue = [(str(life.job.queue) if life.job.queue in busiest else "others", life) for life in lives]
    yield from _kinds("queue", of_queue, [*sorted(busiest), "others"])
    priorities = sorted({life.job.priority for life in lives}, reverse=True)
    yield from _kinds("priority", [(str(life.job.priority), life) for life in lives], [str(p) for p in priorities])


def size_of(life: Life) -> str:
    """Return the class of a job by the GPUs of its whole gang."""
    milli = life.job.gpu_milli
    return next((name for most, name in _SIZES if milli <= most), "9 gpus or more")


def waits(label: str, lives: Sequence[Life]) -> Waits:
    """Return how long these jobs waited."""
    waited = sorted(life.waited_s for life in lives if life.waited_s is not None)
    took = [life.took_s for life in lives if life.took_s is not None]
    return Waits(
        label=label,
        jobs=len(lives),
        unfinished=len(lives) - len(waited),
        p50_s=quantile(waited, 0.5),
        p90_s=quantile(waited, 0.9),
        p99_s=quantile(waited, 0.99),
        most_s=waited[-1] if waited else None,
        took_s=sum(took) / len(took) if took else None,
    )


def quantile(ordered: Sequence[float], part: float) -> float | None:
    """Return the smallest value that at least this part of the values does not exceed; None without values."""
    if not ordered:
        return None
    return ordered[max(0, -int(-part * len(ordered) // 1) - 1)]


def _kinds(what: str, named: list[tuple[str, Life]], order: list[str]) -> Iterable[tuple[str, list[Life]]]:
    found: dict[str, list[Life]] = {}
    for name, life in named:
        found.setdefault(name, []).append(life)
    if len(found) > 1:
        yield from ((f"{what}: {name}", found[name]) for name in order if name in found)


def _weight(life: Life) -> int:
    """Return what an hour of a job counts: its GPUs, or its cores where it has none."""
    return life.job.gpu_milli or sum(p.asked.cpu_milli * p.count for p in life.job.shape.pod_sets)


def _stuck(lives: Iterable[Life]) -> tuple[tuple[str, int], ...]:
    counts: dict[str, int] = {}
    for life in lives:
        if life.finished_at is None:
            why = life.reason.sentence() if life.reason is not None else "the load ended before"
            counts[why] = counts.get(why, 0) + 1
    return tuple(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
