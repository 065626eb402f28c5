"""What exporters are told: every change once in order, again after a failure or a crash, never less."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from build import context, insert, plan, step
from trainwright.core.errors import BackendError, TransientBackendError
from trainwright.core.ids import StepName
from trainwright.core.states import RunState, StepState
from trainwright.lifecycle.phases import Progress
from trainwright.ports.exporter import Change, Delivered, Destination, Phase
from trainwright.service import exporting
from trainwright.service.context import Context
from trainwright.service.exporting import Outgoing
from trainwright.store import exports, journal


class Recorder:
    """An exporter and its sink: takes notes, and fails where it is told to."""

    def __init__(self) -> None:
        self.taken: list[str] = []
        self.failures: list[BackendError] = []
        self.fails_at = ""

    def render(self, change: Change, namespace: str) -> tuple[str, ...]:
        who = change.subject.step or "run"
        return tuple(f"{change.seq} {who}#{change.subject.round} {phase.value}" for phase in change.phases)

    def open(self, destination: Destination) -> "Recorder":
        return self

    def deliver(self, items: Sequence[Sequence[str]]) -> Delivered:
        for place, item in enumerate(items):
            if self.failures and self.fails_at in item[0]:
                return Delivered(place, self.failures.pop(0))
            self.taken += item
        return Delivered(len(items))


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Context]:
    made = context(tmp_path)
    yield made
    made.database.close()


def to(world: Context, recorder: Recorder) -> Outgoing:
    return Outgoing(world, recorder, Destination("fake", "here"))


def happen(world: Context, *changes: str) -> None:
    """Note changes of the run ``r``: ``running``, ``a running``, ``a/1 queued``."""
    with world.database.reading() as rows:
        from trainwright.store import runs

        record = runs.run(rows, "r")  # type: ignore[arg-type]
    assert record is not None
    with world.database.writing() as rows:
        for text in changes:
            step_, _, state = text.rpartition(" ")
            journal.add_event(rows, record, f"runs/r{'/' if step_ else ''}{step_}", state, None, world.clock.now())


LIFE = ("running", "a/1 queued", "a queued", "a/1 running", "a running", "a/1 succeeded", "a succeeded", "b skipped")


def begun(world: Context, outgoing: Outgoing) -> None:
    outgoing.begin()
    insert(world.database, plan(step("a"), step("b")), "r")


def told(recorder: Recorder) -> list[str]:
    return [line.partition(" ")[2] for line in recorder.taken]


WHOLE = ["run#0 begin", "run#0 go-on", "a#0 begin", "a#0 go-on", "a#0 end", "run#0 end"]


def test_a_run_is_told_in_order_and_what_never_began_is_not(world: Context) -> None:
    recorder = Recorder()
    outgoing = to(world, recorder)
    begun(world, outgoing)
    happen(world, *LIFE, "succeeded")
    outgoing.send()
    assert told(recorder) == WHOLE
    assert outgoing.backlog() == 0
    assert outgoing.begin().sent == len(WHOLE)


def test_a_new_target_begins_with_what_happens_from_then_on(world: Context) -> None:
    insert(world.database, plan(step("a"), step("b")), "r")
    recorder = Recorder()
    outgoing = to(world, recorder)
    outgoing.begin()
    happen(world, "running")
    outgoing.send()
    assert told(recorder) == ["run#0 go-on"]
    assert next(documents for _, documents in outgoing.documents(0)) == ("1 run#0 begin",)


def test_what_was_tried_again_is_another_round(world: Context) -> None:
    recorder = Recorder()
    outgoing = to(world, recorder)
    begun(world, outgoing)
    happen(world, "running", "a queued", "a failed", "failed", "running", "a running", "a cached", "succeeded")
    outgoing.send()
    assert told(recorder)[-5:] == ["run#0 end", "run#1 begin", "a#1 begin", "a#1 end", "run#1 end"]


def test_a_target_that_fails_twice_gets_everything_in_the_end(world: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporting, "AT_ONCE", 3)
    recorder = Recorder()
    outgoing = to(world, recorder)
    begun(world, outgoing)
    happen(world, *LIFE, "succeeded")
    recorder.fails_at, recorder.failures = "a#0 go-on", [TransientBackendError("TW6701", "no")] * 2
    pauses = []
    while outgoing.backlog():
        outgoing.send()
        pauses.append(outgoing.pause_s())
        world.clock.sleep(pauses[-1])
    assert told(recorder) == WHOLE
    assert [pause for pause in pauses if pause] == [1.0, 2.0]
    cursor = outgoing.begin()
    assert (cursor.failures, cursor.problem, cursor.refused) == (0, "", 0)


def test_an_event_that_is_refused_for_good_is_passed_over_and_counted(world: Context) -> None:
    recorder = Recorder()
    outgoing = to(world, recorder)
    begun(world, outgoing)
    happen(world, *LIFE, "succeeded")
    recorder.fails_at, recorder.failures = "a#0 begin", [BackendError("TW6702", "malformed")]
    while outgoing.backlog():
        outgoing.send()
    assert told(recorder) == [line for line in WHOLE if line != "a#0 begin"]
    assert outgoing.begin().refused == 1


def test_killed_between_delivery_and_cursor_it_is_told_again(world: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = Recorder()
    outgoing = to(world, recorder)
    begun(world, outgoing)
    happen(world, *LIFE)

    class Killed(BaseException):
        pass

    def dies(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(exports, "move", dies)
        with pytest.raises(Killed):
            outgoing.send()
    happen(world, "succeeded")
    another = to(world, recorder)
    another.send()
    assert told(recorder) == [*WHOLE[:-1], *WHOLE]
    assert len(set(recorder.taken)) == len(WHOLE)


@pytest.mark.parametrize("size", [1, 2, 5, 100])
def test_the_size_of_a_turn_changes_nothing(world: Context, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(exporting, "AT_ONCE", size)
    recorder = Recorder()
    begun(world, to(world, recorder))
    happen(world, *LIFE, "failed", "running", "a running", "a succeeded", "succeeded")
    for _ in range(20):  # each turn by a process of its own
        to(world, recorder).send()
    assert told(recorder) == [*WHOLE, "run#1 begin", "a#1 begin", "a#1 end", "run#1 end"]


def test_the_doctor_says_what_waits(world: Context) -> None:
    recorder = Recorder()
    outgoing = to(world, recorder)
    begun(world, outgoing)
    assert outgoing.finding().ok
    recorder.failures = [TransientBackendError("TW6701", "nobody there")]
    outgoing.send()
    finding = outgoing.finding()
    assert not finding.ok
    assert finding.words == "0 sent to here, 1 changes of state still to be told: nobody there"


STEPS = st.tuples(st.just("step"), st.sampled_from(["a", "b"]), st.sampled_from(list(StepState)))
RUNS = st.tuples(st.just("run"), st.just(""), st.sampled_from(list(RunState)))


@given(st.lists(st.one_of(STEPS, RUNS), max_size=30))
def test_every_round_begins_first_and_ends_at_most_once(happened: list[tuple[str, str, str]]) -> None:
    progress = Progress()
    seen: dict[object, list[Phase]] = {}
    for kind, name, state in happened:
        step_ = StepName(name) if kind == "step" else None
        phases = progress.note_run(RunState(state)) if step_ is None else progress.note_step(step_, StepState(state))
        seen.setdefault(progress.subject(step_), []).extend(phases)
        progress.end(step_, phases)
    for told_ in filter(None, seen.values()):
        assert told_[0] is Phase.BEGIN
        assert told_.count(Phase.BEGIN) == 1
        assert Phase.END not in told_[:-1]
