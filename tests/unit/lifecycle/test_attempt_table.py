"""The state machine of an attempt: every pair of state and event, and every way to end."""

import signal
from itertools import product

import pytest

from build import ended
from trainwright.core.reasons import ReasonCode
from trainwright.core.states import AttemptState as S
from trainwright.core.states import ExitClass
from trainwright.lifecycle.attempt import TRANSITIONS, Event, classify, event_of, reason_code, signal_of
from trainwright.ports.backend import Ended

E = Event
MOVES = {
    S.QUEUED: {E.PLACED: S.STARTING, E.REFUSED: S.FAILED, E.STOP_ASKED: S.CANCELLED, E.REUSED: S.SUCCEEDED},
    S.STARTING: {
        E.STARTED: S.RUNNING,
        E.STOP_ASKED: S.STOPPING,
        E.PREEMPT_ASKED: S.PREEMPTING,
        E.ENDED_WELL: S.SUCCEEDED,
        E.ENDED_BADLY: S.FAILED,
        E.ENDED_STOPPED: S.CANCELLED,
        E.ENDED_PREEMPTED: S.PREEMPTED,
        E.VANISHED: S.LOST,
    },
    S.RUNNING: {
        E.STOP_ASKED: S.STOPPING,
        E.PREEMPT_ASKED: S.PREEMPTING,
        E.ENDED_WELL: S.SUCCEEDED,
        E.ENDED_BADLY: S.FAILED,
        E.ENDED_STOPPED: S.CANCELLED,
        E.ENDED_PREEMPTED: S.PREEMPTED,
        E.VANISHED: S.LOST,
    },
    S.PREEMPTING: {
        E.STOP_ASKED: S.STOPPING,
        E.ENDED_WELL: S.SUCCEEDED,
        E.ENDED_BADLY: S.FAILED,
        E.ENDED_PREEMPTED: S.PREEMPTED,
    },
    S.STOPPING: {
        E.ENDED_WELL: S.SUCCEEDED,
        E.ENDED_BADLY: S.CANCELLED,
        E.ENDED_STOPPED: S.CANCELLED,
        E.ENDED_PREEMPTED: S.CANCELLED,
        E.VANISHED: S.CANCELLED,
    },
}


@pytest.mark.parametrize(("state", "event"), [*product(S, Event)])
def test_every_pair_of_state_and_event_is_decided(state: S, event: Event) -> None:
    assert TRANSITIONS.get((state, event)) is MOVES.get(state, {}).get(event)


def test_nothing_leads_out_of_an_end_and_every_other_state_can_end() -> None:
    assert not [pair for pair in TRANSITIONS if pair[0].is_final]
    assert {state for (state, _), after in TRANSITIONS.items() if after.is_final} == {s for s in S if not s.is_final}


def test_an_attempt_that_left_the_queue_holds_room_until_it_has_ended() -> None:
    for (state, _), after in TRANSITIONS.items():
        assert state.holds_room or state is S.QUEUED
        assert after.holds_room != after.is_final


X, R = ExitClass, ReasonCode
ENDS = [  # G19: how it ended, its class, the signal shown, the reason shown, the event
    (ended("a", 0), X.OK, None, R.SUCCEEDED, E.ENDED_WELL),
    (ended("a", 1), X.USER_ERROR, None, R.USER_ERROR, E.ENDED_BADLY),
    (ended("a", 2), X.USER_ERROR, None, R.USER_ERROR, E.ENDED_BADLY),
    (ended("a", 128), X.USER_ERROR, None, R.USER_ERROR, E.ENDED_BADLY),
    (ended("a", 129), X.INTERRUPTED, signal.SIGHUP, R.INTERRUPTED, E.ENDED_BADLY),
    (ended("a", 130), X.INTERRUPTED, signal.SIGINT, R.INTERRUPTED, E.ENDED_BADLY),
    (ended("a", 134), X.CRASH, signal.SIGABRT, R.CRASHED, E.ENDED_BADLY),
    (ended("a", 137), X.KILLED, signal.SIGKILL, R.KILLED, E.ENDED_BADLY),
    (ended("a", 139), X.CRASH, signal.SIGSEGV, R.CRASHED, E.ENDED_BADLY),
    (ended("a", 143), X.INTERRUPTED, signal.SIGTERM, R.INTERRUPTED, E.ENDED_BADLY),
    (ended("a", 193), X.USER_ERROR, None, R.USER_ERROR, E.ENDED_BADLY),
    (ended("a", 255), X.USER_ERROR, None, R.USER_ERROR, E.ENDED_BADLY),
    (ended("a", None, signal=9), X.KILLED, signal.SIGKILL, R.KILLED, E.ENDED_BADLY),
    (ended("a", None, signal=11), X.CRASH, signal.SIGSEGV, R.CRASHED, E.ENDED_BADLY),
    (ended("a", None, signal=15), X.INTERRUPTED, signal.SIGTERM, R.INTERRUPTED, E.ENDED_BADLY),
    (ended("a", None, signal=10), X.CRASH, signal.SIGUSR1, R.CRASHED, E.ENDED_BADLY),
    (ended("a", None), X.USER_ERROR, None, R.USER_ERROR, E.ENDED_BADLY),
    (ended("a", cause="timeout", signal=15), X.TIMEOUT, 15, R.TIMED_OUT, E.ENDED_BADLY),
    (ended("a", cause="stopped", signal=15), X.STOPPED, 15, R.STOPPED, E.ENDED_STOPPED),
    (ended("a", cause="lost"), X.LOST, None, R.LOST, E.VANISHED),
    (ended("a", cause="not-started"), X.USER_ERROR, None, R.NOT_STARTED, E.ENDED_BADLY),
    (ended("a", cause="output-missing"), X.OUTPUT, None, R.OUTPUT_MISSING, E.ENDED_BADLY),
    (ended("a", cause="output-invalid"), X.OUTPUT, None, R.OUTPUT_INVALID, E.ENDED_BADLY),
    (ended("a", cause="not-published"), X.INFRASTRUCTURE, None, R.NOT_PUBLISHED, E.ENDED_BADLY),
]


@pytest.mark.parametrize(("end", "kind", "number", "code", "event"), ENDS)
def test_g19_every_end_has_its_class(
    end: Ended, kind: ExitClass, number: int | None, code: ReasonCode, event: Event
) -> None:
    assert classify(end) is kind
    assert signal_of(end) == number
    assert reason_code(end, kind) is code
    assert event_of(kind) is event


def test_every_class_has_an_event_and_only_a_good_end_ends_well() -> None:
    assert [kind for kind in X if event_of(kind) is E.ENDED_WELL] == [X.OK, X.SKIPPED]
