"""Loads and clusters for tests of the simulator."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

from build import node
from trainwright.core.decision import Eviction, Round
from trainwright.core.queue import DEFAULT_QUEUE, QueueName
from trainwright.core.reasons import Reason, ReasonCode
from trainwright.core.resources import Resources
from trainwright.core.snapshot import ClusterSnapshot
from trainwright.core.workload import Contract, PodSet, Shape
from trainwright.sched.memory import Memory
from trainwright.sched.policy import Policy
from trainwright.sched.round import schedule
from trainwright.sim.cluster import Cluster
from trainwright.sim.job import Job
from trainwright.sim.simulate import BEGINNING, Manner

ADS, SEARCH = QueueName("ads"), QueueName("search")
WHY = Reason(ReasonCode.PREEMPTED, {"beneficiary": "other", "lost": "1m"})
GANGS: dict[Shape, Shape] = {}


def gang(replicas: int = 1, *, gpus: float = 1, cpu: float = 0, least: int | None = None) -> Shape:
    asked = Resources(round(cpu * 1000), 0, round(gpus * 1000))
    shape = Shape((PodSet(asked, replicas, least or replicas),))
    return GANGS.setdefault(shape, shape)


def job(
    name: str, submit: float = 0, lasts: float = 100, shape: Shape | None = None, *, queue: QueueName = DEFAULT_QUEUE,
    priority: int = 0, save_s: float = 0.0, checkpoint_s: float | None = None, restart: float = 0.0,
    grace: float = 10.0,
) -> Job:  # fmt: skip
    contract = Contract(restart_cost_s=restart, grace_s=grace)
    return Job(name, submit, lasts, shape or gang(), queue, "", priority, contract, save_s, checkpoint_s)


def cluster(*cards: int) -> Cluster:
    """Nodes with so many cards each."""
    return Cluster(tuple(node(f"n{i}", cpu=16, cards_gi=[24] * count) for i, count in enumerate(cards)))


def at(seconds: float) -> datetime:
    return BEGINNING + timedelta(seconds=seconds)


def seconds(when: datetime | None) -> float | None:
    return None if when is None else (when - BEGINNING).total_seconds()


def and_then(more: Callable[[ClusterSnapshot, datetime, Round], Round]) -> Manner:
    """Checked; a test adds decisions to those of the real scheduler."""

    def decide(snapshot: ClusterSnapshot, policy: Policy, now: datetime, memory: Memory) -> Round:
        return more(snapshot, now, schedule(snapshot, policy, now, memory))

    return Manner(check=True, decide=decide)


def told_to_leave(name: str, second: float) -> Manner:
    """A job is told to leave at the first round from some second on."""
    told: list[datetime] = []

    def more(snapshot: ClusterSnapshot, now: datetime, decided: Round) -> Round:
        victim = next((w for w in snapshot.holding if w.label == name), None)
        if victim is None or now < at(second) or told:
            return decided
        told.append(now)
        return replace(decided, evictions=(Eviction(victim.attempt, victim.attempt, WHY),))

    return and_then(more)
