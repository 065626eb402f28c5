"""The port to whatever executes attempts."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Protocol

from trainwright.core.artifact import Content
from trainwright.core.ids import AttemptId
from trainwright.core.job import JobSpec
from trainwright.core.node import Node
from trainwright.core.run import MetricSummary
from trainwright.core.scalar import Plain


@dataclass(frozen=True, slots=True)
class Running:
    """The attempt was started and has not ended.

    Attributes:
        saved_at: when it last committed a checkpoint; None = not since it started, as far as the backend can tell.
    """

    attempt: AttemptId
    started_at: datetime
    saved_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Ended:
    """The attempt is over, with all its processes.

    Attributes:
        cause: ``exited`` (see code and signal), ``timeout``, ``stopped``, ``not-started``, ``out-of-memory``,
            ``environment-failed``, ``output-missing``, ``output-invalid``, ``not-published``, ``preempted`` (had
            notice, and is gone without having finished; code and signal say how), or ``lost``: its runner died
            without a result.
        message: of the runner, for a person; the names of what is missing for ``output-missing``; may be empty.
        outputs: published ones, by name; complete or empty.
        metrics, params: what the script logged and noted.
    """

    attempt: AttemptId
    token: str
    cause: str
    finished_at: datetime
    started_at: datetime | None = None
    exit_code: int | None = None
    signal: int | None = None
    message: str = ""
    outputs: dict[str, Content] = field(default_factory=dict)
    metrics: dict[str, MetricSummary] = field(default_factory=dict)
    params: dict[str, Plain] = field(default_factory=dict)


Observation = Running | Ended | None
"""None: never heard of it."""


class Backend(Protocol):
    """Starts, watches and stops attempts.

    Promises, each a test of ``ports.testing.BackendContract``:

    1. ``start`` is idempotent by attempt: a second call for one attempt starts nothing.
    2. ``start`` returns without waiting for the command.
    3. What ``start`` accepted, ``observe`` reports as running or ended, also from another process.
    4. ``observe`` reports an end only when no process of the attempt is left.
    5. An end is reported with the same facts however often it is asked for.
    6. ``stop`` asks for the end and returns; it is idempotent, and does nothing to an attempt that has ended.
    7. An attempt that was stopped before it was started never starts.
    8. Outputs are all there or none is.
    """

    name: str

    def nodes(self) -> tuple[Node, ...]:
        """Return what there is; ``free`` is less by what others hold that is not in our books, see ``foreign``."""
        ...

    def start(self, job: JobSpec) -> None:
        """Begin the attempt.

        Raises:
            BackendError: it cannot be started; ``transient`` says whether trying again may help.
        """
        ...

    def observe(self, attempt: AttemptId) -> Observation:
        """Say what became of the attempt, without waiting."""
        ...

    def stop(self, attempt: AttemptId, why: str) -> None:
        """Ask the attempt to end: TERM, its grace, KILL."""
        ...

    def wait(self, attempts: Sequence[AttemptId], seconds: float) -> None:
        """Return as soon as one of ``attempts`` may have ended, at the latest after ``seconds``."""
        ...


class SupportsPreemption(Protocol):
    """A backend that can give an attempt notice before it takes its room.

    Promises, each a test of ``ports.testing.PreemptionContract``:

    1. ``preempt`` gives notice and returns; the attempt goes on until it leaves by itself or its grace is over.
    2. One that leaves within the grace has ended as ``preempted``, whatever its code.
    3. One that stays is ended when the grace is over, with all its processes.
    4. One that finishes meanwhile, with all its outputs, has ended as if nobody had asked.
    5. A second notice changes nothing, least of all the grace; an attempt that has ended is left alone.
    6. ``stop`` after a notice wins: the attempt has ended as ``stopped``.
    7. An attempt that had notice before it was started never starts, and has ended as ``preempted``.
    8. When an attempt last saved is told while it runs, also from another process.
    """

    def preempt(self, attempt: AttemptId, why: str, grace_s: float) -> None:
        """Tell the attempt to save and leave within ``grace_s`` seconds of the notice reaching it."""
        ...


class SupportsImages(Protocol):
    """A backend that runs steps in containers.

    Attributes:
        runs_images: always True; a backend without it refuses steps with an image.
    """

    runs_images: bool


class SupportsFiles(Protocol):
    """A backend whose attempts leave their files where this process can read them."""

    def folder(self, attempt: AttemptId) -> Path:
        """Return the attempt's folder: ``log`` is its output, ``events.jsonl`` its metrics; it may not exist yet."""
        ...
