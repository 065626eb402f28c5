"""The world around ``schedule`` for ``sched_queue``: jobs come, run and end; who is told to leave does so at once."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from heapq import heappop, heappush

from queue_traces import Job, Jobs

from trainwright.core.decision import Eviction
from trainwright.core.ids import AttemptId
from trainwright.core.node import Device, Node
from trainwright.core.resources import Resources
from trainwright.core.snapshot import ClusterSnapshot, nodes_of
from trainwright.core.workload import Contract, PodSet, Preemption, Shape, Standing, Workload
from trainwright.sched.memory import Memory
from trainwright.sched.policy import DEFAULT_POLICY
from trainwright.sched.room import Room
from trainwright.sched.round import after, schedule

_BEGIN = datetime(2020, 1, 1, tzinfo=UTC)
_GIB = 1 << 30


def run(jobs: Jobs, nodes: int, *, known: bool, restart_s: float) -> tuple[list[float], int, int]:
    """Return when each job ended, how often any was started, and how many rounds that took."""
    return _World(jobs, nodes, known=known, restart_s=restart_s).run()


class _World:
    def __init__(self, jobs: Jobs, nodes: int, *, known: bool, restart_s: float) -> None:
        self._jobs, self._restart_s = jobs, restart_s
        self._snapshot = ClusterSnapshot(nodes_of(*(_node(i) for i in range(nodes))))
        self._workloads = [_workload(i, job, known=known, restart_s=restart_s) for i, job in enumerate(jobs)]
        self._number = {one.attempt: i for i, one in enumerate(self._workloads)}
        self._left = [job.work_s for job in jobs]
        self._runs: dict[int, tuple[datetime, float]] = {}  # since when, and how much of that is no work
        self._ends: list[tuple[datetime, int, datetime]] = []
        self._memory = Memory()
        self._starts = self._rounds = 0

    def run(self) -> tuple[list[float], int, int]:
        done = [0.0] * len(self._jobs)
        come, left, wake = 0, len(self._jobs), None
        while left:
            now = self._next(come, wake)
            new = {}
            while come < len(self._jobs) and _instant(self._jobs[come].at) <= now:
                new[self._workloads[come].attempt] = self._workloads[come]
                come += 1
            for i in self._ended(now):
                done[i] = (now - _BEGIN).total_seconds()
                left -= 1
            self._snapshot = replace(self._snapshot, pending=self._snapshot.pending.plus(new))
            wake = self._decide(now)
        return done, self._starts, self._rounds

    def _next(self, come: int, wake: datetime | None) -> datetime:
        while self._ends and self._runs.get(self._ends[0][1], (None,))[0] != self._ends[0][2]:
            heappop(self._ends)  # it was told to leave before that
        instants = [self._ends[0][0]] if self._ends else []
        instants += [_instant(self._jobs[come].at)] if come < len(self._jobs) else []
        return min([*instants, *([wake] if wake is not None else [])])

    def _ended(self, now: datetime) -> list[int]:
        ended: list[int] = []
        while self._ends and self._ends[0][0] <= now:
            _, i, since = heappop(self._ends)
            if self._runs.get(i, (None,))[0] == since:
                del self._runs[i]
                ended.append(i)
        room, history = Room(self._snapshot.nodes), self._snapshot.history
        for i in ended:
            one = self._snapshot.holding[self._workloads[i].attempt]
            room.give(one.shape, one.standing.places)
            history = history.with_end(one, self._jobs[i].work_s, now)
        gone = [self._workloads[i].attempt for i in ended]
        self._snapshot = replace(
            self._snapshot, nodes=room.nodes, holding=self._snapshot.holding.minus(gone), history=history
        )
        return ended

    def _decide(self, now: datetime) -> datetime | None:
        for _ in range(100):
            decided = schedule(self._snapshot, DEFAULT_POLICY, now, self._memory)
            self._rounds += 1
            self._snapshot = after(self._snapshot, decided, now)
            for placement in decided.placements:
                self._start(self._number[placement.attempt], now)
            if not decided.evictions:
                return decided.wake_at
            self._evict(decided.evictions, now)
        raise RuntimeError("the scheduler tells workloads to leave for ever")

    def _start(self, i: int, now: datetime) -> None:
        lost = self._restart_s if self._left[i] < self._jobs[i].work_s else 0.0
        self._runs[i] = now, lost
        heappush(self._ends, (now + timedelta(seconds=self._left[i] + lost), i, now))
        self._starts += 1

    def _evict(self, evictions: tuple[Eviction, ...], now: datetime) -> None:
        room, back = Room(self._snapshot.nodes), {}
        for eviction in evictions:
            i = self._number[eviction.attempt]
            since, lost = self._runs.pop(i)
            self._left[i] -= max((now - since).total_seconds() - lost, 0.0)
            one = self._snapshot.holding[eviction.attempt]
            room.give(one.shape, one.standing.places)
            served = self._jobs[i].work_s - self._left[i]
            back[eviction.attempt] = replace(one, standing=Standing(served_s=served, preempted_at=(now,)))
            if since == now:
                self._starts -= 1  # it was placed and moved at the same instant: it never started
        self._snapshot = replace(
            self._snapshot,
            nodes=room.nodes,
            pending=self._snapshot.pending.plus(back),
            holding=self._snapshot.holding.minus(back),
        )


def _instant(at: float) -> datetime:
    return _BEGIN + timedelta(seconds=at)


def _node(i: int) -> Node:
    total = Resources(cpu_milli=64_000, memory_bytes=256 * _GIB, gpu_milli=8000)
    devices = tuple(Device(j, "V100", 32 * _GIB, free_vram_bytes=32 * _GIB) for j in range(8))
    return Node(f"node-{i:02}", total, total, devices)


def _workload(i: int, job: Job, *, known: bool, restart_s: float) -> Workload:
    whole, rest = divmod(job.gpus, 8)
    pod_sets = [_pods(8, whole)] if whole else []
    pod_sets += [_pods(rest, 1)] if rest else []
    contract = Contract(
        preemption=Preemption.TIME_SLICED,
        restart_cost_s=restart_s,
        grace_s=0.0,
        expected_s=job.work_s if known else None,
        kin="" if known else job.kin,
    )
    return Workload(
        AttemptId(f"job-{i:05}"), f"job {i}", Shape(tuple(pod_sets)), _instant(job.at), (i, 0), contract=contract
    )


def _pods(gpus: int, count: int) -> PodSet:
    return PodSet(Resources(cpu_milli=gpus * 4000, memory_bytes=gpus * 16 * _GIB, gpu_milli=gpus * 1000), count, count)
