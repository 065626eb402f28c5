"""Arming a file's triggers, again and differently, and what people do to them."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from build import PROJECT, context
from trainwright.core.errors import DeniedError, NotFoundError, SpecError, TrainwrightError
from trainwright.core.occasion import Trigger, TriggerState
from trainwright.service import datasets, triggers
from trainwright.service.context import Context
from trainwright.service.triggers import Arming
from trainwright.spec.load import load
from trainwright.store import triggers as store

STEPS = 'steps: {a: {run: "true"}}\n'


@contextmanager
def project(folder: Path) -> Iterator[Context]:
    made = context(folder)
    yield made
    made.database.close()


def arm(into: Context, text: str, file: str = "p.yaml") -> list[Arming]:
    document = load(text + STEPS, file)
    seen = triggers.look_at(into, document, file, Path("/code") / file)
    done = triggers.arm(into, document, file, Path("/code") / file)
    assert [(a.trigger.address, a.change) for a in seen] == [(a.trigger.address, a.change) for a in done]
    return done


def changes(armings: list[Arming]) -> dict[str, str]:
    return {a.trigger.spec.name: a.change.value for a in armings}


def armed(in_: Context) -> list[Trigger]:
    with in_.database.reading() as rows:
        return store.triggers(rows, PROJECT)


def audit(in_: Context) -> list[str]:
    with in_.database.reading() as rows:
        return [row["action"] for row in rows.all("SELECT action FROM audit ORDER BY seq")]


DAILY = 'pipeline: p\ntriggers:\n  - cron: "0 3 * * *"\n'


def test_arming_shows_the_next_five_times(tmp_path: Path) -> None:
    with project(tmp_path) as here:
        (one,) = arm(here, DAILY)
        assert [t.day for t in one.next] == [1, 2, 3, 4, 5]
        assert one.next[0] == datetime(2026, 1, 1, 3, tzinfo=UTC)
        (kept,) = triggers.listed(here)
        assert kept.next == one.next
        assert kept.trigger == one.trigger


def test_arming_again_changes_only_what_the_file_changed(tmp_path: Path) -> None:
    with project(tmp_path) as here:
        text = DAILY + "  - dataset: datasets/d\n"
        assert changes(arm(here, text)) == {"cron-1": "new", "dataset-1": "new"}
        assert changes(arm(here, text)) == {"cron-1": "unchanged", "dataset-1": "unchanged"}
        assert changes(arm(here, DAILY)) == {"cron-1": "unchanged", "dataset-1": "gone"}
        assert [t.address for t in armed(here)] == ["triggers/p/cron-1"]
        assert audit(here) == ["trigger.armed", "trigger.armed"]
        assert changes(arm(here, "pipeline: p\n")) == {"cron-1": "gone"}
        with pytest.raises(SpecError) as caught:
            arm(here, "pipeline: p\n")
        assert caught.value.problem.code == "TW2301"


def test_a_new_policy_goes_on_where_the_old_one_was_and_a_new_schedule_begins_now(tmp_path: Path) -> None:
    with project(tmp_path) as here:
        begun = here.clock.now()
        arm(here, DAILY)
        here.clock.sleep(1000)
        assert changes(arm(here, DAILY + "    catch_up: none\n")) == {"cron-1": "changed"}
        assert armed(here)[0].since_at == begun
        arm(here, DAILY.replace("3", "4"))
        assert armed(here)[0].since_at == here.clock.now()


def test_what_is_paused_stays_paused_when_its_file_is_armed_anew(tmp_path: Path) -> None:
    with project(tmp_path) as here:
        arm(here, DAILY)
        triggers.pause(here, "p")
        arm(here, DAILY + "    catch_up: none\n")
        assert armed(here)[0].state is TriggerState.PAUSED
        assert triggers.listed(here)[0].next == ()
        here.clock.sleep(5 * 86400)
        triggers.resume(here, "triggers/p/cron-1")
        triggers.resume(here, "p/cron-1")
        assert armed(here)[0].since_at == here.clock.now()
        assert audit(here)[1:] == ["trigger.paused", "trigger.armed", "trigger.resumed"]


def test_a_pipeline_armed_from_another_file_says_so(tmp_path: Path) -> None:
    with project(tmp_path) as here:
        arm(here, DAILY)
        (moved,) = arm(here, DAILY, "q.yaml")
        assert moved.moved_from == "/code/p.yaml"
        assert armed(here)[0].path == "/code/q.yaml"


def test_versions_that_were_there_before_are_no_news(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("1")
    with project(tmp_path) as here:
        datasets.add(here, "d", str(tmp_path / "data"))
        arm(here, "pipeline: p\ntriggers: {dataset: datasets/d}\n")
        assert armed(here)[0].since_seq == 1


def test_a_circle_is_refused_at_the_place_that_closes_it(tmp_path: Path) -> None:
    with project(tmp_path) as here:
        for name, after in (("b", "a"), ("c", "b")):
            arm(here, f"pipeline: {name}\ntriggers: {{run: {after}}}\n")
        with pytest.raises(DeniedError) as caught:
            arm(here, "pipeline: a\ntriggers:\n  - run: x\n  - run: c\n", "a.yaml")
        problem = caught.value.problem
        assert (problem.code, problem.where) == ("TW3401", "a.yaml:4:10")
        assert problem.message == "the end of c starts a starts b starts c"
        arm(here, "pipeline: b\ntriggers: {run: x}\n")
        arm(here, "pipeline: a\ntriggers: {run: c}\n")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("pipeline: p\nparams: {opt: {lr: 0.1}}\ntriggers: {run: a, params: {opt.l: 1}}\n", "TW1031"),
        ("pipeline: p\nparams: {opt: {lr: 0.1}}\ntriggers: {run: a, params: {opt.lr: x}}\n", "TW1032"),
    ],
)
def test_parameters_are_put_together_before_anything_is_armed(tmp_path: Path, text: str, code: str) -> None:
    with project(tmp_path) as here:
        with pytest.raises(TrainwrightError) as caught:
            arm(here, text)
        assert (caught.value.problem.code, caught.value.problem.where[:9]) == (code, "p.yaml:3:")
        assert armed(here) == []


def test_a_trigger_is_found_by_what_it_is_called(tmp_path: Path) -> None:
    with project(tmp_path) as here:
        arm(here, DAILY + "  - run: q\n")
        for name in ("triggers/p/run-1", "p/run-1"):
            assert triggers.pause(here, name).spec.subject == "q"
        with pytest.raises(SpecError, match="p has 2 triggers"):
            triggers.pause(here, "p")
        with pytest.raises(NotFoundError) as caught:
            triggers.remove(here, "p/run-2")
        assert caught.value.problem.remedy == "did you mean p/run-1?"
        triggers.remove(here, "p/run-1")
        assert triggers.pause(here, "p").spec.name == "cron-1"
