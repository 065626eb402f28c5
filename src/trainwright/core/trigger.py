"""Triggers: what starts a run without a person, the occasions on which it did, and why it did not."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from trainwright.core.ids import ProjectName, RunId
from trainwright.core.reasons import Reason
from trainwright.core.scalar import Plain
from trainwright.core.states import RunState


class TriggerKind(StrEnum):
    """What a trigger waits for; also the key that says so in a pipeline file."""

    CRON = "cron"
    DATASET = "dataset"
    RUN = "run"
    WEBHOOK = "webhook"


class RunEnd(StrEnum):
    """Which ends of the other pipeline's runs count."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    ANY = "any"

    def counts(self, state: RunState) -> bool:
        """Tell whether a run that ended in ``state`` is one of them; a cancelled one only for ``any``."""
        return self is RunEnd.ANY or self.value == state.value


class TriggerState(StrEnum):
    """Whether a trigger takes notice; stored, never renamed."""

    ARMED = "armed"
    PAUSED = "paused"


class EventState(StrEnum):
    """What became of an occasion; stored, never renamed."""

    WAITING = "waiting"  # noted; its run is still to be submitted
    FIRED = "fired"  # has its run
    FAILED = "failed"  # no run: the pipeline was refused, or the chain was too long


LAST = 1
"""``catch_up: last``: of several missed times, one."""


@dataclass(frozen=True, slots=True)
class TriggerSpec:
    """One entry below ``triggers:``.

    Attributes:
        name: within the pipeline.
        subject: the cron expression, ``datasets/NAME``, the other pipeline, or the name of the webhook.
        timezone: of a cron expression; empty for the other kinds.
        params: for its runs; the rest have their defaults.
        catch_up: how many of the missed times are made up for, newest first; 0 = none.
        debounce_s: seconds without a further event before several become one run; 0 = each at once.
        on: which ends of the other pipeline count.
    """

    name: str
    kind: TriggerKind
    subject: str
    timezone: str = ""
    params: Mapping[str, Plain] = field(default_factory=dict)
    catch_up: int = LAST
    debounce_s: float = 0.0
    on: RunEnd = RunEnd.SUCCEEDED

    def watches_the_same(self, other: "TriggerSpec") -> bool:
        """Tell whether both have the same events, so that one can go on where the other stopped."""
        mine = (self.kind, self.subject, self.timezone)
        return mine == (other.kind, other.subject, other.timezone)


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
