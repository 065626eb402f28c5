"""How quickly a load is simulated: 100,000 jobs on 64 nodes with 8 GPUs each, in one process.

The load is made up: sizes and durations as they are common, arriving at 0.9 of what the cluster can do.
``jobs_per_s`` is jobs per second of CPU, from the load in hand to its outcome; ``memory_mib`` what the process holds at
the end; ``own_part`` the part of the time that is not the scheduler's: clock, books, what was decided carried out.
``overload_jobs_per_s`` is the same at 1.2 with a tenth of the jobs. Prints one JSON object last.
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path

from trainwright.core.node import Device, Node
from trainwright.core.resources import Resources
from trainwright.sched.policy import DEFAULT_POLICY
from trainwright.sched.round import schedule
from trainwright.sim.cluster import Cluster
from trainwright.sim.simulate import Manner, simulate
from trainwright.sim.synthetic import Asked, synthetic

NODES = 64
QUEUES = {"ads": 2.0, "search": 1.0, "maps": 1.0}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a fiftieth of the jobs, on an eighth of the nodes")
    parser.add_argument("--jobs", type=int, default=100_000)
    given = parser.parse_args()
    jobs = given.jobs // 50 if given.quick else given.jobs
    nodes = NODES // 8 if given.quick else NODES
    steady = measured(jobs, nodes, 0.9)
    overload = measured(jobs // 10, nodes, 1.2)
    figures = {"jobs": jobs, **steady, "memory_mib": memory_mib(), "overload_jobs_per_s": overload["jobs_per_s"]}
    print(json.dumps({"bench": "simulate", "figures": figures}))


def measured(jobs: int, count: int, part: float) -> dict:
    nodes = tuple(node(f"n{number:03d}") for number in range(count))
    load = synthetic(Asked(jobs, load=part, queues=QUEUES), nodes, seed=0)
    scheduling = [0.0]

    def decide(*args):
        began = time.process_time()
        decided = schedule(*args)
        scheduling[0] += time.process_time() - began
        return decided

    began = time.process_time()
    outcome = simulate(load, Cluster(nodes), DEFAULT_POLICY, Manner(decide=decide))
    took = time.process_time() - began
    assert all(life.finished_at for life in outcome.lives)
    waited = sorted(life.waited_s for life in outcome.lives)
    print(
        f"{jobs} jobs at {part}: {took:.1f} s, {outcome.rounds} rounds, p90 {waited[jobs * 9 // 10]:.0f} s",
        file=sys.stderr,
    )
    own = (took - scheduling[0]) / took
    return {
        "jobs_per_s": round(jobs / took),
        "own_part": round(own, 3),
        "own_us_per_job": round(1e6 * own * took / jobs),
    }


def node(name: str) -> Node:
    total = Resources(128_000, 1 << 40, 8000)
    cards = tuple(Device(index, "A100", 80 << 30, 1000, 80 << 30) for index in range(8))
    return Node(name, total, total, cards)


def memory_mib() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") // 2**20


if __name__ == "__main__":
    main()
