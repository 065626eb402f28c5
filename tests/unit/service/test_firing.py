"""From an event to its run, or to the reason why there is none."""

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from build import PROJECT, context
from trainwright.core.errors import DeniedError, NotFoundError, SpecError
from trainwright.core.ids import RunId
from trainwright.core.occasion import EventState, TriggerEvent
from trainwright.core.run import Run
from trainwright.core.states import RunState
from trainwright.lifecycle.triggers import MOST_LINKS
from trainwright.service import occasions, triggers
from trainwright.service.context import Context
from trainwright.service.firing import Outcome
from trainwright.service.watching import Watch
from trainwright.service.why import story_lines
from trainwright.spec.document import Document
from trainwright.spec.load import load
from trainwright.store import journal, retention, runs
from trainwright.store import triggers as store

STEPS = 'steps: {a: {run: "true"}}\n'
HOOK = "pipeline: p\nparams: {n: {default: 1, range: [1, 9]}}\ntriggers: {webhook: labels, params: {n: 5}}\n" + STEPS
NEEDY = "pipeline: p\nparams: {n: 1, must: {type: str}}\ntriggers: {webhook: w, params: {must: a}}\n" + STEPS


def read(path: Path, name: str) -> Document:
    return load(path.read_text(), name)


@contextmanager
def project(folder: Path, **files: str) -> Iterator[Context]:
    made = context(folder)
    (folder / "code").mkdir()
    for name, text in files.items():
        arm(made, folder, name, text)
    yield made
    made.database.close()


def arm(into: Context, folder: Path, name: str, text: str) -> None:
    path = folder / "code" / f"{name}.yaml"
    path.write_text(text)
    triggers.arm(into, read(path, path.name), path.name, path)


def started(in_: Context) -> list[Run]:
    with in_.database.reading() as rows:
        return list(reversed(runs.newest_runs(rows, PROJECT, 99)))


def end_all(in_: Context, state: RunState = RunState.SUCCEEDED) -> None:
    with in_.database.writing() as rows:
        for head in runs.unfinished(rows, PROJECT):
            rows.write("UPDATE run SET state = :state WHERE id = :id", {"id": head.run, "state": state})
            record = runs.run(rows, head.run)
            assert record is not None
            journal.add_event(rows, record, f"runs/{head.run}", state, None, in_.clock.now())


def last_events(in_: Context) -> list[TriggerEvent]:
    return [one.last[0] for one in triggers.listed(in_) if one.last]


def call(in_: Context, delivery: str | None) -> str | None:
    return occasions.deliver(in_, read, "labels", delivery)[0].event.run


def test_g36_one_run_for_each_delivery_and_the_same_answer_to_every_repeat(tmp_path: Path) -> None:
    with project(tmp_path, p=HOOK) as here:
        first = call(here, "D")
        here.clock.sleep(5)
        assert call(here, "D") == first
        end_all(here)
        assert call(here, "D") == first
        again = replace(here, database=type(here.database)(here.database.path))  # another process
        assert call(again, "D") == first
        again.database.close()
        second = call(here, "E")
        assert second != first
        without = {call(here, None), call(here, None)}
        assert len(without | {first, second}) == 4
        assert [(r.id, r.params["n"], r.submitted_by) for r in started(here)][:1] == [
            (first, 5, "triggers/p/webhook-1")
        ]
        assert len(started(here)) == 4


def test_g36_the_same_delivery_on_several_connections_at_once_is_one_run(tmp_path: Path) -> None:
    with project(tmp_path, p=HOOK) as here:

        def connection(_: int) -> str | None:
            try:
                return call(here, "D")
            finally:
                here.database.close()

        with ThreadPoolExecutor(4) as pool:
            answers = set(pool.map(connection, range(8)))
        assert answers == {started(here)[0].id}
        assert len(started(here)) == 1


