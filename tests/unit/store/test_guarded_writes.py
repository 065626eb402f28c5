"""Every write is guarded: who comes too late leaves no trace."""

import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from build import NOW, PROJECT, after, content, database, ended, insert, placed, plan, step, told, version_of, view
from trainwright.core.artifact import AliasMove, DatasetVersion
from trainwright.core.changes import Changes
from trainwright.core.errors import BackendError, TransientBackendError
from trainwright.core.ids import AttemptId, ProjectName, RunId
from trainwright.core.job import Retry
from trainwright.core.run import Run
from trainwright.core.states import ExitClass, RunState
from trainwright.lifecycle.advance import Happening
from trainwright.store import database as databases
from trainwright.store import datasets, journal, registry, runs
from trainwright.store.database import Database, Stale

OF = plan(step("a"), step("b"))
R = RunId("r")
TABLES = ("run", "step", "attempt", "metric", "output", "outbox", "event", "audit", "model_version", "alias_move")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Database]:
    opened = database(tmp_path)
    yield opened
    opened.close()


@pytest.fixture
def held(store: Database) -> Run:
    """A run whose lease ``one`` holds."""
    record = insert(store, OF)
    assert take(store, "one", None)
    return record


def take(store: Database, owner: str, held_by: str | None) -> bool:
    with store.writing() as rows:
        return runs.take_lease(rows, R, owner, held_by, after(15))


def write(store: Database, before: Run, changes: Changes, owner: str = "one") -> Run:
    with store.writing() as rows:
        return runs.apply(rows, before, changes, NOW, owner)[0]


def everything(store: Database) -> dict[str, list[tuple[object, ...]]]:
    with store.reading() as rows:
        return {table: [tuple(row) for row in rows.all(f"SELECT * FROM {table}")] for table in TABLES}


def test_the_second_of_two_writers_is_stale_and_leaves_no_trace(store: Database, held: Run) -> None:
    first, second = told(OF, view(OF))[1], told(OF, view(OF), at=after(5))[1]
    assert write(store, held, first).revision == 1
    before = everything(store)
    with pytest.raises(Stale):
        write(store, held, second)
    assert everything(store) == before


def test_who_lost_the_lease_writes_nothing(store: Database, held: Run) -> None:
    assert take(store, "two", "one")
    before = everything(store)
    with pytest.raises(Stale):
        write(store, held, told(OF, view(OF))[1])
    assert everything(store) == before


def test_a_lease_goes_to_one_of_those_who_saw_the_same_holder(store: Database, held: Run) -> None:
    assert [take(store, "two", "one"), take(store, "three", "one")] == [True, False]
    assert take(store, "two", "two")
    assert not take(store, "four", None)
    with store.reading() as rows:
        (head,) = runs.unfinished(rows, PROJECT)
    assert (head.run, head.lease_owner, head.lease_expires_at, head.revision) == ("r", "two", after(15), 0)


def test_a_stop_between_load_and_commit_makes_the_decision_stale(store: Database, held: Run) -> None:
    with store.writing() as rows:
        assert runs.ask_to_stop(rows, R, "bob")
        assert runs.ask_to_stop(rows, R, "eve")
    with pytest.raises(Stale):
        write(store, held, told(OF, view(OF))[1])
    with store.reading() as rows:
        now_is = runs.run(rows, R)
    assert now_is is not None
    assert now_is.stop_asked_by == "bob"


def test_a_finished_run_cannot_be_asked_to_stop_and_is_no_work(store: Database, held: Run) -> None:
    write(store, held, Changes(run=replace(held, state=RunState.SUCCEEDED)))
    with store.writing() as rows:
        assert not runs.ask_to_stop(rows, R, "bob")
        assert runs.unfinished(rows, PROJECT) == []


def test_a_commit_never_moves_who_asked_to_stop(store: Database, held: Run) -> None:
    write(store, held, Changes(run=replace(held, stop_asked_by="eve", state=RunState.RUNNING)))
    with store.reading() as rows:
        now_is = runs.run(rows, R)
    assert now_is is not None
    assert (now_is.stop_asked_by, now_is.state) == (None, RunState.RUNNING)


