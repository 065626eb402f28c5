"""What is noted and started, when, and what is not: tables, and a watcher's life by the thousand."""

from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from build import PROJECT
from trainwright.core.cron import next_times
from trainwright.core.ids import RunId
from trainwright.core.occasion import EndedRun, EventState, NewVersion, Trigger, TriggerEvent, TriggerState
from trainwright.core.states import RunState
from trainwright.core.trigger import RunEnd, TriggerKind, TriggerSpec
from trainwright.lifecycle.triggers import FAR_BEHIND, MOST_LINKS, Facts, Fire, Note, circle, due, wakes_at

START = datetime(2026, 3, 27, 12, tzinfo=UTC)


def trigger(spec: TriggerSpec, since: datetime = START, seq: int = 0, pipeline: str = "p") -> Trigger:
    return Trigger(PROJECT, pipeline, spec, "p.yaml", "/p.yaml", TriggerState.ARMED, START, "ada", since, seq)


def cron(expression: str = "30 2 * * *", zone: str = "Europe/Berlin", catch_up: int = 1) -> Trigger:
    return trigger(TriggerSpec("cron-1", TriggerKind.CRON, expression, zone, catch_up=catch_up))


def on_dataset(debounce_s: float = 0.0) -> Trigger:
    return trigger(TriggerSpec("dataset-1", TriggerKind.DATASET, "datasets/d", debounce_s=debounce_s))


def on_run(on: RunEnd = RunEnd.SUCCEEDED, seq: int = 0) -> Trigger:
    return trigger(TriggerSpec("run-1", TriggerKind.RUN, "q", on=on), seq=seq)


def fired(decisions: tuple[Note | Fire, ...]) -> list[list[str]]:
    return [[e.id for e in d.events] for d in decisions if isinstance(d, Fire)]


def event(name: str, at: datetime, depth: int = 0) -> TriggerEvent:
    return TriggerEvent("triggers/p/dataset-1", name, at, depth=depth)


def at(hours: float) -> datetime:
    return START + timedelta(hours=hours)


def test_nothing_is_due_before_its_time() -> None:
    assert due([cron()], Facts(), at(13.4)) == ()
    assert wakes_at([cron()], Facts(), START) == datetime(2026, 3, 28, 1, 30, tzinfo=UTC)


def test_a_time_that_has_come_is_noted_and_fired_once() -> None:
    note, fire = due([cron()], Facts(), at(13.5))
    assert isinstance(note, Note)
    assert note.since_at == datetime(2026, 3, 28, 1, 30, tzinfo=UTC)
    assert fired((note, fire)) == [["2026-03-28T01:30:00Z"]]
    moved = replace(cron(), since_at=note.since_at)
    assert due([moved], Facts(), at(13.6)) == ()


@pytest.mark.parametrize(
    ("catch_up", "late", "expected"),
    [
        (0, 0.05, ["04-05"]),  # three minutes late is on time
        (0, 0.2, []),
        (1, 0.2, ["04-05"]),
        (3, 0.2, ["04-03", "04-04", "04-05"]),
        (1000, 0.2, ["03-28", "03-29", "03-30", "03-31", "04-01", "04-02", "04-03", "04-04", "04-05"]),
    ],
)
def test_missed_times_are_made_up_for_as_the_policy_says(catch_up: int, late: float, expected: list[str]) -> None:
    now = datetime(2026, 4, 5, 0, 30, tzinfo=UTC) + timedelta(hours=late)
    decisions = due([cron(catch_up=catch_up)], Facts(), now)
    assert [ids[0][5:10] for ids in fired(decisions)] == expected
    (note,) = [d for d in decisions if isinstance(d, Note)]
    assert note.since_at == datetime(2026, 4, 5, 0, 30, tzinfo=UTC)


def test_a_clock_that_was_set_back_far_is_followed() -> None:
    ahead = replace(cron(), since_at=at(24 * 365))
    (note,) = due([ahead], Facts(), at(1))
    assert note == Note(ahead, (), at(1), 0)
    assert due([replace(cron(), since_at=at(1))], Facts(), at(1) - timedelta(seconds=20)) == ()


