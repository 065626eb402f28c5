"""Loads and clusters for tests of the simulator."""

from collections.abc import Callable
from datetime import timedelta

from build import node
from trainwright.core.decision import Round
from trainwright.core.resources import Resources
from trainwright.core.snapshot import ClusterSnapshot
from trainwright.core.workload import Contract, PodSet, Shape
from trainwright.sim.cluster import Cluster
from trainwright.sim.job import Job
from trainwright.sim.simulate import BEGINNING

GANGS = {}


def gang(replicas: int = 1, *, gpus: float = 1, cpu: float = 0, least: int | None = None) -> Shape:
    asked = Resources(round(cpu * 1000), 0, round(gpus * 1000))
    shape = Shape((PodSet(asked, replicas, least or replicas),))
    return GANGS.setdefault(shape, shape)


def job(name: str, submit: float = 0, lasts: float = 100, shape: Shape | None = None, **more: object) -> Job:
    contract = Contract(restart_cost_s=more.pop("restart", 0.0), grace_s=more.pop("grace", 10.0))
    return Job(name, submit, lasts, shape or gang(), contract=contract, **{"save_s": 0.0, **more})


def cluster(*cards: int, **more: object) -> Cluster:
    """Nodes with so many cards each."""
    return Cluster(tuple(node(f"n{i}", cpu=16, cards_gi=[24] * count) for i, count in enumerate(cards)), **more)


def at(seconds: float):
    return BEGINNING + timedelta(seconds=seconds)


def seconds(when) -> float | None:
    return None if when is None else (when - BEGINNING).total_seconds()


def between(rounds: Callable[[ClusterSnapshot, object], Round], real) -> Callable:
    """A scheduler that lets a test add decisions to those of the real one."""

    def schedule(snapshot, policy, now, memory=None):
        return rounds(snapshot, now, real(snapshot, policy, now, memory))

    return schedule
