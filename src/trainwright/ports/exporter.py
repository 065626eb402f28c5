"""The port to systems that are told what happens here: lineage collectors, trackers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from trainwright.core.artifact import Input, ModelVersion, Output
from trainwright.core.errors import BackendError
from trainwright.core.fingerprint import Fingerprint
from trainwright.core.ids import StepName
from trainwright.core.reasons import Reason
from trainwright.core.run import Run, StepRun
from trainwright.core.table import Table


class Phase(StrEnum):
    """What a change of state means to somebody who only knows beginnings and ends."""

    BEGIN = "begin"
    GO_ON = "go-on"
    END = "end"


@dataclass(frozen=True, slots=True)
class Subject:
    """A run, or a step of it, in one of its rounds.

    Attributes:
        step: None for the run itself.
        round: how often it had ended before; above 0 when somebody asked for it to be tried again.
    """

    step: StepName | None = None
    round: int = 0


@dataclass(frozen=True, slots=True)
class Change:
    """One change of state with all that an exporter may say about it.

    Attributes:
        seq: its number in our journal; larger = later.
        phases: what it means: a step that was answered from memory begins and ends at once.
        parent: the group or run that a step belongs to; None for a run.
        root: the run.
        fingerprint: of the run.
        record: of the step, as it is by now; None for a run.
        nominal_at: the time of the schedule that the run was started for; None for other runs.
        inputs: that its attempt read.
        outputs: that its attempt published; only with an end.
        model: that it registered; only with an end.
        sources: address of a dataset version → where it was read from.
        tables: address of data → what it holds as one table, where that is known.
    """

    seq: int
    at: datetime
    state: str
    reason: Reason | None
    phases: tuple[Phase, ...]
    run: Run
    subject: Subject
    parent: Subject | None
    root: Subject
    fingerprint: Fingerprint
    record: StepRun | None = None
    nominal_at: datetime | None = None
    inputs: tuple[Input, ...] = ()
    outputs: tuple[Output, ...] = ()
    model: ModelVersion | None = None
    sources: Mapping[str, str] = field(default_factory=dict)
    tables: Mapping[str, Table] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Destination:
    """Where events go.

    Attributes:
        exporter: name of the plugin.
        target: a URI that the plugin understands, without secrets: it is stored and shown.
        secret: proves who sends; empty = nothing is asked for. Never stored.
        namespace: under which our things are known there.
    """

    exporter: str
    target: str
    secret: str = field(default="", repr=False)
    namespace: str = "default"


@dataclass(frozen=True, slots=True)
class Delivered:
    """How far a delivery came.

    Attributes:
        done: items that were handed over wholly, from the first one on.
        failure: why the next one was not; when it is not ``transient``, repeating would not help.
    """

    done: int
    failure: BackendError | None = None


class Sink(Protocol):
    """An open way to a destination."""

    def deliver(self, items: Sequence[Sequence[str]]) -> Delivered:
        """Hand over the documents of several changes, in order; an item may be handed over again after a crash."""
        ...


class Exporter(Protocol):
    """Tells another system.

    Promises:

    1. ``render`` is pure: the same change gives the same documents, so that a repeat can be recognised.
    2. A change that says nothing to the other system gives no document.
    3. ``open`` asks nobody: it only reads the target.
    4. ``deliver`` returns within a minute and raises nothing that the network or the disk can cause.
    """

    def render(self, change: Change, namespace: str) -> tuple[str, ...]:
        """Return the documents that say what happened, in the order in which they have to arrive."""
        ...

    def open(self, destination: Destination) -> Sink:
        """Return the way to a destination.

        Raises:
            SpecError: this is no target.
        """
        ...