def test_each_new_version_is_an_event_and_starts_a_run() -> None:
    facts = Facts(versions={"d": (NewVersion(1, at(0)), NewVersion(2, at(1)))})
    decisions = due([on_dataset()], facts, at(1))
    assert fired(decisions) == [["datasets/d@1"], ["datasets/d@2"]]
    assert due([replace(on_dataset(), since_seq=2)], facts, at(1)) == ()


def test_several_events_become_one_run_when_it_has_been_quiet() -> None:
    waiting = (event("a", at(0)), event("b", at(0.1)))
    facts = Facts(waiting={"triggers/p/dataset-1": waiting})
    quiet = [on_dataset(debounce_s=600)]
    assert fired(due(quiet, facts, at(0.2))) == []
    assert wakes_at(quiet, facts, at(0.2)) == at(0.1) + timedelta(minutes=10)
    assert fired(due(quiet, facts, at(0.1) + timedelta(minutes=10))) == [["a", "b"]]


def test_it_never_waits_for_quiet_longer_than_ten_times() -> None:
    waiting = tuple(event(f"e{n}", START + timedelta(minutes=5 * n)) for n in range(21))
    facts = Facts(waiting={"triggers/p/dataset-1": waiting[:-1]})
    assert fired(due([on_dataset(600)], facts, START + timedelta(minutes=99))) == []
    facts = Facts(waiting={"triggers/p/dataset-1": waiting})
    assert len(fired(due([on_dataset(600)], facts, START + timedelta(minutes=100)))[0]) == 21


def test_a_clock_set_back_does_not_make_a_debounce_wait_for_years() -> None:
    facts = Facts(waiting={"triggers/p/dataset-1": (event("a", at(24 * 365)),)})
    assert fired(due([on_dataset(600)], facts, START)) == [["a"]]


def ended(seq: int, state: RunState, depth: int = 0, pipeline: str = "q") -> EndedRun:
    return EndedRun(seq, RunId(f"r{seq}"), pipeline, state, START, depth)


ENDS = (
    ended(1, RunState.SUCCEEDED),
    ended(2, RunState.FAILED),
    ended(3, RunState.CANCELLED),
    ended(4, RunState.SUCCEEDED, pipeline="other"),
)


@pytest.mark.parametrize(
    ("on", "expected"),
    [(RunEnd.SUCCEEDED, ["r1"]), (RunEnd.FAILED, ["r2"]), (RunEnd.ANY, ["r1", "r2", "r3"])],
)
def test_only_the_ends_that_count_start_a_run(on: RunEnd, expected: list[str]) -> None:
    decisions = due([on_run(on)], Facts(ended=ENDS, head_seq=9), START)
    assert [ids[0] for ids in fired(decisions)] == expected
    assert [d.since_seq for d in decisions if isinstance(d, Note)] == [9]


def test_a_trigger_that_passed_over_much_writes_down_how_far_it_has_read() -> None:
    assert due([on_run()], Facts(head_seq=FAR_BEHIND - 1), START) == ()
    assert due([on_run()], Facts(head_seq=FAR_BEHIND), START) == (Note(on_run(), (), START, FAR_BEHIND),)


def test_a_chain_of_runs_ends_with_a_reason() -> None:
    within, beyond = ended(1, RunState.SUCCEEDED, MOST_LINKS - 2), ended(2, RunState.SUCCEEDED, MOST_LINKS - 1)
    note, fire = due([on_run()], Facts(ended=(within, beyond), head_seq=2), START)
    assert fired((note, fire)) == [["r1"]]
    refused = note.events[1]
    assert refused.state is EventState.FAILED
    assert refused.reason is not None
    assert refused.reason.sentence().startswith("no run was started: it would be number 9 in a chain")


def test_a_circle_is_seen_however_long_it_is() -> None:
    starts = [("a", "b"), ("b", "c"), ("c", "d"), ("x", "a")]
    assert circle(starts, ("d", "a")) == ("d", "a", "b", "c", "d")
    assert circle(starts, ("d", "x")) == ("d", "x", "a", "b", "c", "d")
    assert circle(starts, ("a", "d")) == ()
    assert circle([], ("a", "a")) == ("a", "a")


