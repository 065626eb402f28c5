"""What ``sched_queue`` compares with: plain orders that count GPUs and know nothing of nodes."""

from collections.abc import Callable
from math import inf

from queue_traces import Jobs

_LAS_LIMITS = (3250.0, 7200.0, 18000.0)
"""GPU-seconds at which a job falls to the next queue of 2D-LAS, as its authors published them."""


def _fifo(jobs: Jobs, gpus: int) -> list[float]:
    """Strict order of submission; nobody passes."""
    return _queued(jobs, gpus, backfill=False)


def _easy(jobs: Jobs, gpus: int) -> list[float]:
    """FIFO where those may pass who do not delay the first in line; run times are known."""
    return _queued(jobs, gpus, backfill=True)


def _queued(jobs: Jobs, gpus: int, *, backfill: bool) -> list[float]:
    ends, line, running, come, now, free = [0.0] * len(jobs), [], {}, 0, 0.0, gpus
    while come < len(jobs) or line or running:
        now = min(jobs[come].at if come < len(jobs) else inf, min(running.values(), default=inf))
        for i in [i for i, end in running.items() if end <= now]:
            free += jobs[i].gpus
            ends[i] = running.pop(i)
        while come < len(jobs) and jobs[come].at <= now:
            line.append(come)
            come += 1
        while line and jobs[line[0]].gpus <= free:
            first = line.pop(0)
            free -= jobs[first].gpus
            running[first] = now + jobs[first].work_s
        if not backfill or not line:
            continue
        spare, shadow = _shadow(jobs, line[0], running, free)
        kept = line[:1]
        for at, i in enumerate(line[1:], 1):
            if not free:
                kept += line[at:]
                break
            ends_before = now + jobs[i].work_s <= shadow
            if jobs[i].gpus <= free and (ends_before or jobs[i].gpus <= spare):
                free -= jobs[i].gpus
                spare -= 0 if ends_before else jobs[i].gpus
                running[i] = now + jobs[i].work_s
            else:
                kept.append(i)
        line = kept
    return ends


def _shadow(jobs: Jobs, first: int, running: dict[int, float], free: int) -> tuple[int, float]:
    """Return what is left beside the first in line when it starts, and when that is."""
    for i in sorted(running, key=running.__getitem__):
        free += jobs[i].gpus
        if free >= jobs[first].gpus:
            return free - jobs[first].gpus, running[i]
    return free, inf


def _srsf(jobs: Jobs, gpus: int) -> list[float]:
    """The least remaining time × GPUs first."""
    return _preempting(jobs, gpus, lambda i, left, _: (left * jobs[i].gpus, i), lambda *_: inf)


def _las(jobs: Jobs, gpus: int) -> list[float]:
    """The queue of the least attained GPU-seconds first, in each by submission."""

    def level(served: float) -> int:
        return sum(served >= limit for limit in _LAS_LIMITS)

    def falls(i: int, served_s: float) -> float:
        served = served_s * jobs[i].gpus
        return next(((limit - served) / jobs[i].gpus + 1e-6 for limit in _LAS_LIMITS if limit > served), inf)

    return _preempting(jobs, gpus, lambda i, _, served: (level(served * jobs[i].gpus), i), falls)


def _preempting(
    jobs: Jobs, gpus: int, order: Callable[[int, float, float], tuple], falls: Callable[[int, float], float]
) -> list[float]:
    ends, left, served = [0.0] * len(jobs), [job.work_s for job in jobs], [0.0] * len(jobs)
    come, now = 0, jobs[0].at
    rank: dict[int, tuple] = {}
    line: list[int] = []
    while come < len(jobs) or line:
        while come < len(jobs) and jobs[come].at <= now:
            rank[come] = order(come, left[come], served[come])
            line.append(come)
            come += 1
        line.sort(key=rank.__getitem__)
        running, free = [], gpus
        for i in line:
            if jobs[i].gpus <= free:
                running.append(i)
                free -= jobs[i].gpus
                if not free:
                    break
        nxt = jobs[come].at - now if come < len(jobs) else inf
        step = min([nxt, *(left[i] for i in running), *(falls(i, served[i]) for i in running)])
        now += step
        for i in running:
            left[i] -= step
            served[i] += step
            if left[i] <= 1e-6:
                ends[i] = now
            rank[i] = order(i, left[i], served[i])
        line = [i for i in line if left[i] > 1e-6]
        if not line and come < len(jobs):
            now = max(now, jobs[come].at)
    return ends


BASELINES = {"fifo": _fifo, "easy": _easy, "las": _las, "srsf": _srsf}