def test_g26_a_version_number_is_given_once_and_the_loser_writes_nothing(store: Database, held: Run) -> None:
    write(store, held, Changes(models=(version_of(held, 1, alias="prod"),)))
    before = everything(store)
    again = replace(held, revision=1)
    with pytest.raises(Stale):
        write(store, again, replace(told(OF, view(OF))[1], models=(version_of(held, 1),)))
    assert everything(store) == before
    with store.reading() as rows:
        assert registry.next_version(rows, PROJECT, "m") == 2
        assert registry.next_version(rows, PROJECT, "other") == 1
        assert registry.next_version(rows, ProjectName("q"), "m") == 1


def move(number: int, revision: int, before: int | None = None) -> AliasMove:
    return AliasMove("m", "prod", revision, before, number, "why", NOW, "ada")


def test_g26_an_alias_is_compare_and_set_and_its_history_is_complete(store: Database) -> None:
    with store.writing() as rows:
        registry.move_alias(rows, PROJECT, move(1, 1))
        registry.move_alias(rows, PROJECT, move(2, 2, 1))
    for late in (move(3, 1), move(3, 2, 1), move(3, 4, 2)):
        before = everything(store)
        with pytest.raises(Stale), store.writing() as rows:
            registry.move_alias(rows, PROJECT, late)
        assert everything(store) == before
    with store.reading() as rows:
        assert registry.alias_state(rows, PROJECT, "m", "prod") == (2, 2)
        assert registry.history(rows, PROJECT, "m", "prod") == [move(1, 1), move(2, 2, 1)]
        assert registry.alias_state(rows, PROJECT, "m", "new") == (None, 0)


def test_run_numbers_have_no_gaps_and_are_counted_by_project(store: Database) -> None:
    assert [insert(store, OF, f"r{i}").number for i in range(5)] == [1, 2, 3, 4, 5]
    with pytest.raises(Stale):
        insert(store, OF, "late", number=5)
    with pytest.raises(Stale):
        insert(store, OF, "r1")
    with store.reading() as rows:
        assert runs.next_number(rows, PROJECT) == 6
        assert runs.next_number(rows, ProjectName("q")) == 1
        assert [r.number for r in runs.newest_runs(rows, PROJECT, 3)] == [5, 4, 3]
        assert [r.number for r in runs.runs_with_fingerprint(rows, PROJECT, "%")] == []


def test_equal_content_cannot_become_two_versions_of_a_dataset(store: Database) -> None:
    with store.writing() as rows:
        datasets.insert(rows, PROJECT, DatasetVersion("d", 1, content("x"), "s", NOW, "ada"))
    for number, name in ((2, "x"), (1, "y")):
        with pytest.raises(Stale), store.writing() as rows:
            datasets.insert(rows, PROJECT, DatasetVersion("d", number, content(name), "s", NOW, "ada"))


def test_instructions_come_in_order_until_they_are_done(store: Database, held: Run) -> None:
    now_is, first = told(OF, view(OF))
    held = write(store, held, first)
    held = write(store, held, told(OF, now_is, placed("r/b/1"))[1])
    write(store, held, told(OF, now_is, placed("r/a/1"))[1])
    with store.writing() as rows:
        todo = journal.open_instructions(rows, R)
        assert [i.instruction.attempt for i in todo] == ["r/b/1", "r/a/1"]
        journal.mark_done(rows, [todo[0].seq], NOW)
        assert [i.instruction.attempt for i in journal.open_instructions(rows, R)] == ["r/a/1"]
        assert journal.open_instructions(rows, RunId("other")) == []


def test_every_change_of_state_is_an_event(store: Database, held: Run) -> None:
    write(store, held, told(OF, view(OF))[1])
    with store.reading() as rows:
        found = [tuple(row) for row in rows.all("SELECT subject, state FROM event ORDER BY seq")]
    assert found == [
        ("runs/r", "pending"), ("runs/r/a/1", "queued"), ("runs/r/b/1", "queued"),
        ("runs/r/a", "queued"), ("runs/r/b", "queued"), ("runs/r", "running"),
    ]  # fmt: skip


