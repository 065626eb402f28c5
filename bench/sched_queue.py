"""What the order within a queue and time slicing are worth, on queues of gangs that others have measured (table Q1).

Each job of a list needs its seconds on all its GPUs at once: up to 8 of them on one node, more on whole nodes and a
rest. All of it goes through ``schedule`` with the default policy: every job says that it may be sliced by time and that
a restart costs nothing; ``known`` says how long it will run, ``unknown`` says nothing and learns from those that ended.
Beside them FIFO, EASY, 2D-LAS (knows no run times) and SRSF (knows them) on the same lists, counting GPUs and not
nodes, which flatters them. ``jct`` is the mean time from submission to end in seconds, ``makespan`` a ratio to
its bound. ``restarts`` are the same queues where a restart costs 60 s, so that who runs keeps its room for 30 minutes.
Prints one JSON object last.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from queue_baselines import BASELINES
from queue_traces import Jobs, dropped, makespan_bound, philly_week, trace
from queue_world import run

TRACES = Path("/work/shared/traces")
WEEKS = ("2017-10-02", "2017-10-16", "2017-10-23", "2017-11-20")
BOUNDS = {  # by trace: known jct and makespan, unknown jct
    "1": (952e3, 1.10, 1904e3),
    "2": (2145e3, 1.04, 4648e3),
    "3": (173e3, 1.00, 295e3),
    "4": (469e3, 1.10, 948e3),
}


def main() -> None:
    """Run the rows in two processes and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--traces", type=Path, default=TRACES, help="folder with muri-philly-2022 and philly-sia-2023")
    parser.add_argument("--quick", action="store_true", help="the first jobs of two lists")
    parser.add_argument("--traces-only", default="", help="these of Muri's lists alone, without weeks and copies: 1,3")
    parser.add_argument("--processes", type=int, default=2)
    args = parser.parse_args()
    rows = rows_of(args.traces, args.traces_only.split(",") if args.traces_only else [], quick=args.quick)
    figures: dict[str, object] = {}
    with ProcessPoolExecutor(args.processes) as pool:
        for name, found in zip([r[0] for r in rows], pool.map(measured, rows), strict=True):
            print(name, json.dumps(found), file=sys.stderr, flush=True)
            figures.update({f"{name}.{key}": value for key, value in found.items()})
    print(json.dumps({"bench": "sched_queue", "quick": args.quick, "figures": figures, "missed": missed(figures)}))


Row = tuple[str, str, Callable[[], Jobs], int]


def rows_of(folder: Path, only: list[str], *, quick: bool) -> list[tuple]:
    """Return what is to be measured: name, way, source of the jobs, nodes; the longest first."""
    muri, sia = folder / "muri-philly-2022", folder / "philly-sia-2023"
    rows: list[tuple] = []
    for k in only or (["3", "4"] if quick else ["2", "1", "4", "3"]):
        source = ("trace", muri, k, 400 if quick else 0)
        for way in ("unknown", "known"):
            rows.append((f"q1.{k}.{way}", way, source, 8))
        for way in ("unknown", "known"):
            if not (quick and way == "unknown"):
                rows.append((f"restarts.{k}.{way}", f"{way}-60", source, 8))
        rows += [(f"q1.{k}.{name}", name, source, 8) for name in BASELINES]
    if only or quick:
        return rows
    for week in WEEKS:
        rows += [(f"week.{week}.{way}", way, ("week", sia, week, 0), 40) for way in ("unknown", "known", "las", "srsf")]
    for k in ("1", "3", "4"):
        rows += [(f"dropped.{k}.{way}", way, ("dropped", muri, k, 0), 8) for way in ("unknown", "known", "las", "srsf")]
    return rows


def measured(row: tuple) -> dict:
    """Return the figures of one row."""
    _, way, (kind, folder, which, first), nodes = row
    jobs = {"trace": trace, "week": philly_week, "dropped": dropped}[kind](folder, which)
    jobs = jobs[:first] if first else jobs
    began = time.process_time()
    if way in BASELINES:
        ends, starts, rounds = BASELINES[way](jobs, nodes * 8), len(jobs), 0
    else:
        known, restart_s = way.startswith("known"), 60.0 if way.endswith("-60") else 0.0
        ends, starts, rounds = run(jobs, nodes, known=known, restart_s=restart_s)
    times = sorted(end - job.at for end, job in zip(ends, jobs, strict=True))
    span = max(ends) - min(job.at for job in jobs)
    figures = {
        "jct": round(sum(times) / len(times)),
        "makespan": round(span / makespan_bound(jobs, nodes * 8), 4),
        "p99": round(times[int(len(times) * 0.99)]),
        "longest_wait": round(max(end - job.at - job.work_s for end, job in zip(ends, jobs, strict=True))),
    }
    if way not in BASELINES:
        figures["preemptions_a_job"] = round((starts - len(jobs)) / len(jobs), 3)
        figures["rounds"] = rounds
    figures["cpu_s"] = round(time.process_time() - began, 1)
    return figures


def missed(figures: dict) -> list[str]:
    """Return the bounds that were not kept, in words."""
    wanted: list[tuple[str, float]] = []
    for k, (known, makespan, unknown) in BOUNDS.items():
        wanted += [(f"q1.{k}.known.jct", known), (f"q1.{k}.known.makespan", makespan), (f"q1.{k}.unknown.jct", unknown)]
    for name in {name.rsplit(".", 2)[0] for name in figures if name.startswith(("week", "dropped"))}:
        wanted.append((f"{name}.known.jct", 1.02 * figures[f"{name}.srsf.jct"]))
        wanted.append((f"{name}.unknown.jct", figures[f"{name}.las.jct"]))
    return [
        f"{name}: {figures[name]} > {bound:g}"
        for name, bound in sorted(wanted)
        if name in figures and figures[name] > bound
    ]


if __name__ == "__main__":
    main()
