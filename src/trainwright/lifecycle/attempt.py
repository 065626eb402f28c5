"""The state machine of an attempt. Nobody sets a state; one feeds an event."""

import signal
from collections.abc import Mapping
from enum import StrEnum

from trainwright.core.reasons import ReasonCode
from trainwright.core.states import AttemptState as S
from trainwright.core.states import ExitClass
from trainwright.ports.backend import Ended


class Event(StrEnum):
    """What can happen to an attempt."""

    PLACED = "placed"
    REFUSED = "refused"
    STARTED = "started"
    STOP_ASKED = "stop-asked"
    PREEMPT_ASKED = "preempt-asked"
    ENDED_WELL = "ended-well"
    ENDED_BADLY = "ended-badly"
    ENDED_STOPPED = "ended-stopped"
    ENDED_PREEMPTED = "ended-preempted"
    VANISHED = "vanished"
    REUSED = "reused"


TRANSITIONS: Mapping[tuple[S, Event], S] = {
    (S.QUEUED, Event.PLACED): S.STARTING,
    (S.QUEUED, Event.REFUSED): S.FAILED,
    (S.QUEUED, Event.STOP_ASKED): S.CANCELLED,
    (S.QUEUED, Event.REUSED): S.SUCCEEDED,  # it never starts: what it would make is there
    (S.STARTING, Event.STARTED): S.RUNNING,
    (S.STARTING, Event.STOP_ASKED): S.STOPPING,
    (S.STARTING, Event.PREEMPT_ASKED): S.PREEMPTING,
    (S.STARTING, Event.ENDED_WELL): S.SUCCEEDED,
    (S.STARTING, Event.ENDED_BADLY): S.FAILED,
    (S.STARTING, Event.ENDED_STOPPED): S.CANCELLED,
    (S.STARTING, Event.ENDED_PREEMPTED): S.PREEMPTED,
    (S.STARTING, Event.VANISHED): S.LOST,
    (S.RUNNING, Event.STOP_ASKED): S.STOPPING,
    (S.RUNNING, Event.PREEMPT_ASKED): S.PREEMPTING,
    (S.RUNNING, Event.ENDED_WELL): S.SUCCEEDED,
    (S.RUNNING, Event.ENDED_BADLY): S.FAILED,
    (S.RUNNING, Event.ENDED_STOPPED): S.CANCELLED,
    (S.RUNNING, Event.ENDED_PREEMPTED): S.PREEMPTED,  # whoever owns the machine took it back
    (S.RUNNING, Event.VANISHED): S.LOST,
    (S.PREEMPTING, Event.STOP_ASKED): S.STOPPING,
    (S.PREEMPTING, Event.ENDED_WELL): S.SUCCEEDED,  # it was done before the notice arrived, or within its grace
    (S.PREEMPTING, Event.ENDED_BADLY): S.FAILED,  # by a fault of its own
    (S.PREEMPTING, Event.ENDED_PREEMPTED): S.PREEMPTED,
    (S.STOPPING, Event.ENDED_WELL): S.SUCCEEDED,  # it was done before the signal arrived
    (S.STOPPING, Event.ENDED_BADLY): S.CANCELLED,
    (S.STOPPING, Event.ENDED_STOPPED): S.CANCELLED,
    (S.STOPPING, Event.ENDED_PREEMPTED): S.CANCELLED,
    (S.STOPPING, Event.VANISHED): S.CANCELLED,
}  # pairs that are absent are ignored: backends repeat themselves and reorder

