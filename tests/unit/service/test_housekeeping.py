"""What nobody needs goes; what anybody of any project may still need stays, wherever the collector is killed."""

import os
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from build import PROJECT, content, insert, plan, step, version_of
from build import context as project
from trainwright.core.artifact import ArtifactKind, Content, DatasetVersion, Input, Output, PinnedData
from trainwright.core.changes import Changes
from trainwright.core.ids import AttemptId, Digest, ProjectName, RunId, StepName
from trainwright.core.run import Attempt, MetricSummary, Run
from trainwright.core.states import AttemptState, RunState
from trainwright.plan.plan import Plan
from trainwright.ports.testing.clock import VirtualClock
from trainwright.runtime import disk
from trainwright.service import removal
from trainwright.service.context import Context
from trainwright.service.housekeeping import Collected, collect, run_folder
from trainwright.service.repair import look_over
from trainwright.store import datasets, registry, retention, runs
from trainwright.store.migrate import open_database

OF = plan(step("train", out={"model": "model"}))
DAY = timedelta(days=1)
HOUR = timedelta(hours=1)
OF_A_RUN = ("metric", "attempt_input", "output", "attempt", "step", "outbox", "event")


class Killed(BaseException):
    """The collector's process dies here."""


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Context]:
    """Return a project whose clock is, at first, that of the files."""
    opened = project(tmp_path)
    yield replace(opened, clock=VirtualClock(datetime.now(UTC)))
    opened.database.close()


def stored(world: Context, text: str) -> Content:
    """Store a file; what is stored is old when the clock has gone on for more than an hour."""
    path = world.here / "source.txt"
    path.write_text(text)
    return world.content.put(path)


def over(
    world: Context, name: str, made: Content | None = None, *, ago: timedelta = 2 * DAY, of: Plan = OF,
    state: RunState = RunState.SUCCEEDED, reads: tuple[Input, ...] = (), model: bool = False, tree: str = "code",
) -> Run:  # fmt: skip
    """Write a run with one attempt that ended that long ago, and lay out its folder; it is unfinished when running."""
    record = insert(world.database, of, name, tree=tree)
    attempt = AttemptId(f"{name}/train/1")
    finished_at = world.clock.now() - ago if state.is_final else None
    ended = {RunState.SUCCEEDED: AttemptState.SUCCEEDED, RunState.RUNNING: AttemptState.RUNNING}
    changes = Changes(
        run=replace(record, state=state, finished_at=finished_at),
        attempts=(
            Attempt(
                attempt, record.id, StepName("train"), 1, ended.get(state, AttemptState.FAILED), "token",
                world.clock.now(), metrics={"auc": MetricSummary(1, 1, 1, 1)},
            ),
        ),
        inputs={attempt: reads} if reads else {},
        outputs=(Output(attempt, record.id, StepName("train"), "model", ArtifactKind.MODEL, made),) if made else (),
        models=(replace(version_of(record, 1), content=made or content("m")),) if model else (),
    )  # fmt: skip
    with world.database.writing() as rows:
        runs.take_lease(rows, record.id, "me", None, world.clock.now())
        runs.apply(rows, record, changes, world.clock.now(), "me")
    lay_out(world, attempt)
    return record


def lay_out(world: Context, attempt: AttemptId) -> Path:
    folder = world.backend.folder(attempt)
    for name in ("work", "inputs", "outputs"):
        (folder / name).mkdir(parents=True)
        (folder / name / "file").write_text("x" * 100)
    (folder / "inputs" / "link").symlink_to("/etc")
    (folder.parent / "checkpoints" / "000001-step-1").mkdir(parents=True)
    for name in ("log", "result.json", "events.jsonl"):
        (folder / name).write_text("{}")
    return folder


def there(world: Context, attempt: str) -> list[str]:
    return sorted(path.name for path in world.backend.folder(AttemptId(attempt)).iterdir())


def rows_of(world: Context, run: str) -> dict[str, int]:
    with world.database.reading() as rows:
        found = {
            table: rows.number(f"SELECT count(*) FROM {table} WHERE run_id = :run", {"run": run}) for table in OF_A_RUN
        }
        return found | {"run": rows.number("SELECT count(*) FROM run WHERE id = :run", {"run": run})}


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(p): p.read_bytes() if p.is_file() else b"" for p in sorted(folder.rglob("*")) if "state.db" not in p.name
    }


