"""The contract of ``ports.backend.Backend`` as tests: one for each numbered promise, named after it.

Subclass it as ``Test…`` and fill in the five methods at the top.
"""

from abc import ABC, abstractmethod

from trainwright.core.ids import AttemptId
from trainwright.core.job import JobSpec
from trainwright.ports.backend import Backend, Ended, Running

_LONG_S = 20.0
_SHORT_S = 0.02
_ROUNDS = 500


class BackendContract(ABC):
    """Every backend passes this."""

    @abstractmethod
    def open(self) -> Backend:
        """Return a backend over the world of this test; called again it stands for another process."""

    @abstractmethod
    def quick(self) -> JobSpec:
        """Return a job that ends well at once and publishes what it promised, at least one output."""

    @abstractmethod
    def endless(self) -> JobSpec:
        """Return a job that goes on until it is stopped and leaves processes behind where it can."""

    @abstractmethod
    def half(self) -> JobSpec:
        """Return a job that exits with 0 after writing only some of the outputs it promised."""

    @abstractmethod
    def traces(self, attempt: AttemptId) -> tuple[int, int]:
        """Return how often the command of an attempt began, and how many of its processes are there."""

    def test_1_a_second_start_for_one_attempt_starts_nothing(self) -> None:
        """Promise 1."""
        backend, job = self.open(), self.quick()
        backend.start(job)
        backend.start(job)
        first = await_end(backend, job.attempt)
        backend.start(job)
        self.open().start(job)
        backend.wait([job.attempt], 0.0)
        promise("a second start starts nothing", self.traces(job.attempt)[0] == 1)
        promise("a second start changes nothing", await_end(backend, job.attempt) == first)

    def test_2_start_returns_without_waiting_for_the_command(self) -> None:
        """Promise 2."""
        backend, job = self.open(), self.endless()
        backend.start(job)
        promise("the command goes on after start", isinstance(backend.observe(job.attempt), Running))
        self._finish(backend, job)

    def test_3_what_start_accepted_is_reported_also_from_another_process(self) -> None:
        """Promise 3."""
        backend, job = self.open(), self.endless()
        promise("an attempt never started is unknown", backend.observe(job.attempt) is None)
        backend.start(job)
        promise("another process sees it run", isinstance(self.open().observe(job.attempt), Running))
        self._finish(backend, job)
        promise("another process sees its end", isinstance(self.open().observe(job.attempt), Ended))

    def test_4_an_end_is_reported_only_when_no_process_is_left(self) -> None:
        """Promise 4."""
        backend, job = self.open(), self.endless()
        backend.start(job)
        for _ in range(_ROUNDS):
            if self.traces(job.attempt)[0]:
                break
            backend.wait([job.attempt], _SHORT_S)
        promise("it began", self.traces(job.attempt)[0] == 1)
        self._finish(backend, job)
        promise("nothing is left at the end", self.traces(job.attempt)[1] == 0)

    def test_5_an_end_is_reported_with_the_same_facts_however_often(self) -> None:
        """Promise 5."""
        backend, job = self.open(), self.quick()
        backend.start(job)
        first = await_end(backend, job.attempt)
        promise("the facts stay", backend.observe(job.attempt) == first == self.open().observe(job.attempt))
        promise("the end carries the token", first.token == job.token)
        promise("the command exited with 0", (first.cause, first.exit_code) == ("exited", 0))

    def test_6_stop_asks_and_returns_and_leaves_an_end_alone(self) -> None:
        """Promise 6."""
        backend, job = self.open(), self.endless()
        backend.start(job)
        backend.stop(job.attempt, "enough")
        backend.stop(job.attempt, "again")
        first = await_end(backend, job.attempt)
        promise("the first reason counts", (first.cause, first.message) == ("stopped", "enough"))
        backend.stop(job.attempt, "late")
        promise("stop leaves an end alone", backend.observe(job.attempt) == first)

    def test_7_what_was_stopped_before_its_start_never_starts(self) -> None:
        """Promise 7."""
        backend, job = self.open(), self.quick()
        backend.stop(job.attempt, "not wanted")
        backend.start(job)
        end = await_end(backend, job.attempt)
        promise("it ended as stopped", (end.cause, end.message) == ("stopped", "not wanted"))
        promise("it never began", self.traces(job.attempt)[0] == 0)

    def test_8_outputs_are_all_there_or_none_is(self) -> None:
        """Promise 8."""
        backend, quick, half = self.open(), self.quick(), self.half()
        backend.start(quick)
        backend.start(half)
        promise("all are there", set(await_end(backend, quick.attempt).outputs) == set(quick.outputs))
        end = await_end(backend, half.attempt)
        promise("none is there", end.cause == "output-missing" and not end.outputs)

    def _finish(self, backend: Backend, job: JobSpec) -> None:
        backend.stop(job.attempt, "the test is over")
        await_end(backend, job.attempt)


def await_end(backend: Backend, attempt: AttemptId, rounds: int = 50) -> Ended:
    """Wait for the end of an attempt.

    Raises:
        AssertionError: it does not end.
    """
    for _ in range(rounds):
        seen = backend.observe(attempt)
        if isinstance(seen, Ended):
            return seen
        backend.wait([attempt], _LONG_S)
    raise AssertionError(f"{attempt} does not end")


def promise(sentence: str, held: bool) -> None:  # noqa: FBT001 - reads as: promise that it held
    """Check one sentence.

    Raises:
        AssertionError: it does not hold.
    """
    if not held:
        raise AssertionError(f"broken promise: {sentence}")