_CRASHES = frozenset({signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGFPE})
_LEAVES = frozenset({ExitClass.STOPPED, ExitClass.LOST, ExitClass.KILLED, ExitClass.INTERRUPTED})
_REASONS: Mapping[ExitClass, ReasonCode] = {
    ExitClass.OK: ReasonCode.SUCCEEDED,
    ExitClass.USER_ERROR: ReasonCode.USER_ERROR,
    ExitClass.CRASH: ReasonCode.CRASHED,
    ExitClass.OOM: ReasonCode.OUT_OF_MEMORY,
    ExitClass.KILLED: ReasonCode.KILLED,
    ExitClass.INTERRUPTED: ReasonCode.INTERRUPTED,
    ExitClass.TIMEOUT: ReasonCode.TIMED_OUT,
    ExitClass.STOPPED: ReasonCode.STOPPED,
    ExitClass.LOST: ReasonCode.LOST,
    ExitClass.PREEMPTED: ReasonCode.PREEMPTED,
    ExitClass.OUTPUT: ReasonCode.OUTPUT_MISSING,
    ExitClass.SKIPPED: ReasonCode.SKIPPED_ITSELF,
}


_CAUSES: Mapping[str, ExitClass] = {
    "timeout": ExitClass.TIMEOUT,
    "stopped": ExitClass.STOPPED,
    "preempted": ExitClass.PREEMPTED,
    "lost": ExitClass.LOST,
    "node-lost": ExitClass.LOST,
    "out-of-memory": ExitClass.OOM,
    "output-missing": ExitClass.OUTPUT,
    "output-invalid": ExitClass.OUTPUT,
    "not-published": ExitClass.INFRASTRUCTURE,
    "not-started": ExitClass.USER_ERROR,  # no such command: retry: may repeat it
    "environment-failed": ExitClass.USER_ERROR,  # a lock that cannot be had
}


def event_of(exit_class: ExitClass) -> Event:
    """Return the event that an end of this class is."""
    match exit_class:
        case ExitClass.OK | ExitClass.SKIPPED:
            return Event.ENDED_WELL
        case ExitClass.STOPPED:
            return Event.ENDED_STOPPED
        case ExitClass.PREEMPTED:
            return Event.ENDED_PREEMPTED
        case ExitClass.LOST:
            return Event.VANISHED
        case _:
            return Event.ENDED_BADLY


def classify(ended: Ended) -> ExitClass:
    """Return the kind of an end: what we did to it first, then the signal, then the code.

    A shell reports a child's signal n as code 128 + n, so those codes count as the signal.
    """
    known = _CAUSES.get(ended.cause)
    return _by_status(ended.exit_code, signal_of(ended)) if known is None else known


def as_told(state: S, exit_class: ExitClass) -> ExitClass:
    """Return an end as it counts: one that was told to leave has left, unless it failed or was done by itself."""
    return ExitClass.PREEMPTED if state is S.PREEMPTING and exit_class in _LEAVES else exit_class


def signal_of(ended: Ended) -> int | None:
    """Return the signal that ended the command, also when a shell reports it as a code above 128."""
    if ended.signal is None and ended.exit_code is not None and 128 < ended.exit_code < 128 + signal.NSIG:  # noqa: PLR2004
        return ended.exit_code - 128
    return ended.signal


def reason_code(ended: Ended, exit_class: ExitClass) -> ReasonCode:
    """Return the catalogue's code for an end."""
    if ended.cause == "not-started":
        return ReasonCode.NOT_STARTED
    if ended.cause == "node-lost":
        return ReasonCode.NODE_LOST
    if ended.cause == "environment-failed":
        return ReasonCode.ENVIRONMENT_FAILED
    if ended.cause == "output-invalid":
        return ReasonCode.OUTPUT_INVALID
    return _REASONS.get(exit_class, ReasonCode.NOT_PUBLISHED)


def _by_status(code: int | None, number: int | None) -> ExitClass:
    if number is None:
        return ExitClass.OK if code == 0 else ExitClass.USER_ERROR
    if number in _CRASHES:
        return ExitClass.CRASH
    if number == signal.SIGKILL:
        return ExitClass.KILLED
    if number in {signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE}:
        return ExitClass.INTERRUPTED
    return ExitClass.CRASH