def later(world: Context, by: timedelta = 2 * HOUR) -> Context:
    world.clock.sleep(by.total_seconds())
    return world


def gone(world: Context, keep: timedelta | None = None, *, dry_run: bool = False) -> Collected:
    return collect(world, keep, dry_run=dry_run)


def test_scratch_of_what_is_over_goes_and_what_tells_of_it_stays(world: Context) -> None:
    over(world, "good", ago=2 * HOUR)
    over(world, "bad", ago=2 * HOUR, state=RunState.FAILED)
    over(world, "young", ago=HOUR / 2)
    over(world, "live", state=RunState.RUNNING)
    told = gone(world, dry_run=True)
    collected = gone(world)
    assert (collected.scratch.count, collected.scratch.size_bytes) == (2, 300 + 200)
    assert replace(collected, dry_run=True) == told
    records = ["events.jsonl", "log", "result.json"]
    assert there(world, "good/train/1") == records
    assert there(world, "bad/train/1") == [*records[:2], "outputs", "result.json"], "nothing of it was published"
    everything = ["events.jsonl", "inputs", "log", "outputs", "result.json", "work"]
    assert there(world, "young/train/1") == there(world, "live/train/1") == everything
    assert (world.backend.folder(AttemptId("bad/train/1")).parent / "checkpoints" / "000001-step-1").is_dir()
    assert Path("/etc").is_dir()
    assert gone(world).scratch.count == 0


def test_scratch_that_a_job_made_a_link_is_not_followed(world: Context, tmp_path: Path) -> None:
    over(world, "good", ago=2 * HOUR)
    work = world.backend.folder(AttemptId("good/train/1")) / "work"
    disk.remove(str(work))
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "thesis").write_text("years")
    work.symlink_to(tmp_path / "home")
    gone(world)
    assert not work.is_symlink()
    assert (tmp_path / "home" / "thesis").read_text() == "years"


def test_old_runs_go_with_all_their_rows_and_files_and_leave_an_audit(world: Context) -> None:
    over(world, "old", stored(world, "old"), tree="of its own")
    over(world, "newest")
    told = gone(world, DAY, dry_run=True)
    assert rows_of(world, "old")["event"] > 0
    collected = gone(world, DAY)
    assert collected.removed == told.removed == ("old",)
    assert collected.runs == told.runs
    assert set(rows_of(world, "old").values()) == {0}
    assert not run_folder(world, RunId("old")).exists()
    with world.database.reading() as rows:
        (audit,) = rows.all("SELECT * FROM audit WHERE action = 'run.removed'")
        assert (audit["subject"], audit["actor"]) == ("runs/old", "ada")
        assert rows.number("SELECT count(*) FROM fingerprint") == rows.number("SELECT count(*) FROM plan") == 1
        assert rows.all("PRAGMA foreign_key_check") == []
    assert gone(world, DAY).removed == ()


def test_runs_that_somebody_may_ask_for_stay(world: Context) -> None:
    made = stored(world, "read")
    read = Input("train.model", ArtifactKind.MODEL, made, "runs:/read/train/model")
    over(world, "model", stored(world, "model"), model=True)
    over(world, "read", made)
    over(world, "reader", reads=(read,), ago=HOUR)
    over(world, "pinned", stored(world, "pinned"))
    pinned = PinnedData("raw", "?", "runs:/pinned/train/model", made)
    over(world, "waits", of=plan(step("train", out={"model": "model"}), data=(pinned,)), state=RunState.RUNNING)
    over(world, "young", ago=HOUR)
    over(world, "failed", state=RunState.FAILED)
    over(world, "newest")
    assert gone(world, DAY).removed == ("failed",)
    with world.database.reading() as rows:
        assert runs.next_number(rows, PROJECT) == 9, "no number is ever given twice"


def test_a_chain_of_runs_that_read_one_another_goes_from_its_end(world: Context) -> None:
    made = stored(world, "1")
    over(world, "first", made)
    over(world, "second", reads=(Input("a.b", ArtifactKind.FILE, made, "runs:/first/train/model"),))
    over(world, "newest")
    assert gone(world, DAY).removed == ("second",)
    assert gone(world, DAY).removed == ("first",)


