"""A watcher that is killed between any two of its acts is followed by another, and no event has two runs, or none."""

from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from lab import Death, Killed, MortalDatabase

from build import PROJECT, context
from trainwright.core.errors import TransientBackendError
from trainwright.core.ids import RunId
from trainwright.core.occasion import EventState
from trainwright.core.states import RunState
from trainwright.service import datasets, occasions, triggers
from trainwright.service.context import Context
from trainwright.service.firing import Outcome
from trainwright.service.watching import Watch
from trainwright.spec.document import Document
from trainwright.spec.load import load
from trainwright.store import journal, runs
from trainwright.store import triggers as store

PREPARE = """
pipeline: prepare
triggers:
  - cron: "0 3 * * *"
  - dataset: datasets/raw
    debounce: 10m
steps: {a: {run: "true"}}
"""
TRAIN = """
pipeline: train
params: {epochs: 3}
triggers:
  - run: prepare
    params: {epochs: 50}
  - webhook: labels-ready
steps: {a: {run: "true"}}
"""


def read(path: Path, name: str) -> Document:
    return load(path.read_text(), name)


class World:
    """One project with both pipelines armed; watchers die and come."""

    def __init__(self, folder: Path, death: Death) -> None:
        self.folder = folder / "code"
        self.folder.mkdir(parents=True)
        self.calm = context(folder)
        self.death = Death()
        self.database = MortalDatabase(self.calm.database.path, self.death)
        self.context: Context = replace(self.calm, database=self.database)
        for name, text in (("prepare", PREPARE), ("train", TRAIN)):
            path = self.folder / f"{name}.yaml"
            path.write_text(text)
            triggers.arm(self.calm, read(path, path.name), path.name, path)
        self.death.at = death.at
        self.died = 0
        self.watch = Watch(self.context, self.read)

    def read(self, path: Path, name: str) -> Document:
        self.death.here("before reading")
        return read(path, name)

    def survive(self, act: Callable[[], object]) -> None:
        """Do something until it has been done once without dying."""
        while True:
            try:
                act()
            except Killed:
                self.died += 1
                self.watch = Watch(self.context, self.read)
            else:
                return

    def look(self) -> None:
        self.survive(self._look)

    def _look(self) -> None:
        self.watch.look()

    def end_runs(self) -> None:
        with self.calm.database.writing() as rows:
            for head in runs.unfinished(rows, PROJECT):
                end(rows, head.run, self.calm.clock.now())

    def close(self) -> None:
        self.database.close()
        self.calm.database.close()


def end(rows, run_id: RunId, now: datetime) -> None:
    rows.write("UPDATE run SET state = 'succeeded' WHERE id = :id", {"id": run_id})
    record = runs.run(rows, run_id)
    assert record is not None
    journal.add_event(rows, record, f"runs/{run_id}", RunState.SUCCEEDED, None, now)


def lives(folder: Path, death: Death) -> int:
    """A night: two versions are added, the clock strikes three, runs end, a webhook is called twice with one id."""
    world = World(folder, death)
    with closing(world):
        clock = world.calm.clock
        for number in (1, 2):
            (folder / "data").write_text(str(number))
            datasets.add(world.calm, "raw", str(folder / "data"))
            world.look()
            clock.sleep(60)
        clock.sleep(600)
        world.look()  # the debounce is over
        world.end_runs()
        clock.sleep((datetime(2026, 1, 1, 3, tzinfo=UTC) - clock.now()).total_seconds())
        world.look()
        world.look()
        world.end_runs()
        world.look()
        answers = []
        for _ in range(2):
            world.survive(
                lambda: answers.append(occasions.deliver(world.context, world.read, "labels-ready", "D")[0].event.run)
            )
        world.look()
        with world.calm.database.reading() as rows:
            events = [e for t in store.triggers(rows, PROJECT) for e in store.newest_events(rows, t, 99)]
            started = runs.newest_runs(rows, PROJECT, 99)
        assert all(e.state is EventState.FIRED for e in events), events
        assert {r.id for r in started} == {e.run for e in events}
        assert Counter(r.submitted_by for r in started) == {
            "triggers/prepare/cron-1": 1, "triggers/prepare/dataset-1": 1, "triggers/train/run-1": 2,
            "triggers/train/webhook-1": 1,
        }  # fmt: skip
        assert {e.id for e in events if e.trigger == "triggers/prepare/dataset-1"} == {
            "datasets/raw@1",
            "datasets/raw@2",
        }
        assert answers[-1] is not None
        assert set(answers) == {answers[-1]}
        assert {r.params["epochs"] for r in started if r.submitted_by == "triggers/train/run-1"} == {50}
    return world.died