def test_g36_a_delivery_that_was_stored_and_not_fired_is_fired_by_who_watches(tmp_path: Path) -> None:
    with project(tmp_path, p=HOOK) as here:

        def dies(path: Path, name: str) -> Document:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            occasions.deliver(here, dies, "labels", "D")
        assert started(here) == []
        (outcome,) = Watch(here, read).look()
        assert outcome.run is not None
        assert call(here, "D") == outcome.run.id


def test_a_debounced_delivery_waits_and_both_get_the_same_run(tmp_path: Path) -> None:
    text = "pipeline: p\ntriggers: {webhook: labels, debounce: 10m}\n" + STEPS
    with project(tmp_path, p=text) as here:
        watch = Watch(here, read)
        assert call(here, "D") is None
        here.clock.sleep(300)
        assert call(here, "E") is None
        here.clock.sleep(500)
        assert watch.look() == []
        here.clock.sleep(100)
        (outcome,) = watch.look()
        assert [e.id for e in outcome.events] == ["D", "E"]
        assert outcome.run is not None
        assert call(here, "D") == call(here, "E") == outcome.run.id


@pytest.mark.parametrize("delivery", ["", " ", "a\nb", "x" * 201])
def test_what_cannot_be_an_id_is_refused(tmp_path: Path, delivery: str) -> None:
    with project(tmp_path, p=HOOK) as here, pytest.raises(SpecError):
        call(here, delivery)


def test_nobody_waits_or_all_are_paused(tmp_path: Path) -> None:
    with project(tmp_path, p=HOOK) as here:
        with pytest.raises(NotFoundError, match="no trigger waits for the webhook label"):
            occasions.deliver(here, read, "label", "D")
        triggers.pause(here, "p")
        with pytest.raises(DeniedError):
            call(here, "D")
        assert started(here) == []


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("pipeline: p\nsteps: 3\n", "TW1013", "no run was started: steps: 3 is an integer, not a mapping"),
        ("pipeline: other\n" + STEPS, "TW2308", "p.yaml holds the pipeline other by now, not p"),
        (HOOK.replace("[1, 9]", "[1, 3]").replace("n: 5", "n: 2"), "TW3101", "n = 5 is outside 1 … 3"),
        (HOOK.replace("{n:", "{m:"), "TW1031", "unknown parameter 'n'"),
        (NEEDY, "TW1033", "no value for must"),
        (HOOK.replace("steps", "data: {x: datasets/gone}\nsteps"), "TW4201", "no dataset is called gone"),
    ],
)
def test_an_obstacle_is_kept_with_the_event_and_the_trigger_stays_armed(
    tmp_path: Path, text: str, code: str, words: str
) -> None:
    with project(tmp_path, p=HOOK) as here:
        path = tmp_path / "code" / "p.yaml"
        path.write_text(text)
        assert call(here, "D") is None
        (event,) = last_events(here)
        assert event.state is EventState.FAILED
        assert event.reason is not None
        assert words in event.reason.sentence()
        assert event.reason.evidence["code"] == code
        assert "-p " not in event.reason.remedy()
        assert not str(event.reason.evidence["where"]).startswith("-p")
        path.write_text(HOOK)
        assert call(here, "E") is not None
        assert call(here, "D") is not None  # a repeat tries what failed again
        assert len(started(here)) == 2


def test_a_mistake_of_ours_ends_no_watch(tmp_path: Path) -> None:
    with project(tmp_path, p='pipeline: p\ntriggers: {cron: "0 3 * * *"}\n' + STEPS) as here:

        def breaks(path: Path, name: str) -> Document:
            raise ZeroDivisionError("wind")

        here.clock.sleep(3 * 3600)
        (outcome,) = Watch(here, breaks).look()
        assert outcome.reason is not None
        assert outcome.reason.evidence["code"] == "TW9001"