def test_a_run_that_was_taken_in_use_meanwhile_stays(world: Context) -> None:
    record = over(world, "old")
    over(world, "newest")
    with world.database.writing() as rows:
        assert retention.removable(rows, PROJECT, world.clock.now()) == ["newest", "old"][1:]
        rows.write("UPDATE run SET state = 'running' WHERE id = :id", {"id": record.id})
        assert not retention.remove_run(rows, record.id, world.clock.now(), "ada")
    assert rows_of(world, "old")["attempt"] == 1


def test_killed_between_records_and_folder_the_next_one_ends_it_and_unknown_folders_stay(
    world: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    over(world, "old")
    over(world, "newest", ago=timedelta(0))
    lay_out(world, AttemptId("unknown/train/1"))

    def die(_: str) -> bool:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(disk, "remove", die)
        with pytest.raises(Killed):
            gone(world, DAY)
    assert run_folder(world, RunId("old")).exists()
    assert gone(world).runs.count == 1
    assert not run_folder(world, RunId("old")).exists()
    assert run_folder(world, RunId("unknown")).exists(), "it may be in a backup that somebody restores"


def test_content_that_any_row_of_any_project_names_stays(world: Context, tmp_path: Path) -> None:
    named = {word: stored(world, word) for word in ("output", "model", "input", "dataset", "pinned", "code", "theirs")}
    unnamed = stored(world, "unnamed")
    read = Input("x", ArtifactKind.FILE, named["input"], "/somewhere")
    data = PinnedData("raw", "/raw", "/raw", named["pinned"])
    over(world, "r1", named["output"], reads=(read,), of=plan(step("train", out={"model": "model"}), data=(data,)))
    over(world, "r2", named["model"], model=True)
    name_code(world, named["code"])
    add(world, PROJECT, named["dataset"])
    open_database(tmp_path / "state.db", "other", world.clock.now()).close()
    add(world, ProjectName("other"), named["theirs"])
    told = gone(later(world), dry_run=True)
    swept = gone(world).content
    assert told.content == swept
    assert (swept.manifests.count, swept.blobs.count) == (1, 1)
    assert not world.content.has(unnamed.digest)
    for word, kept in named.items():
        assert world.content.export(kept.digest, tmp_path / f"out-{word}").read_text() == word


def name_code(world: Context, code: Content) -> None:
    """Let the fingerprint of a run name this code."""
    with world.database.writing() as rows:
        rows.write(
            "UPDATE fingerprint SET body = replace(body, :old, :new)",
            {"old": content("code").digest, "new": code.digest},
        )


def add(world: Context, owner: ProjectName, what: Content) -> None:
    version = DatasetVersion("raw", 1, what, "/raw", world.clock.now(), "ada")
    with world.database.writing() as rows:
        datasets.insert(rows, owner, version)


def test_what_an_attempt_has_published_and_nobody_has_taken_over_stays(world: Context) -> None:
    made = stored(world, "weights")
    over(world, "live", state=RunState.RUNNING)
    result = world.backend.folder(AttemptId("live/train/1")) / "result.json"
    result.write_text(f'{{"outputs": {{"model": {{"digest": "{made.digest}"}}}}}}')
    assert gone(later(world)).content.manifests.count == 0
    result.unlink()
    assert gone(world).content.manifests.count == 1


def test_content_of_removed_runs_goes_in_the_same_collection(world: Context) -> None:
    kept = stored(world, "kept")
    old = stored(world, "old")
    over(world, "model", kept, model=True)
    over(world, "old", old)
    over(world, "newest")
    later(world)
    before = files(world.here)
    told = gone(world, DAY, dry_run=True)
    assert files(world.here) == before
    collected = gone(world, DAY)
    assert collected.content == told.content
    assert collected.freed_bytes == told.freed_bytes > len("old")
    assert (world.content.has(kept.digest), world.content.has(old.digest)) == (True, False)


def test_damage_is_told_with_what_needs_the_bytes(world: Context) -> None:
    made = stored(world, "weights")
    over(world, "r1", made, model=True)
    add(world, PROJECT, made)
    assert all(finding.ok for finding in look_over(world, deep=False, repair=False))
    (_, _, digits) = world.content.entries(made.digest)[0]
    blob = world.here / "content" / "blobs" / digits[:2] / digits
    blob.chmod(0o644)
    blob.write_bytes(b"w")
    wanted = ("datasets/raw@1", "models/m/1", "runs:/r1/train/model")
    for repair in (False, True):
        found = {finding.subject: finding for finding in look_over(world, deep=False, repair=repair)}
        assert (found["content"].ok, found["content"].needed, found["content"].addresses) == (False, True, wanted)
        assert ("--repair" in found["content"].remedy) is not repair
    assert not blob.exists()
    stored(world, "weights")
    assert all(finding.ok for finding in look_over(world, deep=True, repair=False))


def test_what_can_be_mended_is_a_hint_before_and_fine_after(world: Context) -> None:
    over(world, "r1")
    folder = world.backend.folder(AttemptId("r1/train/1"))
    (folder / "result.json").write_bytes(b"")
    (folder / "job.json.0123456789abcdef.tmp").write_bytes(b"{")
    os.utime(folder / "job.json.0123456789abcdef.tmp", (0, 0))
    (folder.parents[2] / ".runtime").mkdir()
    (folder.parents[2] / ".runtime" / "runtime-x.pyz").write_bytes(b"no zip")
    before = {finding.subject: finding for finding in look_over(world, deep=False, repair=False)}
    assert [before[name].ok for name in ("records", "drafts", "runtime")] == [False] * 3
    assert "r1/train/1/result.json" in before["records"].words
    assert all(finding.ok for finding in look_over(world, deep=False, repair=True))
    assert all(finding.ok for finding in look_over(world, deep=False, repair=False))
    assert (folder / "result.json.broken").exists()


def test_copies_that_unfinished_runs_may_read_are_never_pulled_away(world: Context) -> None:
    made = stored(world, "x")
    over(world, "live", state=RunState.RUNNING, reads=(Input("a", ArtifactKind.FILE, made, "/x"),))
    tree = world.here / "content" / "trees" / made.digest[7:]
    (tree / "files").mkdir(parents=True)
    found = {finding.subject: finding.words for finding in look_over(world, deep=False, repair=True)}
    assert "1 in use" in found["copies"]
    assert tree.exists()
    with world.database.writing() as rows:
        rows.write("UPDATE run SET state = 'succeeded'", {})
    look_over(world, deep=False, repair=True)
    assert not tree.exists()


def test_every_digest_of_a_row_has_an_address(world: Context) -> None:
    made = stored(world, "x")
    over(world, "r1", made, model=True)
    with world.database.reading() as rows:
        named = retention.needed_by(rows)
        assert named[made.digest] == ["models/m/1", "runs:/r1/train/model"]
        assert named[Digest(content("code").digest)] == ["code or data of runs/r1"]
        assert retention.needed_by(rows, [RunId("r1")])[made.digest] == ["models/m/1"]
        assert retention.needed_now(rows) == set()


def test_no_table_that_belongs_to_a_run_is_forgotten(world: Context) -> None:
    with world.database.reading() as rows:
        tables = [row["name"] for row in rows.all("SELECT name FROM sqlite_master WHERE type = 'table'")]
        owned = {t for t in tables if any(c["name"] == "run_id" for c in rows.all(f"PRAGMA table_info({t})"))}
    assert owned == {*OF_A_RUN, "model_version", "model_removed", "trigger_event", "cache_entry"}, (
        "say in store/retention.py what becomes of the new one"
    )


def test_a_version_that_was_removed_from_the_registry_keeps_nothing_and_a_card_is_kept(world: Context) -> None:
    made, words = stored(world, "model"), stored(world, "about it")
    record = over(world, "r1", made)
    asked = replace(version_of(record, 1), content=made, card=words.digest)
    with world.database.writing() as rows:
        registry.insert_version(rows, PROJECT, asked, world.clock.now(), "ada")
    over(world, "r2", ago=HOUR)
    gone(later(world), DAY)
    assert world.content.has(made.digest)
    assert world.content.has(words.digest)
    removal.remove(world, "m/1", "")
    gone(later(world), DAY)
    assert not world.content.has(made.digest)
    assert not world.content.has(words.digest)
    assert rows_of(world, "r1")["run"] == 0