def test_who_holds_room_is_read_from_the_attempts(store: Database, held: Run) -> None:
    now_is, changes = told(OF, view(OF))
    held = write(store, held, changes)
    write(store, held, told(OF, now_is, placed("r/a/1", 1))[1])
    with store.reading() as rows:
        assert [(a.id, a.devices, r.id) for a, r in runs.holding(rows, PROJECT)] == [("r/a/1", (1,), "r")]


def test_attempts_that_ran_out_of_memory_are_counted_when_they_are_read(store: Database) -> None:
    often = plan(step("a", retry=Retry(max=9, on=(ExitClass.OOM, ExitClass.CRASH))), step("b"))
    held, now_is = insert(store, often, "s"), view(often, "s")
    with store.writing() as rows:
        assert runs.take_lease(rows, held.id, "one", None, NOW + runs.LEASE)
    script: list[Happening] = [
        h for n in (1, 2) for h in (placed(f"s/a/{n}"), ended(f"s/a/{n}", cause="out-of-memory"))
    ]
    script += [placed("s/a/3"), ended("s/a/3", exit_code=None, signal=11), placed("s/a/4"), placed("s/b/1")]
    now_is, changes = told(often, now_is)
    held = write(store, held, changes)
    for happening in script:
        now_is, changes = told(often, now_is, happening)
        held = write(store, held, changes)
    with store.reading() as rows:
        assert [(a.id, a.ooms) for a, _ in runs.holding(rows, PROJECT)] == [("s/a/4", 2), ("s/b/1", 0)]
        assert {a.id: a.ooms for a in runs.view(rows, held.id).attempts} == {a.id: a.ooms for a in now_is.attempts}


def test_a_block_that_raises_leaves_no_trace(store: Database) -> None:
    before = everything(store)
    with pytest.raises(KeyboardInterrupt):
        _write_and_be_interrupted(store)
    assert everything(store) == before
    assert insert(store, OF).number == 1


def _write_and_be_interrupted(store: Database) -> None:
    with store.writing() as rows:
        rows.write("INSERT INTO audit VALUES (1, 'p', '', '', '', '', '')", {})
        raise KeyboardInterrupt


def test_a_mistake_of_our_own_is_not_taken_for_a_race(store: Database) -> None:
    for sql in ("INSERT INTO project (name, created_at) VALUES ('x', NULL)",
                "INSERT INTO dataset_version VALUES ('nobody', 'd', 1, 'x', 1, 1, '', '', '')"):  # fmt: skip
        with pytest.raises(sqlite3.IntegrityError), store.writing() as rows:
            rows.write(sql, {})


def test_readers_see_one_moment_and_wait_for_nobody(store: Database, held: Run, tmp_path: Path) -> None:
    other = Database(store.path)
    with store.reading() as rows:
        assert runs.next_number(rows, PROJECT) == 2
        with other.writing() as theirs:
            theirs.write("DELETE FROM step", {})
            theirs.write("DELETE FROM event", {})
            theirs.write("DELETE FROM run", {})
        assert runs.next_number(rows, PROJECT) == 2
    with store.reading() as rows:
        assert runs.next_number(rows, PROJECT) == 1
    other.close()


def test_g23_a_lock_that_is_held_too_long_is_told_in_words(store: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(databases, "BUSY_TIMEOUT_S", 0.01)
    other = Database(store.path)
    with store.writing(), pytest.raises(TransientBackendError) as caught, other.writing():
        pass
    assert caught.value.problem.code == "TW6201"
    assert "nothing was written" in caught.value.problem.remedy
    other.close()


def test_a_file_that_is_no_database_is_told_in_words(tmp_path: Path) -> None:
    (tmp_path / "state.db").write_bytes(b"no database at all, " * 100)
    with pytest.raises(BackendError) as caught:
        database(tmp_path)
    assert (caught.value.problem.code, caught.value.transient) == ("TW6202", False)


def test_attempt_ids_are_unique(store: Database, held: Run) -> None:
    changes = told(OF, view(OF))[1]
    held = write(store, held, changes)
    doubled = replace(changes.attempts[0], id=AttemptId("r/a/other"))
    with pytest.raises(Stale):
        write(store, held, Changes(attempts=(doubled,)))
