"""The contract of ``ports.backend.SupportsPreemption`` as tests: one for each numbered promise, named after it.

Subclass it as ``Test…`` and fill in the methods at the top.
"""

from abc import ABC, abstractmethod
from typing import Protocol

from trainwright.core.ids import AttemptId
from trainwright.core.job import JobSpec
from trainwright.ports.backend import Backend, Ended, Running, SupportsPreemption
from trainwright.ports.testing.backend import await_end, promise

_LONG_S = 600.0
_SHORT_S = 0.3
_LOOK_S = 0.02
_ROUNDS = 1000


class Preempting(Backend, SupportsPreemption, Protocol):
    """A backend with notice."""


class PreemptionContract(ABC):
    """Every backend that gives notice passes this."""

    @abstractmethod
    def open(self) -> Preempting:
        """Return a backend over the world of this test; called again it stands for another process."""

    @abstractmethod
    def leaver(self) -> JobSpec:
        """Return a job that goes on until it has notice, saves then, and leaves with a code of its own."""

    @abstractmethod
    def stayer(self) -> JobSpec:
        """Return a job that heeds no notice and no TERM, and leaves processes behind where it can."""

    @abstractmethod
    def finisher(self) -> JobSpec:
        """Return a job that heeds no notice, and ends well soon with all it promised, at least one output."""

    @abstractmethod
    def is_up(self, attempt: AttemptId) -> bool:
        """Tell whether the command of an attempt is where notice reaches it."""

    @abstractmethod
    def traces(self, attempt: AttemptId) -> tuple[int, int]:
        """Return how often the command of an attempt began, and how many of its processes are there."""

    @abstractmethod
    def save(self, attempt: AttemptId) -> None:
        """Let a running attempt commit a checkpoint."""

    def test_1_notice_is_given_and_the_attempt_goes_on_within_its_grace(self) -> None:
        """Promise 1."""
        backend, job = self.open(), self.stayer()
        self._begin(backend, job)
        backend.preempt(job.attempt, "room", _LONG_S)
        backend.wait([job.attempt], _SHORT_S)
        promise("it goes on", isinstance(backend.observe(job.attempt), Running))
        backend.stop(job.attempt, "the test is over")
        await_end(backend, job.attempt)

    def test_2_one_that_leaves_has_ended_as_preempted_whatever_its_code(self) -> None:
        """Promise 2."""
        backend, job = self.open(), self.leaver()
        self._begin(backend, job)
        backend.preempt(job.attempt, "room for a1", _LONG_S)
        end = await_end(backend, job.attempt)
        promise("it was preempted", (end.cause, end.message) == ("preempted", "room for a1"))
        promise("another process sees the same end", self.open().observe(job.attempt) == end)

    def test_3_one_that_stays_is_ended_when_its_grace_is_over(self) -> None:
        """Promise 3."""
        backend, job = self.open(), self.stayer()
        self._begin(backend, job)
        backend.preempt(job.attempt, "room", _SHORT_S)
        end = await_end(backend, job.attempt)
        promise("it was preempted", end.cause == "preempted")
        promise("the reason is told", end.message.startswith("room"))
        promise("nothing is left", self.traces(job.attempt)[1] == 0)

    def test_4_one_that_finishes_meanwhile_has_ended_as_if_nobody_had_asked(self) -> None:
        """Promise 4."""
        backend, job = self.open(), self.finisher()
        self._begin(backend, job)
        backend.preempt(job.attempt, "room", _LONG_S)
        end = await_end(backend, job.attempt)
        promise("it finished", (end.cause, end.exit_code, set(end.outputs)) == ("exited", 0, set(job.outputs)))

    def test_5_a_second_notice_changes_nothing_and_an_end_is_left_alone(self) -> None:
        """Promise 5."""
        backend, job = self.open(), self.stayer()
        self._begin(backend, job)
        backend.preempt(job.attempt, "first", _SHORT_S)
        self.open().preempt(job.attempt, "second", _LONG_S)
        end = await_end(backend, job.attempt)
        promise("the first notice counts", end.message.startswith("first"))
        backend.preempt(job.attempt, "late", 0.0)
        promise("notice leaves an end alone", backend.observe(job.attempt) == end)

    def test_6_stop_after_a_notice_wins(self) -> None:
        """Promise 6."""
        backend, job = self.open(), self.stayer()
        self._begin(backend, job)
        backend.preempt(job.attempt, "room", _LONG_S)
        backend.stop(job.attempt, "enough")
        end = await_end(backend, job.attempt)
        promise("it was stopped", (end.cause, end.message) == ("stopped", "enough"))

    def test_7_what_had_notice_before_its_start_never_starts(self) -> None:
        """Promise 7."""
        backend, job = self.open(), self.finisher()
        backend.preempt(job.attempt, "not now", _LONG_S)
        backend.start(job)
        end = await_end(backend, job.attempt)
        promise("it was preempted", (end.cause, end.message) == ("preempted", "not now"))
        promise("it never began", self.traces(job.attempt)[0] == 0)

    def test_8_when_it_last_saved_is_told_while_it_runs(self) -> None:
        """Promise 8."""
        backend, job = self.open(), self.stayer()
        self._begin(backend, job)
        seen = backend.observe(job.attempt)
        promise("it has not saved", isinstance(seen, Running) and seen.saved_at is None)
        self.save(job.attempt)
        seen, other = backend.observe(job.attempt), self.open().observe(job.attempt)
        promise("it has saved", isinstance(seen, Running) and seen.saved_at is not None)
        promise("others see the same", seen == other)
        backend.stop(job.attempt, "the test is over")
        promise("it ends", isinstance(await_end(backend, job.attempt), Ended))

    def _begin(self, backend: Preempting, job: JobSpec) -> None:
        backend.start(job)
        for _ in range(_ROUNDS):
            if self.is_up(job.attempt):
                return
            backend.wait([job.attempt], _LOOK_S)
        promise("it began", held=False)
