"""Tags lead to versions and move only when asked; versions go only when nothing refers to them."""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from build import PROJECT, insert, plan, step, version_of
from build import context as project
from trainwright.core.artifact import ArtifactKind, DatasetVersion, Input, PinnedData
from trainwright.core.changes import Changes
from trainwright.core.errors import ConflictError, DeniedError, NotFoundError, SpecError
from trainwright.core.ids import AttemptId, StepName
from trainwright.core.run import Attempt, Run
from trainwright.core.states import AttemptState, RunState
from trainwright.ports.testing.clock import VirtualClock
from trainwright.service import datasets, versions
from trainwright.service.context import Context
from trainwright.service.housekeeping import collect
from trainwright.store import runs


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Context]:
    """Return a project whose clock is, at first, that of the files."""
    opened = project(tmp_path)
    yield replace(opened, clock=VirtualClock(datetime.now(UTC)))
    opened.database.close()


def add(world: Context, text: str) -> DatasetVersion:
    path = world.here / "raw.csv"
    path.write_text(text)
    return datasets.add(world, "digits", "raw.csv")[0]


def number(world: Context, address: str) -> int:
    return datasets.resolve(world, address).version


def read_by_run(world: Context, address: str, name: str, *, model: bool = False) -> Run:
    """Write a run that ended and read a version."""
    (pinned,) = datasets.pin(world, {"raw": address}, world.here, {})
    record = insert(world.database, plan(step("train", out={"model": "model"}), data=(pinned,)), name)
    attempt, now = AttemptId(f"{name}/train/1"), world.clock.now()
    changes = Changes(
        run=replace(record, state=RunState.SUCCEEDED, finished_at=now),
        attempts=(Attempt(attempt, record.id, StepName("train"), 1, AttemptState.SUCCEEDED, "token", now),),
        inputs={attempt: (Input("data.raw", ArtifactKind.DATASET, pinned.content, pinned.address),)},
        models=(version_of(record, 1),) if model else (),
    )
    with world.database.writing() as rows:
        runs.take_lease(rows, record.id, "me", None, now)
        runs.apply(rows, record, changes, now, "me")
    return record


def audits(world: Context, action: str) -> list[dict[str, object]]:
    with world.database.reading() as rows:
        found = rows.all("SELECT subject, details FROM audit WHERE action = :action ORDER BY seq", {"action": action})
        return [{"subject": row["subject"], **json.loads(row["details"])} for row in found]


def test_a_tag_is_an_address_everywhere_and_pins_a_number(world: Context) -> None:
    add(world, "one")
    add(world, "two")
    assert versions.tag(world, "datasets/digits@1", "gold")[0].version == 1
    assert number(world, "datasets/digits@gold") == 1
    (pinned,) = datasets.pin(world, {"raw": "datasets/digits@gold"}, world.here, {})
    assert pinned.address == "datasets/digits@1"
    assert versions.tags_of(world) == {("digits", 1): ("gold",)}
    versions.untag(world, "datasets/digits@gold")
    with pytest.raises(NotFoundError, match="no version gold"):
        number(world, "datasets/digits@gold")
    with pytest.raises(NotFoundError, match="no version of digits has the tag gold"):
        versions.untag(world, "digits@gold")


def test_a_tag_moves_only_by_force_and_the_move_is_on_record(world: Context) -> None:
    add(world, "one")
    add(world, "two")
    versions.tag(world, "digits@1", "gold")
    versions.tag(world, "digits@1", "gold")
    with pytest.raises(ConflictError, match="gold is the tag of datasets/digits@1"):
        versions.tag(world, "digits@2", "gold")
    assert number(world, "datasets/digits@gold") == 1
    assert versions.tag(world, "digits@2", "gold", force=True)[1] == 1
    assert number(world, "datasets/digits@gold") == 2
    assert audits(world, "dataset.tagged") == [
        {"subject": "datasets/digits@1", "tag": "gold", "before": None},
        {"subject": "datasets/digits@2", "tag": "gold", "before": 1},
    ]


@pytest.mark.parametrize(
    "tag", ["latest", "previous", "3", "v3", "V2", "1.0", "v1.2.3", "2026-05", "sha256:abc", "sha256", "deadbeef",
            "", "a b", "a@b", "a#b", "-x", "a/b", "x" * 65],
)  # fmt: skip
def test_what_looks_like_something_else_is_no_tag(world: Context, tag: str) -> None:
    add(world, "one")
    with pytest.raises(SpecError) as caught:
        versions.tag(world, "digits@1", tag)
    assert caught.value.problem.code == "TW2122"


