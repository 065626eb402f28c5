"""Nobody waits for ever as long as the load is as stated."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from build import NOW, asks, node
from trainwright.core.ids import AttemptId
from trainwright.core.queue import Queue, QueueName
from trainwright.core.snapshot import ClusterSnapshot, nodes_of
from trainwright.core.workload import PodSet, Shape, Workload
from trainwright.sched.memory import Memory
from trainwright.sched.policy import DEFAULT_POLICY
from trainwright.sched.round import schedule
from worlds import History

GPUS = 8
RUN_TICKS = 4  # how long everything runs
ONE = Shape((PodSet(asks(1, 0, 1)),))


class Cluster(History):
    """One node of eight GPUs in which everything that starts ends after four ticks."""

    def __init__(self, *queues: Queue) -> None:
        machine = node(cpu=64, cards_gi=(24,) * GPUS)
        super().__init__(ClusterSnapshot(nodes_of(machine), queues={q.name: q for q in queues}))
        self.memory = Memory()
        self.tick = 0
        self.started: dict[AttemptId, int] = {}
        self.came: dict[AttemptId, int] = {}

    def submit(self, queue: str, count: int, priority: int = 0) -> None:
        for _ in range(count):
            self.number += 1
            name = AttemptId(f"{queue}{self.number}")
            self.came[name] = self.tick
            self.arrive(Workload(name, name, ONE, self.now, (self.number, 0), QueueName(queue), priority))

    def go_on(self) -> None:
        """One round and one tick."""
        decided = schedule(self.snapshot, DEFAULT_POLICY, self.now, self.memory)
        self.carry_out(decided)
        self.started.update({p.attempt: self.tick for p in decided.placements})
        self.tick += 1
        self.now = NOW + timedelta(seconds=60 * self.tick)
        for held in list(self.snapshot.holding):
            if self.tick - self.started[held.attempt] >= RUN_TICKS:
                self.end(held.attempt)

    def longest_wait(self, queue: str) -> int:
        waits = [self.started.get(name, self.tick) - at for name, at in self.came.items() if name.startswith(queue)]
        return max(waits, default=0)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=30, max_size=60))
@settings(max_examples=15)
def test_below_full_load_everybody_starts_within_the_backlog_that_came_before(arrivals: list[tuple[int, int]]) -> None:
    world = Cluster()
    owed = worst = 0.0
    for one, other in arrivals:  # on average as much as the cluster does in a tick, in bursts
        world.submit("a", one)
        world.submit("b", other)
        owed = max(0.0, owed + one + other - GPUS / RUN_TICKS)
        worst = max(worst, owed)
        world.go_on()
    for _ in range(2 * len(arrivals)):
        world.go_on()
    assert set(world.started) == set(world.came)
    # what is owed is served in ticks of GPUS / RUN_TICKS; queues take turns, so nobody waits for more than twice that
    assert max(world.longest_wait("a"), world.longest_wait("b")) <= 2 * worst * RUN_TICKS / GPUS + 2 * RUN_TICKS


@pytest.mark.parametrize("weight", [1.0, 4.0])
def test_a_flood_from_one_queue_does_not_keep_another_waiting(weight: float) -> None:
    world = Cluster(Queue(QueueName("flood"), weight=weight))
    for tick in range(120):
        world.submit("flood", 6)  # three times what the cluster can do
        if tick % 4 == 0:
            world.submit("light", 1)
        world.go_on()
    assert world.longest_wait("light") <= 2 * RUN_TICKS
    assert world.longest_wait("flood") > 10 * RUN_TICKS


def test_the_past_of_a_flood_is_forgotten_after_its_half_life() -> None:
    world = Cluster()
    world.snapshot = replace(world.snapshot, used={QueueName("a"): DEFAULT_POLICY.ordering.half_life_s / 4})
    for _ in range(40):
        world.submit("a", 2)
        world.submit("b", 2)
        world.go_on()
    assert world.longest_wait("b") < world.longest_wait("a")
    assert any(name.startswith("a") for name in world.started)