def test_a_file_that_says_otherwise_by_now_is_remarked_on(tmp_path: Path) -> None:
    with project(tmp_path, p='pipeline: p\ntriggers: {cron: "0 3 * * *"}\n' + STEPS) as here:
        (tmp_path / "code" / "p.yaml").write_text('pipeline: p\ntriggers: {cron: "0 4 * * *"}\n' + STEPS)
        here.clock.sleep(3 * 3600)
        (outcome,) = Watch(here, read).look()
        assert outcome.run is not None
        assert outcome.remark == "p.yaml says otherwise by now; to take it over: tw trigger add p.yaml"


def test_the_end_of_a_run_starts_the_next_and_both_tell_of_it(tmp_path: Path) -> None:
    after = "pipeline: q\ntriggers: {run: p, on: failed}\n" + STEPS
    with project(tmp_path, p=HOOK, q=after) as here:
        watch = Watch(here, read)
        call(here, "D")
        end_all(here)
        assert watch.look() == []
        call(here, "E")
        end_all(here, RunState.FAILED)
        (outcome,) = watch.look()
        assert outcome.run is not None
        first, second = started(here)[1], outcome.run
        assert story_lines(*triggers.story_of(here, second.id)) == (f"started by triggers/q/run-1 for {first.id}",)
        assert story_lines(*triggers.story_of(here, first.id)) == (
            "started by triggers/p/webhook-1 for E", f"its end, by triggers/q/run-1: started runs/{second.id}",
        )  # fmt: skip


def test_a_run_that_ends_again_after_a_retry_is_the_same_event(tmp_path: Path) -> None:
    with project(tmp_path, p=HOOK, q="pipeline: q\ntriggers: {run: p, on: any}\n" + STEPS) as here:
        watch = Watch(here, read)
        call(here, "D")
        end_all(here, RunState.FAILED)
        assert len(watch.look()) == 1
        with here.database.writing() as rows:
            rows.write("UPDATE run SET state = 'running' WHERE pipeline = 'p'", {})
        end_all(here)
        assert watch.look() == []
        assert len(started(here)) == 2


def test_a_chain_that_nobody_saw_coming_ends_with_a_reason(tmp_path: Path) -> None:
    with project(tmp_path, p=HOOK, q="pipeline: q\ntriggers: {run: p}\n" + STEPS) as here:
        with here.database.writing() as rows:  # as no file may: the circle is closed behind the check
            (one,) = [t for t in store.triggers(rows, PROJECT) if t.pipeline == "q"]
            path = str(tmp_path / "code" / "p.yaml")
            spec = replace(one.spec, subject="q")
            store.put(rows, replace(one, pipeline="p", spec=spec, path=path, file="p.yaml"))
        watch = Watch(here, read)
        call(here, "D")
        outcomes: list[Outcome] = []
        for _ in range(20):
            end_all(here)
            outcomes += watch.look()
        assert len(started(here)) == MOST_LINKS
        _, refused = triggers.story_of(here, started(here)[-1].id)
        (line,) = story_lines([], refused)
        assert "it would be number 9 in a chain of runs that start one another; 8 are the most" in line
        assert [e.state for e in last_events(here) if e.cause == started(here)[-1].id] == [EventState.FAILED]


NIGHTLY = 'pipeline: p\ntriggers: {cron: "30 2 * * *", timezone: Europe/Berlin}\n' + STEPS


def test_a_backfill_runs_each_time_once_over_a_change_of_the_clock(tmp_path: Path) -> None:
    with project(tmp_path, p=NIGHTLY) as here:
        trigger, times = occasions.times_of(here, "p", "2025-10-25", "2025-10-28")
        assert [e.id[5:16] for e in times] == ["10-25T00:30", "10-26T00:30", "10-27T01:30"]
        occasions.note_times(here, trigger, times)
        assert len(Watch(here, read).look()) == 3  # whoever watches finishes what a killed backfill left
        _, again = occasions.times_of(here, "p", "2025-10-24", "2025-10-28")
        assert [e.run is None for e in again] == [True, False, False, False]
        occasions.note_times(here, trigger, again)
        Watch(here, read).look()
        assert (
            Counter(e.run for e in occasions.times_of(here, "p", "2025-10-24", "2025-10-28")[1]).most_common(1)[0][1]
            == 1
        )
        assert len(started(here)) == 4


