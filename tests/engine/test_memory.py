"""The step cache in the engine: hits, misses and their reasons, one maker at a time, deaths at every point."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from lab import Death, Lab

from build import NOW, PROJECT, after, fingerprint, plan, register, run, step, summary, train_and_register
from trainwright.core.artifact import Content
from trainwright.core.cache import CacheMode, CachePolicy
from trainwright.core.ids import Digest, RunId, StepName
from trainwright.core.job import Command, JobSpec
from trainwright.core.reasons import ReasonCode
from trainwright.core.run import Attempt, RunView, StepRun, Tally, attempts_of, steps_of
from trainwright.core.scalar import Plain
from trainwright.core.states import StepState
from trainwright.engine.memory import Memory
from trainwright.lifecycle.again import again
from trainwright.plan.plan import Group, GroupKind, Plan, PlannedStep
from trainwright.plugins.stores.local import LocalContent
from trainwright.ports.testing.fake import Script
from trainwright.runtime import blobs, content
from trainwright.store import cache, retention, runs
from trainwright.store.database import Database
from trainwright.store.sources import Sources

CODE = {"train.py": "import model", "model.py": "", "other.py": ""}


class Reusing(Lab):
    """A lab whose engines remember; what attempts publish lies in a real content store."""

    def __init__(self, folder: Path, goes: Callable[[JobSpec], Script] = lambda _: Script()) -> None:
        self.goes = goes
        super().__init__(folder, self.ends)
        self.content = LocalContent(folder / "content")
        self.folder = folder
        self.made = 0
        self.memory = self.remembering

    def remembering(self, database: Database) -> Memory:
        return Memory(database, self.content, Sources(database, self.content, self.clock), PROJECT)

    def ends(self, job: JobSpec) -> Script:
        return replace(self.goes(job), outputs={name: self.store(f"{job.step} {name}") for name in job.outputs})

    def store(self, text: str) -> Content:
        file = self.folder / "made"
        file.write_text(text)
        return self.content.put(file)

    def tree(self, files: Mapping[str, str]) -> Digest:
        self.made += 1
        top = self.folder / f"tree{self.made}"
        for name, text in files.items():
            (top / name).parent.mkdir(parents=True, exist_ok=True)
            (top / name).write_text(text)
        return self.content.put(top).digest

    def submit(self, of: Plan, name: str, files: Mapping[str, str] = CODE, *, mode: CacheMode = CacheMode.AUTO) -> None:
        plain = fingerprint(of)
        known = replace(plain, code=replace(plain.code, tree=self.tree(files)))
        with self.database.writing() as rows:
            record = replace(
                run(of, name, number=runs.next_number(rows, PROJECT)), fingerprint=known.digest, cache=mode
            )
            steps = steps_of(StepRun(record.id, s.name, i, StepState.PENDING) for i, s in enumerate(of.steps))
            runs.insert_run(rows, RunView(record, steps, attempts_of(())), of, known)

    def carried(self, of: Plan, name: str, files: Mapping[str, str] = CODE, **more: CacheMode) -> RunView:
        """Submit a run and carry it to its end."""
        self.submit(of, name, files, **more)
        self.carry(self.engine(f"engine of {name}"))
        return self.view(name)

    def attempt_at(self, name: str, step_: str) -> Attempt:
        found = self.view(name).latest(step_)  # type: ignore[arg-type]
        assert found is not None
        return found

    def why(self, name: str, step_: str) -> str:
        reuse = self.attempt_at(name, step_).reuse
        return "" if reuse is None else reuse.sentence()

    def starts(self) -> list[str]:
        return [str(job.attempt) for job in self.backend.started]

    def entries(self) -> int:
        return self.count("SELECT count(*) FROM cache_entry")


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Reusing]:
    made = Reusing(tmp_path)
    yield made
    made.close()


def python(name: str, *, reads: tuple[str, ...] = (), out: str = "table", script: str = "train.py") -> PlannedStep:
    planned = step(name, reads=reads, out={out: "dataset"})
    return replace(planned, command=Command(shell=f"python {script}"))


PREP = python("prep", script="other.py")
TRAIN = python("train", reads=("prep.table",), out="model")
TWO = plan(PREP, TRAIN)


def test_the_second_run_of_the_same_starts_nothing(lab: Reusing) -> None:
    lab.carried(TWO, "a")
    view = lab.carried(TWO, "b")
    assert lab.starts() == ["a/prep/1", "a/train/1"]
    assert lab.states("b") == {
        "prep": "cached", "train": "cached", "run": "succeeded", "b/prep/1": "succeeded", "b/train/1": "succeeded",
    }  # fmt: skip
    made = {o.address: o.content for o in view.outputs}
    assert made == {
        "runs:/b/prep/table": lab.store("prep table"), "runs:/b/train/model": lab.store("train model"),
    }  # fmt: skip
    assert lab.why("b", "train").startswith("hit: equal to runs/a/train/1 (key ")
    assert view.steps["train"].reason == lab.attempt_at("b", "train").reuse  # type: ignore[index]
    assert lab.attempt_at("b", "train").started_at is None


def test_a_hit_has_the_metrics_and_facts_of_its_origin(lab: Reusing) -> None:
    lab.goes = lambda _: Script(metrics={"auc": 0.9}, params={"device": "cpu"})
    lab.carried(TWO, "a")
    lab.carried(TWO, "b")
    assert lab.attempt_at("b", "train").metrics == {"auc": summary(0.9)}
    assert lab.attempt_at("b", "train").params == {"device": "cpu"}


def test_code_that_a_step_does_not_use_does_not_matter(lab: Reusing) -> None:
    lab.carried(TWO, "a")
    lab.carried(TWO, "b", {**CODE, "other.py": "1"})
    assert lab.starts() == ["a/prep/1", "a/train/1", "b/prep/1"]
    assert lab.why("b", "prep") == "miss: code changed: other.py differs (compared with runs/a/prep/1)"
    assert lab.attempt_at("b", "train").origin == "a/train/1", "what prep made anew is the same"


def test_code_that_a_step_imports_matters(lab: Reusing) -> None:
    lab.carried(TWO, "a")
    lab.carried(TWO, "b", {**CODE, "model.py": "1"})
    assert lab.starts() == ["a/prep/1", "a/train/1", "b/train/1"]
    assert lab.why("b", "train") == "miss: code changed: model.py differs (compared with runs/a/train/1)"
    assert lab.attempt_at("b", "train").reuse.evidence["code"] == "closure of train.py: 2 modules"  # type: ignore[union-attr]


def test_of_a_whole_tree_the_files_that_differ_are_named(lab: Reusing) -> None:
    piped = plan(replace(PREP, command=Command(shell="python other.py | cat")))
    lab.carried(piped, "a")
    lab.carried(piped, "b", {"train.py": "", "model.py": "", "new.md": ""})
    said = "miss: code changed: new.md is new, other.py is gone, train.py differs (compared with runs/a/prep/1)"
    assert lab.why("b", "prep") == said


def test_the_first_run_misses_because_nothing_was_made(lab: Reusing) -> None:
    lab.carried(TWO, "a")
    assert lab.why("a", "prep") == "miss: this step has made nothing before"


def test_a_step_without_outputs_runs_every_time(lab: Reusing) -> None:
    judge = plan(step("judge"))
    lab.carried(judge, "a")
    lab.carried(judge, "b")
    assert lab.starts() == ["a/judge/1", "b/judge/1"]
    assert lab.why("b", "judge") == ""
    assert lab.attempt_at("b", "judge").key == lab.attempt_at("a", "judge").key


def with_policy(of: Plan, policy: CachePolicy) -> Plan:
    return replace(of, steps=tuple(replace(s, cache=policy) for s in of.steps))


@pytest.mark.parametrize("by_step", [True, False])
def test_off_neither_reuses_nor_remembers(lab: Reusing, *, by_step: bool) -> None:
    off = with_policy(TWO, CachePolicy(CacheMode.OFF)) if by_step else TWO
    mode = CacheMode.AUTO if by_step else CacheMode.OFF
    lab.carried(off, "a", mode=mode)
    assert lab.entries() == 0
    lab.carried(TWO, "b")
    lab.carried(off, "c", mode=mode)
    assert lab.starts() == [f"{name}/{s}/1" for name in "abc" for s in ("prep", "train")]


@pytest.mark.parametrize("by_step", [True, False])
def test_refresh_runs_again_and_stands_in_the_place_of_the_old(lab: Reusing, *, by_step: bool) -> None:
    lab.carried(TWO, "a")
    again = with_policy(TWO, CachePolicy(CacheMode.REFRESH)) if by_step else TWO
    lab.carried(again, "b", mode=CacheMode.AUTO if by_step else CacheMode.REFRESH)
    assert lab.why("b", "prep") == "miss: asked to run again (cache: refresh)"
    lab.carried(TWO, "c")
    assert lab.attempt_at("c", "prep").origin == "b/prep/1"
    assert lab.entries() == 2


def test_what_is_older_than_the_ttl_is_made_again(lab: Reusing) -> None:
    short = with_policy(plan(PREP), CachePolicy(ttl_s=3600.0))
    lab.carried(short, "a")
    lab.clock.sleep(3000)
    lab.carried(short, "b")
    lab.clock.sleep(3000)
    lab.carried(short, "c")
    assert lab.starts() == ["a/prep/1", "c/prep/1"]
    assert lab.why("c", "prep") == "miss: what runs/a/prep/1 made is older than its ttl of 1h00m"
    lab.carried(plan(PREP), "d")
    assert lab.attempt_at("d", "prep").origin == "c/prep/1", "the new one stands in the place of the old"


def gone(path: Path) -> None:
    path.unlink()


def cut(path: Path) -> None:
    path.chmod(0o644)
    path.write_bytes(path.read_bytes()[:-1])


def replaced(path: Path) -> None:
    size = path.stat().st_size
    path.chmod(0o644)
    path.write_bytes(b"x" * size)


def untouched(_: Path) -> None:
    pass


@pytest.mark.parametrize(("damage", "runs_of_prep"), [(gone, 2), (cut, 2), (replaced, 2), (untouched, 1)])
@pytest.mark.parametrize("hits_before", [0, 1])
def test_a_hit_needs_what_it_stands_for(
    lab: Reusing, damage: Callable[[Path], None], runs_of_prep: int, hits_before: int
) -> None:
    """G05: the stored output of prep is removed, cut by a byte, or replaced by as many others."""
    lab.carried(TWO, "a")
    for number in range(hits_before):
        lab.carried(TWO, f"hit{number}")
    root = str(lab.folder / "content")
    digest = lab.store("prep table").digest
    damage(Path(blobs.blob(root, content.read_manifest(root, digest).entries[0].sha256)))
    view = lab.carried(TWO, "b")
    assert str(view.run.state) == "succeeded"
    assert len([name for name in lab.starts() if "/prep/" in name]) == runs_of_prep
    said = lab.why("b", "prep")
    assert said.startswith("hit: " if runs_of_prep == 1 else "miss: output missing or altered")
    assert lab.content.verify(digest), "it is whole again"
    lab.carried(TWO, "c")
    assert lab.attempt_at("c", "prep").origin == ("a/prep/1" if runs_of_prep == 1 else "b/prep/1")


def test_large_content_is_verified_beside_the_loop(lab: Reusing, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trainwright.engine.verifier._QUICK_BYTES", 0)
    lab.carried(TWO, "a")
    lab.submit(TWO, "b")
    engine = lab.engine("b")
    seen = set()
    while engine.has_work():
        engine.turn()
        now_is = lab.view("b")
        seen |= {str(a.reason.code) for a in now_is.attempts if a.reason is not None}
    assert lab.starts() == ["a/prep/1", "a/train/1"]
    assert lab.states("b")["train"] == "cached"
    assert seen <= {"verifying", "cache-hit"}


def test_a_step_whose_check_failed_is_judged_anew_and_not_run_again(lab: Reusing) -> None:
    lab.goes = lambda _: Script(metrics={"auc": 0.7})
    strict = plan(replace(PREP, checks=step("x", checks=["auc >= 0.8"]).checks))
    mild = plan(replace(PREP, checks=step("x", checks=["auc >= 0.6"]).checks))
    assert str(lab.carried(strict, "a").run.state) == "failed"
    assert str(lab.carried(mild, "b").steps["prep"].state) == "cached"  # type: ignore[index]
    failed = lab.carried(strict, "c").steps["prep"]  # type: ignore[index]
    assert failed.reason is not None
    assert failed.reason.code is ReasonCode.GATE_FAILED
    assert failed.reason.remedy().endswith(
        "it was not run again but reused from runs/a/prep/1: --cache refresh runs it"
    )
    assert lab.starts() == ["a/prep/1"]


@pytest.mark.parametrize("metrics", [{}, {"auc": float("nan")}])
def test_a_step_that_did_not_give_its_numbers_is_not_remembered(lab: Reusing, metrics: Mapping[str, float]) -> None:
    lab.goes = lambda _: Script(metrics=metrics)
    strict = plan(replace(PREP, checks=step("x", checks=["auc >= 0.8"]).checks))
    lab.carried(strict, "a")
    assert lab.entries() == 0


@pytest.mark.parametrize("bad", [Script(exit_code=1), Script(cause="lost", exit_code=None), Script(cause="timeout")])
def test_what_did_not_end_well_is_not_remembered(lab: Reusing, bad: Script) -> None:
    lab.goes = lambda _: bad
    lab.carried(TWO, "a")
    assert lab.entries() == 0


def test_a_fact_that_contradicts_the_run_is_no_hit(lab: Reusing) -> None:
    lab.goes = lambda _: Script(params={"seed": 7})
    lab.carried(plan(PREP, params={"seed": 7}), "a")
    lab.carried(plan(PREP, params={"seed": 8}), "b")
    assert lab.why("b", "prep") == "miss: runs/a/prep/1 noted another seed than this run has"


def test_a_registration_is_never_cached(lab: Reusing) -> None:
    lab.goes = lambda _: Script(metrics={"auc": 0.9})
    both = train_and_register()
    lab.carried(both, "a")
    lab.carried(both, "b")
    assert lab.versions() == [(1, "a"), (2, "b")]
    assert lab.states("b")["train"] == "cached"
    assert register("register").cache == CachePolicy()


def test_one_makes_it_and_the_others_wait_and_take_it(lab: Reusing) -> None:
    lab.submit(plan(PREP), "a")
    lab.submit(plan(PREP), "b")
    lab.submit(plan(PREP), "c")
    engine = lab.engine("one")
    engine.turn()
    waiting = lab.attempt_at("b", "prep").reason
    assert waiting is not None
    assert waiting.sentence() == "waits for runs/a/prep/1, which makes the same"
    lab.carry(engine)
    assert lab.starts() == ["a/prep/1"]
    assert [lab.attempt_at(name, "prep").origin for name in "bc"] == ["a/prep/1", "a/prep/1"]


def test_one_makes_it_for_the_runs_of_other_engines_too(lab: Reusing) -> None:
    lab.submit(plan(PREP), "a")
    one = lab.engine("one")
    one.turn()
    lab.submit(plan(PREP), "b")
    lab.living.add("one")
    two = lab.engine("two")
    two.turn()
    assert lab.starts() == ["a/prep/1"]
    lab.clock.sleep(5)
    one.turn()
    for _ in range(3):
        two.turn()
    assert lab.starts() == ["a/prep/1"]
    assert lab.states("b")["prep"] == "cached"


def test_when_the_maker_fails_the_next_one_runs(lab: Reusing) -> None:
    lab.goes = lambda job: Script(exit_code=1 if job.run == "a" else 0)
    for name in "abc":
        lab.submit(plan(PREP), name)
    lab.carry(lab.engine("one"))
    assert lab.starts() == ["a/prep/1", "b/prep/1"]
    assert [lab.states(name)["prep"] for name in "abc"] == ["failed", "succeeded", "cached"]


def test_when_the_maker_is_stopped_the_next_one_runs(lab: Reusing) -> None:
    lab.goes = lambda job: Script(lasts_s=None if job.run == "a" else 1.0)
    lab.submit(plan(PREP), "a")
    lab.submit(plan(PREP), "b")
    engine = lab.engine("one")
    engine.turn()
    lab.stop("a")
    lab.carry(engine)
    assert [lab.states(name)["prep"] for name in "ab"] == ["cancelled", "succeeded"]


def test_one_that_waits_can_be_stopped(lab: Reusing) -> None:
    lab.goes = lambda job: Script(lasts_s=30.0)
    lab.submit(plan(PREP), "a")
    lab.submit(plan(PREP), "b")
    engine = lab.engine("one")
    engine.turn()
    lab.stop("b")
    lab.carry(engine)
    assert [lab.states(name)["prep"] for name in "ab"] == ["succeeded", "cancelled"]


def test_one_that_backs_off_holds_back_nobody(lab: Reusing) -> None:
    retried = replace(PREP, retry=step("x", retry=1).retry)
    lab.goes = lambda job: Script(exit_code=1 if job.run == "a" and job.number == 1 else 0)
    lab.submit(plan(retried), "a")
    lab.submit(plan(retried), "b")
    lab.carry(lab.engine("one"))
    assert lab.starts() == ["a/prep/1", "b/prep/1"]
    assert lab.attempt_at("a", "prep").origin == "b/prep/1", "its repetition finds what the other made meanwhile"


def test_two_steps_with_one_command_are_two_trials(lab: Reusing) -> None:
    """Somebody wants to see how far they differ; and a script may look at its ``TW_STEP``."""
    lab.carried(plan(python("one"), python("two")), "a")
    assert len(lab.starts()) == 2


def test_two_pipelines_share_what_a_step_of_the_same_name_makes(lab: Reusing) -> None:
    lab.carried(plan(PREP), "a")
    lab.carried(replace(TWO, pipeline="other"), "b")
    assert lab.starts() == ["a/prep/1", "b/train/1"]


def test_a_run_asked_to_run_again_waits_for_nobody(lab: Reusing) -> None:
    lab.goes = lambda job: Script(lasts_s=30.0)
    lab.submit(plan(PREP), "a")
    lab.submit(plan(PREP), "b", mode=CacheMode.REFRESH)
    lab.engine("one").turn()
    assert lab.starts() == ["a/prep/1", "b/prep/1"]


def test_what_was_made_since_it_was_asked_for_is_taken(lab: Reusing) -> None:
    """Another engine commits the entry between our decision and our commit."""
    lab.submit(plan(PREP), "a")
    lab.submit(plan(PREP), "b")
    one = lab.engine("one", death := Death())
    assert death.seen == []
    with lab.database.writing() as rows:
        runs.take_lease(rows, RunId("b"), "two", None, after(3600))
    lab.living.add("two")
    mortal = lab.opened[-1]

    def other_makes_it() -> None:
        two = lab.engine("two")
        for _ in range(6):
            two.turn()
            two.wait(1)

    mortal.before += [lambda: None, lambda: None, other_makes_it]  # type: ignore[attr-defined] # lease, sources, commit
    lab.carry(one)
    assert lab.starts() == ["b/prep/1"]
    assert lab.attempt_at("a", "prep").origin == "b/prep/1"


def test_a_death_at_any_point_makes_nothing_twice_and_loses_nothing(tmp_path: Path) -> None:
    points = 0
    while True:
        lab = Reusing(tmp_path / str(points))
        for name in ("a", "b"):
            lab.submit(TWO, name)
        points += 1
        death = Death(frozenset({points}))
        died = lab.survive(death)
        assert [lab.states(name)["run"] for name in ("a", "b")] == ["succeeded", "succeeded"]
        assert lab.starts() == ["a/prep/1", "a/train/1"]
        assert lab.entries() == 2
        lab.close()
        if not died:
            assert points > 8
            return


def test_entries_go_with_their_run_or_to_another_that_has_the_same(lab: Reusing) -> None:
    for name in "abc":
        lab.carried(plan(PREP), name)
    for removed in "ba":
        with lab.database.writing() as rows:
            assert retention.remove_run(rows, RunId(removed), NOW, "ada")
    key = lab.attempt_at("c", "prep").key
    assert key is not None
    with lab.database.reading() as rows:
        entry = cache.entry(rows, PROJECT, key)
    assert entry is not None
    assert entry.attempt == "c/prep/1"
    lab.carried(plan(PREP), "d")
    assert lab.attempt_at("d", "prep").origin == "c/prep/1"
    lab.carried(TRAIN_ALONE, "e")
    for removed in ("c", "d"):
        with lab.database.writing() as rows:
            assert retention.remove_run(rows, RunId(removed), NOW, "ada")
    assert lab.entries() == 1, "nobody is left who made it"


TRAIN_ALONE = plan(python("alone"))


def test_what_somebody_tries_again_is_not_answered_from_memory(lab: Reusing) -> None:
    lab.goes = lambda _: Script(metrics={"auc": 0.7})
    strict = plan(replace(PREP, checks=step("x", checks=["auc >= 0.8"]).checks), TRAIN)
    lab.carried(strict, "a")
    lab.carried(strict, "b")
    assert lab.starts() == ["a/prep/1"]
    lab.goes = lambda _: Script(metrics={"auc": 0.9})
    with lab.database.writing() as rows:
        now_is = runs.view(rows, RunId("b"))
        assert runs.reopen(rows, now_is.run, again(strict, now_is).steps, NOW)
    lab.carry(lab.engine("again"))
    assert lab.starts() == ["a/prep/1", "b/prep/2", "b/train/1"]
    assert lab.why("b", "prep") == "miss: asked to run again (tw retry)"
    assert lab.states("b")["run"] == "succeeded"


def fanned(items: Sequence[Plain]) -> Plan:
    member = replace(python("each.*", out="row"), name=StepName("each.*"))
    return plan(PlannedStep(StepName("each"), group=Group(GroupKind.EACH, (member,), items=tuple(items))))


def test_of_a_fan_out_only_new_items_are_made(lab: Reusing) -> None:
    lab.carried(fanned(["x", "y"]), "a")
    view = lab.carried(fanned(["x", "z", "y"]), "b")
    assert lab.starts() == ["a/each.0/1", "a/each.1/1", "b/each.1/1"]
    assert view.steps[StepName("each")].tally == Tally(3, 3, 3, 3)
    assert lab.why("b", "each.1").startswith("miss: item changed (compared with runs/a/each.")


def test_a_large_fan_out_is_reused_as_a_whole(lab: Reusing) -> None:
    lab.carried(fanned(list(range(200))), "a")
    lab.carried(fanned(list(range(200))), "b")
    assert len(lab.starts()) == 200
    assert lab.count("SELECT count(*) FROM step WHERE run_id = 'b' AND state = 'cached'") == 200