def test_previous_is_the_version_before_the_newest(world: Context) -> None:
    add(world, "one")
    assert number(world, "datasets/digits@previous") == 1
    add(world, "two")
    add(world, "three")
    assert number(world, "datasets/digits@previous") == 2


def test_a_version_that_something_refers_to_stays_and_says_what(world: Context) -> None:
    add(world, "one")
    for place in range(7):
        read_by_run(
            world, "datasets/digits@1#split=raw" if place else "datasets/digits@1", f"r{place}", model=not place
        )
    versions.tag(world, "digits@1", "gold")
    with pytest.raises(DeniedError) as caught:
        versions.remove(world, "digits@1")
    problem = caught.value.problem
    assert (problem.code, problem.details["count"]) == ("TW3501", 9)
    assert problem.why == "datasets/digits@gold, models/m/1, runs/r6, runs/r5, runs/r4 and 4 more"
    assert number(world, "datasets/digits@1") == 1


def test_a_number_is_given_once_and_equal_content_is_that_version_again(world: Context) -> None:
    add(world, "one")
    second = add(world, "two")
    assert versions.remove(world, "digits@2", dry_run=True) == second
    assert number(world, "datasets/digits@latest") == 2
    versions.remove(world, "digits@2")
    assert number(world, "datasets/digits@latest") == 1
    with pytest.raises(NotFoundError) as caught:
        number(world, "datasets/digits@2")
    assert caught.value.problem.message.endswith("by ada")
    assert "is back: tw dataset add digits" in caught.value.problem.remedy
    assert add(world, "three").version == 3
    assert add(world, "two").version == 2
    assert number(world, "datasets/digits@2") == 2
    (audit,) = audits(world, "dataset.removed")
    assert (audit["subject"], audit["digest"]) == ("datasets/digits@2", second.content.digest)


def test_the_last_version_of_a_dataset_may_go_too(world: Context) -> None:
    add(world, "one")
    versions.remove(world, "digits@1")
    with pytest.raises(NotFoundError, match="has no version"):
        number(world, "datasets/digits")


def test_a_run_does_not_begin_with_what_was_removed_meanwhile(world: Context) -> None:
    (pinned,) = [PinnedData("raw", "?", f"{add(world, 'one').address}#a=b", add(world, "one").content)]
    with world.database.reading() as rows:
        versions.refuse_removed(rows, world, [pinned])
    versions.remove(world, "digits@1")
    with world.database.reading() as rows, pytest.raises(NotFoundError, match="was removed"):
        versions.refuse_removed(rows, world, [pinned])


def test_a_rule_removes_old_versions_that_nothing_refers_to_with_the_next_collection(world: Context) -> None:
    made = [add(world, text) for text in "abcdef"]
    versions.tag(world, "digits@1", "gold")
    read_by_run(world, "datasets/digits@2", "r1")
    versions.keep(world, "digits", 2)
    world.clock.sleep(7200)
    told = collect(world, None, dry_run=True)
    assert told.versions == ("datasets/digits@3", "datasets/digits@4")
    assert world.content.has(made[2].content.digest)
    done = collect(world, None, dry_run=False)
    assert (done.versions, done.content) == (told.versions, told.content)
    assert [world.content.has(v.content.digest) for v in made] == [True, True, False, False, True, True]
    assert [v.version for v in datasets.versions(world, "digits")] == [6, 5, 2, 1]
    assert collect(world, None, dry_run=False).versions == ()
    versions.keep(world, "digits", 0)
    assert collect(world, timedelta(0), dry_run=False).versions == ()


def test_a_rule_counts_runs_that_go_in_the_same_collection_as_gone(world: Context) -> None:
    add(world, "a")
    add(world, "b")
    read_by_run(world, "datasets/digits@1", "old")
    read_by_run(world, "datasets/digits@2", "newest")
    versions.keep(world, "digits", 1)
    world.clock.sleep(7200)
    told = collect(world, timedelta(hours=1), dry_run=True)
    assert (told.removed, told.versions) == (("old",), ("datasets/digits@1",))
    done = collect(world, timedelta(hours=1), dry_run=False)
    assert (done.removed, done.versions, done.content) == (told.removed, told.versions, told.content)


def test_other_projects_keep_their_versions(world: Context) -> None:
    add(world, "a")
    add(world, "b")
    with world.database.writing() as rows:
        rows.write("INSERT INTO project (name, created_at) VALUES ('q', '')", {})
    other = replace(world, project=type(PROJECT)("q"))
    add(other, "a")
    versions.keep(world, "digits", 1)
    world.clock.sleep(7200)
    told = collect(world, None, dry_run=True)
    assert told.versions == ("datasets/digits@1",)
    assert told.content.manifests.count == 0, "the other project names the same content"
    assert number(other, "datasets/digits@1") == 1
