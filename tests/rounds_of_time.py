"""A tiny world around ``schedule``: virtual time, arrivals, ends, victims that leave or do not, and what must hold."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from math import inf

from build import NOW, asks, cluster
from trainwright.core.decision import Round
from trainwright.core.ids import AttemptId
from trainwright.core.queue import DEFAULT_QUEUE, Queue, QueueName, Quota
from trainwright.core.snapshot import ClusterSnapshot, workloads_of
from trainwright.core.workload import Assignment, Contract, PodSet, Shape, Standing, Workload
from trainwright.sched.departure import ended, left
from trainwright.sched.invariants import broken
from trainwright.sched.memory import Memory
from trainwright.sched.policy import DEFAULT_POLICY, Policy
from trainwright.sched.round import after, schedule


def at(seconds: float) -> datetime:
    """The instant so many seconds after the beginning."""
    return NOW + timedelta(seconds=seconds)


def gang(
    name: str, count: int = 1, gpus: float = 1, *, least: int | None = None, cpu: float = 1, queue: str = DEFAULT_QUEUE,
    priority: int = 0, queued: float = 0, **contract: object,
) -> Workload:  # fmt: skip
    """``count`` replicas with ``gpus`` each; what else is said is its contract."""
    shape = Shape((PodSet(asks(cpu, 0, gpus), count, count if least is None else least),))
    return Workload(
        AttemptId(name), name, shape, at(queued), queue=QueueName(queue), priority=priority,
        contract=Contract(**contract),  # type: ignore[arg-type]
    )  # fmt: skip


def on(work: Workload, *places: tuple[str, tuple[int, ...]], began: float = 0, **standing: object) -> Workload:
    """The same, holding places: node and devices of each replica."""
    held = tuple(Assignment(node, devices) for node, devices in places)
    return replace(work, standing=Standing(places=held, started_at=at(began), **standing))  # type: ignore[arg-type]


def gpu_queue(name: str, guaranteed: int, ceiling: int | None = None, cohort: str = "c") -> Queue:
    """A queue of a cohort with a quota of GPUs."""
    quota = Quota(guaranteed * 1000, None if ceiling is None else ceiling * 1000)
    return Queue(QueueName(name), cohort, quotas={"gpu": quota})


def in_queues(snapshot: ClusterSnapshot, *queues: Queue) -> ClusterSnapshot:
    """The same world with these queues."""
    return replace(snapshot, queues={queue.name: queue for queue in queues})


@dataclass
class World:
    """One cluster over time; what must hold is looked at in every round.

    Attributes:
        needs: attempt → seconds of running after which it ends; who is not in here runs for ever.
        leaves_s: attempt → seconds from the notice until it is gone, ``inf`` = stuck; 5 for all others.
        rounds: what was decided, and when.
        started: attempt → when it started, each time.
        told: attempt → how often it was told to leave.
    """

    snapshot: ClusterSnapshot
    policy: Policy = DEFAULT_POLICY
    now: datetime = NOW
    needs: dict[str, float] = field(default_factory=dict)
    leaves_s: dict[str, float] = field(default_factory=dict)
    rounds: list[tuple[datetime, Round]] = field(default_factory=list)
    started: dict[str, list[datetime]] = field(default_factory=dict)
    told: Counter[str] = field(default_factory=Counter)
    memory: Memory = field(default_factory=Memory)

    def submit(self, *works: Workload) -> None:
        """Let these wait from now on, as old as they say they are."""
        self.snapshot = replace(self.snapshot, pending=self.snapshot.pending.plus({w.attempt: w for w in works}))

    def tick(self, seconds: float = 0) -> Round:
        """Let time pass, then decide once and carry it out."""
        self.now += timedelta(seconds=seconds)
        self._pass()
        decided = schedule(self.snapshot, self.policy, self.now, self.memory)
        self._look_at(decided)
        self.snapshot = after(self.snapshot, decided, self.now)
        self.rounds.append((self.now, decided))
        for placement in decided.placements:
            self.started.setdefault(placement.attempt, []).append(self.now)
        self.told.update(eviction.attempt for eviction in decided.evictions)
        self._look_at_holders()
        return decided

    def run(self, ticks: int, seconds: float) -> None:
        """Decide again and again."""
        for _ in range(ticks):
            self.tick(seconds)

    def end(self, *names: str) -> None:
        """End these now."""
        self.snapshot = ended(self.snapshot, map(AttemptId, names))

    def holds(self, name: str) -> bool:
        """Tell whether it holds room."""
        return AttemptId(name) in self.snapshot.holding

    def reason(self, name: str) -> str:
        """The code of the reason for which it waited in the last round; empty when it did not."""
        found = self.rounds[-1][1].waiting.get(AttemptId(name))
        return "" if found is None else found.code

    def idle_gpus(self, nodes: Iterable[str] | None = None) -> float:
        """GPUs that nobody holds."""
        wanted = None if nodes is None else set(nodes)
        free = (n.free.gpu_milli for n in self.snapshot.nodes if wanted is None or n.name in wanted)
        return sum(free) / 1000

    def _pass(self) -> None:
        holding = tuple(self.snapshot.holding)
        done = [w.attempt for w in holding if self._ran(w) >= self.needs.get(w.attempt, inf)]
        done += [w.attempt for w in holding if self._was_killed(w) and w.attempt not in done]
        gone = [w.attempt for w in holding if w.attempt not in done and self._has_left(w)]
        self.snapshot = ended(self.snapshot, done)
        self.snapshot = left(self.snapshot, gone, self.policy, self.now)

    def _ran(self, w: Workload) -> float:
        began = w.standing.started_at
        return w.standing.served_s + ((self.now - began).total_seconds() if began else 0.0)

    def _was_killed(self, w: Workload) -> bool:
        most, began = w.contract.most_s, w.standing.started_at
        return most is not None and began is not None and (self.now - began).total_seconds() >= most

    def _has_left(self, w: Workload) -> bool:
        told = w.standing.told_at
        if not w.standing.leaving or told is None:
            return False
        return (self.now - told).total_seconds() >= self.leaves_s.get(w.attempt, 5)

    def _look_at(self, decided: Round) -> None:
        """What must hold of a round."""
        before = self.snapshot
        assert broken(before, decided.placements) == ()
        words = Counter([*(p.attempt for p in decided.placements), *decided.waiting])
        assert words == Counter(w.attempt for w in before.pending)
        assert all("?" not in reason.sentence() for reason in decided.waiting.values())
        told = [*(e.attempt for e in decided.evictions), *(r.attempt for r in decided.resizes)]
        assert len(told) == len(set(told))
        assert not any(before.holding[attempt].standing.leaving for attempt in told)
        for eviction in decided.evictions:
            assert "?" not in eviction.reason.sentence()
            if eviction.reason.code == "preempted":
                assert before.holding[eviction.attempt].priority < before.pending[eviction.beneficiary].priority
        assert {c.attempt for c in decided.claims} <= set(decided.waiting)

    def _look_at_holders(self) -> None:
        assert not any(node.is_over for node in self.snapshot.nodes)
        for w in self.snapshot.holding:
            counts = Counter(place.pod_set for place in w.standing.places)
            assert all(p.least <= counts[i] <= p.count for i, p in enumerate(w.shape.pod_sets))


def world_of(
    *pending: Workload, nodes: tuple, holding: tuple[Workload, ...] = (), queues: tuple[Queue, ...] = ()
) -> World:
    """A world at its beginning."""
    snapshot = cluster(*pending, nodes=nodes, holding=holding)
    return World(in_queues(replace(snapshot, holding=workloads_of(*snapshot.holding)), *queues))
