"""Triggers that a project keeps, the occasions on which they start runs, and what they look out for."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from trainwright.core.ids import ProjectName, RunId
from trainwright.core.reasons import Reason
from trainwright.core.states import RunState
from trainwright.core.trigger import TriggerSpec


class TriggerState(StrEnum):
    """Whether a trigger takes notice; stored, never renamed."""

    ARMED = "armed"
    PAUSED = "paused"


class EventState(StrEnum):
    """What became of an occasion; stored, never renamed."""

    WAITING = "waiting"  # noted; its run is still to be submitted
    FIRED = "fired"  # has its run
    FAILED = "failed"  # no run: the pipeline was refused, or the chain was too long


@dataclass(frozen=True, slots=True)
class Trigger:
    """A trigger that the project keeps.

    Attributes:
        file: the pipeline file as typed when it was armed.
        path: of that file, absolute; read anew for each run.
        since_at: cron: every time up to this instant is dealt with.
        since_seq: dataset: the last version dealt with; run: the last event of the project.
        revision: grows with every write; guards them.
    """

    project: ProjectName
    pipeline: str
    spec: TriggerSpec
    file: str
    path: str
    state: TriggerState
    armed_at: datetime
    armed_by: str
    since_at: datetime
    since_seq: int = 0
    revision: int = 0

    @property
    def address(self) -> str:
        """Return ``triggers/PIPELINE/NAME``; runs that it starts are submitted by that."""
        return address(self.pipeline, self.spec.name)


@dataclass(frozen=True, slots=True)
class TriggerEvent:
    """One occasion on which a trigger starts a run; its id is never taken twice.

    Attributes:
        trigger: its address.
        id: cron: the nominal instant; dataset: the version's address; run: the run; webhook: the delivery.
        at: when it happened; for cron the nominal instant.
        run: the run it started; events that a debounce gathered share one.
        depth: how many runs in a row started one another up to the one this starts; 0 when no run is behind it.
        cause: the run whose end it is; None for the other kinds.
    """

    trigger: str
    id: str
    at: datetime
    state: EventState = EventState.WAITING
    run: RunId | None = None
    reason: Reason | None = None
    depth: int = 0
    cause: RunId | None = None


@dataclass(frozen=True, slots=True)
class NewVersion:
    """A version of a dataset."""

    number: int
    added_at: datetime


@dataclass(frozen=True, slots=True)
class EndedRun:
    """A run that has ended.

    Attributes:
        seq: of the event; orders all ends.
        depth: of the event that started it, see ``TriggerEvent``; 0 when a person did.
    """

    seq: int
    run: RunId
    pipeline: str
    state: RunState
    at: datetime
    depth: int = 0


def address(pipeline: str, name: str) -> str:
    """Return the address of a trigger."""
    return f"triggers/{pipeline}/{name}"
