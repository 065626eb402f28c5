"""What a scheduling round costs at scale: 10,000 nodes, 100,000 workloads that wait, 500 queues.

The cluster is full: 80,000 GPUs are held by 20,000 workloads. Measured, each with the memory of the rounds before, is
a round in which nothing has changed, one in which one workload has arrived that cannot start, and one in which 1,000
workloads have ended and 1,000 others start. ``first_round_s`` is a round without any memory. All of it is the pure
part: values in, decisions out; reading and writing the store is not in it. Prints one JSON object last.
"""

import argparse
import gc
import json
import resource
import statistics
import sys
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from trainwright.core.decision import Round
from trainwright.core.ids import AttemptId
from trainwright.core.node import Device, Node
from trainwright.core.queue import Cohort, Queue, QueueName, Quota
from trainwright.core.resources import Resources
from trainwright.core.snapshot import ClusterSnapshot, nodes_of, workloads_of
from trainwright.core.workload import Assignment, Contract, PodSet, Shape, Standing, Workload
from trainwright.sched.invariants import check
from trainwright.sched.memory import Memory
from trainwright.sched.policy import DEFAULT_POLICY
from trainwright.sched.room import Room, occupied
from trainwright.sched.round import schedule

GI = 2**30
NOW = datetime(2026, 1, 1, tzinfo=UTC)
GPUS = 8
A_QUEUE = 4  # kinds of steps that each queue has
SHAPES = tuple(
    Shape((PodSet(Resources(cpu * 1000, cpu * 4 * GI, gpus * 1000), count, count),))
    for cpu, gpus, count in ((4, 4, 1), (8, 4, 1), (8, 8, 1), (8, 8, 2), (4, 2, 2), (16, 8, 4), (4, 1, 1), (2, 1, 4))
)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of everything")
    size = 10 if parser.parse_args().quick else 1
    before_mib = memory_mib()
    world = full(10_000 // size, 100_000 // size, 500 // size)
    memory = Memory()
    first_s, decided = timed(world, NOW, memory)
    assert not decided.placements, "the cluster is full"
    gc.freeze()
    idle = [timed(world, later(1), memory)[0] for _ in range(5)]
    arrivals = []
    for number in range(5):
        new = waits(10**6 + number, 0)
        world = replace(world, pending=world.pending.plus({new.attempt: new}))
        took, decided = timed(world, later(2), memory)
        arrivals.append(took)
        assert new.attempt in decided.waiting
    admit = 1000 // size
    world = ended(world, admit)
    admit_s, decided = timed(world, later(3), memory)
    wrong = check(world, decided)
    assert not wrong, wrong[:3]
    figures = {
        "idle_round_ms": statistics.median(idle) * 1000,
        "arrival_round_ms": statistics.median(arrivals) * 1000,
        "admit_1000_s": admit_s,
        "admitted": len(decided.placements),
        "first_round_s": first_s,
        "memory_mib": memory_mib(),
        "memory_of_interpreter_mib": before_mib,
    }
    print(json.dumps({"bench": "sched_scale", "figures": {k: round(v, 3) for k, v in figures.items()}}))


def full(nodes: int, pending: int, queues: int) -> ClusterSnapshot:
    """Return a cluster in which everything is held, and queues in cohorts of twenty that want more."""
    total = Resources(64_000, 512 * GI, GPUS * 1000)
    cards = tuple(Device(i, "a100", 80 * GI, 1000, 80 * GI) for i in range(GPUS))
    empty = [Node(f"n{i:05}", total, total, cards) for i in range(nodes)]
    held = [
        replace(
            waits(i, queues, SHAPES[0]),
            attempt=AttemptId(f"h{i:06}"),
            standing=Standing(
                (Assignment(empty[i // 2].name, tuple(range(i % 2 * 4, i % 2 * 4 + 4))),), NOW - timedelta(hours=1)
            ),
        )
        for i in range(nodes * 2)
    ]
    own = nodes * GPUS * 1000 // queues
    declared = [Queue(QueueName(f"q{i}"), f"c{i // 20}", quotas={"gpu": Quota(own, 2 * own)}) for i in range(queues)]
    return ClusterSnapshot(
        nodes=nodes_of(*occupied(empty, held)),
        pending=workloads_of(*(waits(i, queues) for i in range(pending))),
        holding=workloads_of(*held),
        queues={queue.name: queue for queue in declared},
        cohorts={queue.cohort: Cohort(queue.cohort) for queue in declared},
    )


def waits(number: int, queues: int, shape: Shape | None = None) -> Workload:
    """Return one of many steps of some pipeline of a queue, made of its own values as a store would read them."""
    queue = number % max(queues, 1)
    kind = number // max(queues, 1) % A_QUEUE
    chosen = shape or SHAPES[(queue + kind) % len(SHAPES)]
    return Workload(
        AttemptId(f"w{number:06}"), f"train#{number}/fit",
        Shape(tuple(replace(pod_set, asked=replace(pod_set.asked)) for pod_set in chosen.pod_sets)),
        NOW - timedelta(seconds=number % 86_400), (number, 0), QueueName(f"q{queue}"),
        (0, 0, 0, 100)[kind], Contract(expected_s=3600.0, kin=f"u{queue}/train/{kind}"),
    )  # fmt: skip


def ended(world: ClusterSnapshot, count: int) -> ClusterSnapshot:
    """Return the world after so many of those who held room have ended, spread over all queues."""
    room = Room(world.nodes)
    held = list(world.holding)
    gone = [held[i * len(held) // count] for i in range(count)] if count else []
    for one in gone:
        room.give(one.shape, one.standing.places)
    return replace(world, nodes=room.nodes, holding=world.holding.minus([one.attempt for one in gone]))


def later(seconds: float) -> datetime:
    """Return an instant after the first round."""
    return NOW + timedelta(seconds=seconds)


def timed(world: ClusterSnapshot, now: datetime, memory: Memory) -> tuple[float, Round]:
    """Return the seconds of processor time that a round takes, and what it decides."""
    start = time.process_time()
    decided = schedule(world, DEFAULT_POLICY, now, memory)
    return time.process_time() - start, decided


def memory_mib() -> float:
    """Return the most memory that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 if sys.platform == "darwin" else 1024)


if __name__ == "__main__":
    main()