@dataclass
class Kept:
    """A store in miniature: an id is taken once, what waits is fired once."""

    trigger: Trigger
    events: dict[str, TriggerEvent] = field(default_factory=dict)
    runs: Counter[str] = field(default_factory=Counter)

    def look(self, now: datetime, versions: tuple[NewVersion, ...], *, dies: int) -> None:
        """Do what one look does; a process that dies stops after ``dies`` of its commits."""
        waiting = tuple(e for e in self.events.values() if e.state is EventState.WAITING)
        new = tuple(v for v in versions if v.number > self.trigger.since_seq)
        facts = Facts(waiting={self.trigger.address: waiting}, versions={"d": new})
        for decision in due([self.trigger], facts, now)[:dies]:
            if isinstance(decision, Note):
                self.trigger = replace(self.trigger, since_at=decision.since_at, since_seq=decision.since_seq)
                for one in decision.events:
                    self.events.setdefault(one.id, one)
            else:
                fresh = [e for e in decision.events if self.events[e.id].state is EventState.WAITING]
                for one in fresh:
                    self.events[one.id] = replace(one, state=EventState.FIRED)
                    self.runs[one.id] += 1


SPANS = st.sampled_from([1, 20, 60, 600, 3600, 7200, 86400, 5 * 86400])
STEPS = st.lists(st.tuples(SPANS, st.booleans(), st.booleans(), st.sampled_from([0, 1, 9])), max_size=40)


@settings(max_examples=300, deadline=None)
@given(
    steps=STEPS,
    expression=st.sampled_from(["30 2 * * *", "*/15 * * * *", "0 7,9 * * 1-5", "59 23 31 12 *"]),
    zone=st.sampled_from(["Europe/Berlin", "America/Los_Angeles", "Australia/Lord_Howe", "UTC"]),
    catch_up=st.sampled_from([0, 1, 3]),
    start=st.sampled_from([datetime(2026, 3, 28, tzinfo=UTC), datetime(2026, 10, 24, tzinfo=UTC)]),
)
def test_whatever_the_clock_does_and_whoever_dies_no_time_runs_twice(
    steps: list[tuple[int, bool, bool, int]], expression: str, zone: str, catch_up: int, start: datetime
) -> None:
    kept = Kept(replace(cron(expression, zone, catch_up), since_at=start))
    now, farthest = start, start
    for span, back, _, dies in steps:
        now += timedelta(seconds=-span if back else span)
        farthest = max(farthest, now)
        kept.look(now, (), dies=dies)
    kept.look(now, (), dies=9)
    assert all(count == 1 for count in kept.runs.values())
    for event_id in kept.runs:
        nominal = datetime.fromisoformat(event_id)
        assert next_times(expression, zone, nominal - timedelta(seconds=1), 1) == (nominal,)
        assert nominal <= farthest


@settings(max_examples=100, deadline=None)
@given(waits=st.lists(st.integers(1, 240), min_size=1, max_size=60), catch_up=st.sampled_from([0, 1, 3]))
def test_who_watches_without_a_pause_misses_nothing(waits: list[int], catch_up: int) -> None:
    start = datetime(2026, 10, 25, 0, 0, tzinfo=UTC)
    kept, now = Kept(replace(cron("*/5 * * * *", catch_up=catch_up), since_at=start)), start
    for wait in waits:
        now += timedelta(seconds=wait)
        kept.look(now, (), dies=9)
    assert len(kept.runs) == len(until("*/5 * * * *", "Europe/Berlin", start, now))


@settings(max_examples=300, deadline=None)
@given(steps=STEPS, debounce=st.sampled_from([0.0, 60.0, 3600.0]))
def test_every_version_has_exactly_one_run_in_the_end(
    steps: list[tuple[int, bool, bool, int]], debounce: float
) -> None:
    kept, now = Kept(on_dataset(debounce)), START
    versions: tuple[NewVersion, ...] = ()
    for span, back, added, dies in steps:
        now += timedelta(seconds=-span if back else span)
        if added:
            versions += (NewVersion(len(versions) + 1, now),)
        kept.look(now, versions, dies=dies)
    kept.look(now + timedelta(days=400), versions, dies=100)
    kept.look(now + timedelta(days=400), versions, dies=100)
    assert kept.runs == Counter({f"datasets/d@{v.number}": 1 for v in versions})


def until(expression: str, zone: str, after: datetime, last: datetime) -> list[datetime]:
    found: list[datetime] = []
    since = after
    while times := [t for t in next_times(expression, zone, since, 500) if t <= last]:
        found += times
        since = times[-1]
    return found
