"""What queues, what it holds, and what a round decides about it."""

from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from trainwright.core.ids import AttemptId
from trainwright.core.node import Node
from trainwright.core.reasons import Reason
from trainwright.core.resources import Resources


@dataclass(frozen=True, slots=True)
class Workload:
    """An attempt that waits for room, or holds it.

    Attributes:
        run_number: age of the run it belongs to; lower is older and goes first.
        position: of its step in the plan.
        devices: held ones; empty while it waits.
    """

    attempt: AttemptId
    label: str
    asked: Resources
    run_number: int
    position: int
    queued_at: datetime
    devices: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ClusterSnapshot:
    """The world as one round sees it.

    Attributes:
        nodes: capacity, before ``holding`` is taken away.
        pending: wait for room.
        holding: hold it already.
    """

    nodes: tuple[Node, ...]
    pending: tuple[Workload, ...]
    holding: tuple[Workload, ...] = ()


@dataclass(frozen=True, slots=True)
class Placement:
    """Start this attempt there."""

    attempt: AttemptId
    node: str
    devices: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Refusal:
    """Not now, or never, and why."""

    attempt: AttemptId
    reason: Reason


Decision: TypeAlias = Placement | Refusal