def test_the_ends_of_a_backfill_are_on_the_clock_of_the_trigger(tmp_path: Path) -> None:
    with project(tmp_path, p=NIGHTLY) as here:

        def ids(since: str, until: str) -> list[str]:
            return [e.id for e in occasions.times_of(here, "p", since, until)[1]]

        assert ids("2025-12-30T02:30", "2025-12-31T02:30") == ["2025-12-30T01:30:00Z"]
        assert ids("2025-12-30T02:30+00:00", "") == ["2025-12-31T01:30:00Z"]
        for since, until in (("soon", ""), ("2025-12-30", "2025-12-30"), ("2020-01-01", ""), ("2025-12-30", "soon")):
            with pytest.raises(SpecError):
                ids(since, until)


def test_a_zone_that_is_gone_stops_no_other_trigger(tmp_path: Path) -> None:
    with project(tmp_path, p=NIGHTLY, q=NIGHTLY.replace("pipeline: p", "pipeline: q")) as here:
        with here.database.writing() as rows:
            (one,) = [t for t in store.triggers(rows, PROJECT) if t.pipeline == "p"]
            store.put(rows, replace(one, spec=replace(one.spec, timezone="Europe/Atlantis")))
        here.clock.sleep(86400)
        watch = Watch(here, read)
        assert [o.trigger.pipeline for o in watch.look()] == ["q"]
        assert watch.trouble is not None
        assert "there is no time zone 'Europe/Atlantis', so triggers/p/cron-1 has no times" in watch.trouble.message
        assert triggers.listed(here)[0].next == ()


def test_a_long_backlog_is_started_in_parts(tmp_path: Path) -> None:
    text = 'pipeline: p\ntriggers: {cron: "* * * * *", catch_up: all(25)}\n' + STEPS
    with project(tmp_path, p=text) as here:
        here.clock.sleep(3600)
        watch = Watch(here, read)
        sizes = []
        while outcomes := watch.look():
            assert watch.wakes_at == here.clock.now()
            sizes.append(len(outcomes))
        assert sizes == [10, 10, 5]
        assert [r.submitted_by for r in started(here)] == ["triggers/p/cron-1"] * 25


def test_only_times_can_be_run_afterwards(tmp_path: Path) -> None:
    with project(tmp_path, p=HOOK) as here, pytest.raises(SpecError, match="only a cron trigger"):
        occasions.times_of(here, "p", "2025-01-01", "")


def test_what_happens_while_a_trigger_is_paused_starts_nothing_later(tmp_path: Path) -> None:
    with project(tmp_path, p=NIGHTLY, q="pipeline: q\ntriggers: {run: p, on: any}\n" + STEPS) as here:
        watch = Watch(here, read)
        for name in ("p", "q"):
            triggers.pause(here, name)
        here.clock.sleep(86400)
        assert watch.look() == []
        triggers.resume(here, "p")
        assert watch.look() == []
        here.clock.sleep(86400)
        assert len(watch.look()) == 1
        end_all(here)
        assert watch.look() == []
        triggers.resume(here, "q")
        assert watch.look() == []


def test_an_event_outlives_its_run_and_is_not_run_again(tmp_path: Path) -> None:
    with project(tmp_path, p=HOOK) as here:
        first = call(here, "D")
        call(here, "E")
        end_all(here)
        with here.database.writing() as rows:
            rows.write("UPDATE run SET finished_at = submitted_at", {})
            assert retention.remove_run(rows, RunId(first or ""), here.clock.now(), "ada")
        assert call(here, "D") == first
        assert len(started(here)) == 1
