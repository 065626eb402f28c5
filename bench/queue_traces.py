"""Lists of jobs for ``sched_queue``."""

import csv
import gzip
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import NamedTuple


class Job(NamedTuple):
    """A gang that needs its seconds on all its GPUs at once; ``at`` in seconds."""

    at: float
    gpus: int
    work_s: float
    kin: str


Jobs = list[Job]
_SIBLINGS_S = 300.0


def trace(folder: Path, which: str) -> Jobs:
    """Return one of Muri's lists."""
    with gzip.open(folder / f"trace{which}.csv.gz", "rt") as file:
        rows = [
            (int(r["submit_time"]) / 1000, int(r["num_gpu"]), int(r["duration"]) / 1000) for r in csv.DictReader(file)
        ]
    return with_kin(rows)


def dropped(folder: Path, which: str) -> Jobs:
    """Return one of them with a fifth of the jobs left out by chance, the same every time."""
    chance = Random(20)
    return with_kin([job[:3] for job in trace(folder, which) if chance.random() >= 0.2])


def philly_week(folder: Path, first_day: str) -> Jobs:
    """Return the jobs that were submitted in seven days."""
    begin = datetime.fromisoformat(first_day)
    with gzip.open(folder / "philly.csv.gz", "rt") as file:
        rows = [
            (datetime.fromisoformat(r["timestamp"]), int(r["num_gpus"]), float(r["duration"]))
            for r in csv.DictReader(file)
        ]
    week = [(at, gpus, work) for at, gpus, work in rows if begin <= at < begin + timedelta(days=7) and work > 0]
    return with_kin([((at - begin).total_seconds(), gpus, work) for at, gpus, work in week])


def with_kin(rows: list[tuple[float, int, float]]) -> Jobs:
    """Return them in the order of their submission; those of one size that follow each other closely are kin."""
    last: dict[int, tuple[float, int]] = {}
    jobs, families = [], 0
    for at, gpus, work_s in sorted(rows, key=lambda row: row[0]):
        before = last.get(gpus)
        if before is not None and at - before[0] <= _SIBLINGS_S:
            family = before[1]
        else:
            family, families = families, families + 1
        last[gpus] = at, family
        jobs.append(Job(at, gpus, work_s, f"family-{family}"))
    return jobs


def makespan_bound(jobs: Jobs, gpus: int) -> float:
    """Return a length that no order can beat: the work that comes after any instant has to be done after it."""
    bound, work = 0.0, 0.0
    for job in reversed(jobs):
        work += job.gpus * job.work_s
        bound = max(bound, job.at + work / gpus, job.at + job.work_s)
    return bound - jobs[0].at
