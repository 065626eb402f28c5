"""What a run that makes another one again leaves alone, and what it is compared with."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from build import (
    NOW,
    PROJECT,
    after,
    context,
    fingerprint,
    insert,
    plan,
    run,
    step,
    tell,
    train_and_register,
    version_of,
    view,
    well,
)
from trainwright.core.artifact import GateResult
from trainwright.core.changes import Changes
from trainwright.core.ids import RunId, StepName
from trainwright.core.reproduction import Gap, Grade, Reproduced
from trainwright.core.run import RunView
from trainwright.core.states import RunState, StepState
from trainwright.engine.production import with_registry
from trainwright.service.context import Context
from trainwright.store import registry, retention, runs, triggers

AGAIN = Reproduced(RunId("r1"), Grade.SAME_ENVIRONMENT, (Gap("seed", "none", Grade.SAME_ENVIRONMENT),))


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Context]:
    made = context(tmp_path)
    yield made
    made.database.close()


def again(of: RunView) -> RunView:
    return replace(of, run=replace(of.run, reproduces=AGAIN))


def test_it_registers_nothing_and_succeeds_all_the_same() -> None:
    of = train_and_register(alias="candidate")
    script = (*well("r/train/1", outputs=["model"]), *well("r/judge/1", metrics={"auc": 0.9}))
    first = tell(of, view(of), *script)
    assert first.step(StepName("register")).state is StepState.SUCCEEDED
    second = tell(of, again(view(of)), *script)
    assert second.run.state is RunState.SUCCEEDED
    skipped = second.step(StepName("register"))
    assert skipped.state is StepState.SKIPPED
    assert skipped.reason is not None
    assert "makes runs/r1 again" in skipped.reason.sentence()


def end(world: Context, name: str) -> None:
    with world.database.writing() as rows:
        runs.take_lease(rows, RunId(name), "e", None, after(9))
        before = runs.run(rows, RunId(name))
        assert before is not None
        runs.apply(rows, before, Changes(run=replace(before, state=RunState.SUCCEEDED)), NOW, "e")


def test_its_end_is_no_news_to_triggers(world: Context) -> None:
    of = plan(step("a"))
    insert(world.database, of, "r1")
    with world.database.writing() as rows:
        record = replace(run(of, "r2", number=2), reproduces=AGAIN)
        runs.insert_run(rows, replace(view(of, "r2"), run=record), of, fingerprint(of))
    for name in ("r1", "r2"):
        end(world, name)
    with world.database.reading() as rows:
        assert [e.run for e in triggers.ended_after(rows, PROJECT, 0)] == ["r1"]
        assert runs.run(rows, RunId("r2")) == replace(record, state=RunState.SUCCEEDED, revision=1)
        assert [r.id for r in runs.reproductions(rows, PROJECT, RunId("r1"))] == ["r2"]
        assert runs.reproductions(rows, PROJECT, RunId("r")) == []


@pytest.mark.parametrize(
    ("gate", "expected"),
    [
        (GateResult("auc >= production.auc", "passed", baseline="models/m/1"), ("models/m/1", {"auc": 0.9})),
        (GateResult("auc >= production.auc", "no-baseline"), None),
        (GateResult("auc >= production.auc", "passed", baseline="models/m/7"), ("models/m/2", {"auc": 0.9})),
    ],
)
def test_its_checks_are_compared_with_what_was_in_production_then(
    world: Context, gate: GateResult, expected: object
) -> None:
    of = plan(step("judge", checks=["auc >= production.auc"], baseline="m"))
    record = insert(world.database, of, "r1")
    with world.database.writing() as rows:
        for number in (1, 2):
            registry.insert_version(rows, PROJECT, version_of(record, number, alias="production"), NOW, "ada")
        runs.take_lease(rows, RunId("r1"), "e", None, after(9))
        judged = replace(runs.view(rows, RunId("r1")).step(StepName("judge")), gates=(gate,))
        runs.apply(rows, record, Changes(run=record, steps=(judged,)), NOW, "e")
        found = with_registry(rows, PROJECT, of, again(view(of, "r2"))).baselines.get("m")
        now = with_registry(rows, PROJECT, of, view(of, "r2")).baselines["m"]
    assert found == expected
    assert now[0] == "models/m/2"


def test_the_records_of_an_original_that_came_in_a_folder_are_kept(world: Context) -> None:
    of = plan(step("a"))
    digest = "sha256:" + "ab" * 32
    with world.database.writing() as rows:
        record = replace(run(of, "r2"), reproduces=replace(AGAIN, record=digest))
        runs.insert_run(rows, replace(view(of, "r2"), run=record), of, fingerprint(of))
    with world.database.reading() as rows:
        assert retention.needed_by(rows)[digest] == ["original of runs/r2"]  # type: ignore[index]