def test_a_watcher_killed_at_any_point_and_again_soon_after_starts_nothing_twice(tmp_path: Path) -> None:
    point, died = 0, 1
    while died:
        point += 1
        again = point + point % 3
        died = lives(tmp_path / str(point), Death(frozenset({point, again})))
    assert point > 20, "the points were not reached"


def test_watchers_that_die_after_every_few_acts_still_start_everything(tmp_path: Path) -> None:
    for every in (3, 4, 7):
        assert lives(tmp_path / str(every), Death(frozenset(range(every, 500, every)))) > 3


def test_two_watchers_and_a_delivery_at_the_same_moment_start_one_run(tmp_path: Path) -> None:
    world = World(tmp_path, Death())
    with closing(world):
        other = Watch(world.calm, read)

        world.calm.clock.sleep(2 * 3600)
        for number in range(4):  # before each of the four commits

            def meanwhile(delivery: str = f"D{number}") -> None:
                other.look()
                occasions.deliver(world.calm, read, "labels-ready", delivery)

            world.calm.clock.sleep(86400)
            world.database.before = [lambda: None] * number + [meanwhile]
            world.watch.look()
            answers = occasions.deliver(world.context, read, "labels-ready", f"D{number}")
            assert answers[0].event.run is not None
            assert not world.database.before
        assert Counter(r.submitted_by for r in _runs(world.calm)) == {
            "triggers/prepare/cron-1": 4, "triggers/train/webhook-1": 4,
        }  # fmt: skip
        events = _fired(world.calm)
        assert {e.run for e in events} == {r.id for r in _runs(world.calm)}
        assert len(events) == 8


def test_a_disk_that_takes_nothing_for_a_while_costs_no_event(tmp_path: Path) -> None:
    world = World(tmp_path, Death())
    with closing(world):
        full = [True]

        def read_or_not(path: Path, name: str) -> Document:
            if full[0]:
                raise TransientBackendError("TW6101", "no space")
            return read(path, name)

        watch = Watch(world.calm, read_or_not)
        world.calm.clock.sleep(3 * 3600)
        told = []
        for _ in range(2):
            assert watch.look() == []
            told.append(watch.trouble and watch.trouble.message)
        assert told == ["no space", None]  # the second time it rests
        full[0] = False
        world.calm.clock.sleep(20)
        outcomes: list[Outcome] = watch.look()
        assert [o.events[-1].id for o in outcomes] == ["2026-01-01T03:00:00Z"]


def _runs(project: Context):
    with project.database.reading() as rows:
        return runs.newest_runs(rows, PROJECT, 99)


def test_a_run_is_in_the_store_with_its_event_or_not_at_all(tmp_path: Path) -> None:
    """Killed just before the commit that writes the run: neither the run nor the mark on the event is there."""
    world = World(tmp_path, Death())
    with closing(world):
        world.calm.clock.sleep(3 * 3600)
        world.death.at = frozenset({len(world.death.seen) + 4})  # noted: 2 points; reading: 1; then the run
        with pytest.raises(Killed, match="before commit"):
            world.watch.look()
        assert _runs(world.calm) == []
        with world.calm.database.reading() as rows:
            (event,) = store.waiting(rows, PROJECT)
        assert event.at == datetime(2026, 1, 1, 3, tzinfo=UTC)
        world.calm.clock.sleep(timedelta(days=2).total_seconds())
        Watch(world.calm, read).look()
        ids = {e.id for e in _fired(world.calm)}
        assert ids == {
            "2026-01-01T03:00:00Z",
            "2026-01-03T03:00:00Z",
        }  # the one that waited, and of the missed the last


def _fired(project: Context):
    with project.database.reading() as rows:
        return [e for t in store.triggers(rows, PROJECT) for e in store.newest_events(rows, t, 99)]
