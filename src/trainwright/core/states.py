"""States of runs, steps and attempts: persisted for ever, so never renamed."""

from collections.abc import Mapping
from enum import StrEnum

MARKS: Mapping[str, str] = {
    "succeeded": "✓",
    "cached": "=",
    "running": "▶",
    "preempting": "↩",
    "queued": "…",
    "failed": "✗",
    "cancelled": "■",
    "skipped": "-",
    "pending": "·",
}
"""Beside the word of a state wherever people read it, so that colour is never needed to tell states apart."""


class RunState(StrEnum):
    """Where a run is."""

    PENDING = "pending"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_final(self) -> bool:
        """Tell whether nothing more will happen."""
        return self in _FINAL_RUN_STATES


_FINAL_RUN_STATES = frozenset({RunState.SUCCEEDED, RunState.FAILED, RunState.CANCELLED})


class StepState(StrEnum):
    """Where a step of a run is."""

    PENDING = "pending"  # waits for steps before it
    QUEUED = "queued"  # has all it needs but room
    RUNNING = "running"
    PREEMPTING = "preempting"  # gives its room to another, and will go on later
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    SKIPPED = "skipped"  # a step before it did not succeed, its condition did not hold, or it asked to be
    CACHED = "cached"  # an equal attempt was made before: its outputs stand

    @property
    def is_final(self) -> bool:
        """Tell whether nothing more will happen."""
        return self not in _UNFINISHED_STEP_STATES

    @property
    def is_success(self) -> bool:
        """Tell whether what it makes is there."""
        return self is StepState.SUCCEEDED or self is StepState.CACHED


_UNFINISHED_STEP_STATES = frozenset({StepState.PENDING, StepState.QUEUED, StepState.RUNNING, StepState.PREEMPTING})


class AttemptState(StrEnum):
    """Where one execution of a step is."""

    QUEUED = "queued"
    STARTING = "starting"  # has a place; the instruction to start it is in the outbox
    RUNNING = "running"
    PREEMPTING = "preempting"  # told to save its work and give its room back, not gone yet
    STOPPING = "stopping"  # told to end, not gone yet
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    LOST = "lost"  # its runner died without a result
    PREEMPTED = "preempted"  # gave its room back; the next attempt goes on

    @property
    def is_final(self) -> bool:
        """Tell whether nothing more will happen."""
        return self in FINAL_ATTEMPT_STATES

    @property
    def holds_room(self) -> bool:
        """Tell whether it holds cpu, memory and devices."""
        return self in HOLDING_ATTEMPT_STATES


FINAL_ATTEMPT_STATES = frozenset(
    {AttemptState.SUCCEEDED, AttemptState.FAILED, AttemptState.CANCELLED, AttemptState.LOST, AttemptState.PREEMPTED}
)


HOLDING_ATTEMPT_STATES = (
    AttemptState.STARTING, AttemptState.RUNNING, AttemptState.PREEMPTING, AttemptState.STOPPING,
)  # fmt: skip
"""States in which an attempt holds cpu, memory and devices."""


class ExitClass(StrEnum):
    """What kind of end an attempt had; decides what a retry may do."""

    OK = "ok"
    USER_ERROR = "user-error"  # the command ended with a code of its own
    CRASH = "crash"  # a fatal signal of its own making: SEGV, ABRT, BUS, ILL, FPE
    OOM = "oom"  # took more memory than it had asked for
    KILLED = "killed"  # KILL from outside
    INTERRUPTED = "interrupted"  # TERM, INT or HUP from outside
    TIMEOUT = "timeout"
    STOPPED = "stopped"  # somebody asked
    LOST = "lost"
    PREEMPTED = "preempted"  # told to give its room back
    INFRASTRUCTURE = "infrastructure"  # could not be started, or outputs not published
    SKIPPED = "skipped"  # ended with the code by which the step says that it has nothing to do
    OUTPUT = "output"  # ended well without an output it had promised, or with a wrong one
