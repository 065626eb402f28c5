"""After any sequence of adding, tagging, running, removing and collecting, nothing that is referred to is gone."""

import tempfile
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from build import content, insert, plan, step, version_of
from build import context as project
from trainwright.core.artifact import Content
from trainwright.core.changes import Changes
from trainwright.core.errors import ConflictError, DeniedError, NotFoundError
from trainwright.core.states import RunState
from trainwright.ports.testing.clock import VirtualClock
from trainwright.service import datasets, versions
from trainwright.service.context import Context
from trainwright.service.housekeeping import collect
from trainwright.store import runs

TEXTS = st.sampled_from(["a", "b", "c", "d"])
NUMBERS = st.integers(1, 4)
ACTIONS = st.one_of(
    st.tuples(st.just("add"), TEXTS),
    st.tuples(st.just("tag"), st.tuples(NUMBERS, st.sampled_from(["gold", "silver"]))),
    st.tuples(st.just("untag"), st.sampled_from(["gold", "silver"])),
    st.tuples(st.just("run"), st.tuples(NUMBERS, st.sampled_from(["", "#split=train"]), st.booleans())),
    st.tuples(st.just("rm"), NUMBERS),
    st.tuples(st.just("keep"), st.integers(0, 2)),
    st.tuples(st.just("gc"), st.sampled_from([None, 0, 100])),
)


class Life:
    """A project, and beside it what must be there: a model of a few lines."""

    def __init__(self, folder: Path) -> None:
        opened = project(folder)
        self.world: Context = replace(opened, clock=VirtualClock(datetime.now(UTC)))
        self.begun = 0
        self.tags: dict[str, int] = {}
        self.read: dict[str, tuple[int, Content, bool]] = {}

    def add(self, text: str) -> None:
        for split in ("train", "test"):
            path = self.world.here / "digits" / f"{split}.csv"
            path.parent.mkdir(exist_ok=True)
            path.write_text(text if split == "train" else text * 2)
        datasets.add(self.world, "digits", "digits")

    def tag(self, given: tuple[int, str]) -> None:
        number, tag = given
        try:
            versions.tag(self.world, f"datasets/digits@{number}", tag)
        except (ConflictError, NotFoundError):
            return
        self.tags[tag] = number

    def untag(self, tag: str) -> None:
        if self.tags.pop(tag, None):
            versions.untag(self.world, f"datasets/digits@{tag}")

    def run(self, given: tuple[int, str, bool]) -> None:
        number, part, model = given
        try:
            (pinned,) = datasets.pin(self.world, {"raw": f"datasets/digits@{number}{part}"}, self.world.here, {})
        except NotFoundError:
            return
        self.begun += 1
        name = f"r{self.begun}"
        record = insert(self.world.database, plan(step("train"), data=(pinned,)), name)
        now = self.world.clock.now()
        count = 1 + sum(made for _, _, made in self.read.values())
        changes = Changes(
            run=replace(record, state=RunState.SUCCEEDED, finished_at=now),
            models=(replace(version_of(record, count), content=content(name)),) if model else (),
        )
        with self.world.database.writing() as rows:
            runs.take_lease(rows, record.id, "me", None, now)
            runs.apply(rows, record, changes, now, "me")
        self.read[name] = (number, pinned.content, model)

    def rm(self, number: int) -> None:
        needed = {*self.tags.values(), *(read for read, _, _ in self.read.values())}
        try:
            versions.remove(self.world, f"datasets/digits@{number}")
        except DeniedError:
            assert number in needed
        except NotFoundError:
            assert number not in needed
        else:
            assert number not in needed

    def keep(self, last: int) -> None:
        try:
            versions.keep(self.world, "digits", last)
        except NotFoundError:
            return

    def gc(self, keep_runs_s: int | None) -> None:
        self.world.clock.sleep(7200)
        age = None if keep_runs_s is None else timedelta(seconds=keep_runs_s)
        told = collect(self.world, age, dry_run=True)
        done = collect(self.world, age, dry_run=False)
        assert (told.removed, told.versions, told.content) == (done.removed, done.versions, done.content)
        for name in done.removed:
            assert not self.read[name][2], "a model was made by it"
            del self.read[name]

    def holds(self) -> None:
        """What is tagged and what was read is there, by its address and whole."""
        for tag, number in self.tags.items():
            version = datasets.resolve(self.world, f"datasets/digits@{tag}")
            assert version.version == number
            assert self.world.content.verify(version.content.digest)
        for number, pinned, _ in self.read.values():
            assert datasets.resolve(self.world, f"datasets/digits@{number}").version == number
            assert self.world.content.verify(pinned.digest)
        with self.world.database.reading() as rows:
            found = rows.all("SELECT version, digest FROM dataset_version")
            numbers = [row["version"] for row in found] + [
                row["version"] for row in rows.all("SELECT version FROM dataset_removed")
            ]
        assert len(numbers) == len(set(numbers))
        assert all(self.world.content.has(row["digest"]) for row in found)


@settings(max_examples=20, deadline=None)
@given(st.lists(ACTIONS, max_size=14))
def test_nothing_that_is_referred_to_goes(actions: list[tuple[str, object]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        life = Life(Path(folder))
        for action in (("add", "a"), ("add", "b"), *actions, ("gc", None)):
            getattr(life, action[0])(action[1])
            life.holds()
        life.world.database.close()
