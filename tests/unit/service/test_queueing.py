"""What people do to work that waits: held, released, moved; one row of the audit trail for each change."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from build import CHANCE, PROJECT, asks, context, insert, plan, step
from trainwright.core.errors import ConflictError, NotFoundError
from trainwright.core.ids import RunId
from trainwright.core.reasons import ReasonCode
from trainwright.engine.engine import Engine, World
from trainwright.ports.testing.fake import Script
from trainwright.service import queueing
from trainwright.service.context import Context
from trainwright.store import queues, runs

ONE = plan(step("a", asked=asks(cpu=4)))


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Context]:
    made = context(tmp_path, script=Script(lasts_s=10.0))
    yield made
    made.database.close()


def engine_of(world: Context) -> Engine:
    acts = World(
        database=world.database, backend=world.backend, clock=world.clock, read_value=lambda _: None,
        chance=lambda: CHANCE, project=PROJECT, owner="e", owner_is_gone=lambda _: True,
    )  # fmt: skip
    return Engine(acts)


def audited(world: Context) -> list[tuple[str, str, str]]:
    with world.database.reading() as rows:
        found = rows.all("SELECT actor, action, subject FROM audit WHERE action LIKE 'queue.%' ORDER BY seq")
    return [(row["actor"], row["action"], row["subject"]) for row in found]


def code(world: Context, run: str) -> ReasonCode | None:
    with world.database.reading() as rows:
        (attempt,) = runs.view(rows, RunId(run)).attempts
    return attempt.reason.code if attempt.reason else None


def test_a_held_run_waits_until_it_is_released(world: Context) -> None:
    insert(world.database, ONE)
    assert queueing.hold(world, "1").held_by == "ada"
    engine = engine_of(world)
    engine.turn()
    assert code(world, "r") is ReasonCode.ON_HOLD
    assert queueing.hold(replace(world, actor="bob"), "r").held_by == "ada", (
        "one who holds it already goes on holding it"
    )
    queueing.release(world, "r")
    engine.turn()
    assert code(world, "r") is None
    queueing.release(world, "r")
    assert audited(world) == [("ada", "queue.held", "runs/r"), ("ada", "queue.released", "runs/r")]


def test_a_held_queue_starts_nothing_declared_or_not(world: Context) -> None:
    insert(world.database, ONE)
    assert queueing.hold(world, "default").subject == "queues/default"
    engine = engine_of(world)
    engine.turn()
    assert code(world, "r") is ReasonCode.ON_HOLD
    queueing.release(world, "queues/default")
    engine.turn()
    assert code(world, "r") is None


def test_a_step_is_held_alone(world: Context) -> None:
    insert(world.database, plan(step("a"), step("b")))
    queueing.hold(world, "r/b")
    engine_of(world).turn()
    with world.database.reading() as rows:
        states = {str(a.step): str(a.state) for a in runs.view(rows, RunId("r")).attempts}
    assert states == {"a": "starting", "b": "queued"}


def test_one_that_is_moved_goes_first(world: Context) -> None:
    insert(world.database, ONE)
    insert(world.database, ONE, "s")
    insert(world.database, ONE, "t")
    queueing.move_to_front(world, "s")
    assert queueing.move_to_front(world, "t").rank == -2
    engine_of(world).turn()
    assert [job.run for job in world.backend.started] == ["t"]  # type: ignore[attr-defined]


def test_words_about_a_run_end_with_it(world: Context) -> None:
    insert(world.database, ONE)
    queueing.move(world, "r", 3)
    queueing.move(world, "r/a", 4)
    queueing.move(world, "r/a", 4)
    engine = engine_of(world)
    while engine.has_work():
        engine.turn()
        engine.wait(60)
    with world.database.reading() as rows:
        assert queues.words(rows, PROJECT) == {}
    assert len(audited(world)) == 2
    with pytest.raises(ConflictError) as caught:
        queueing.hold(world, "r")
    assert caught.value.problem.code == "TW5811"


def test_what_there_is_not_is_refused_by_name(world: Context) -> None:
    insert(world.database, ONE)
    with pytest.raises(NotFoundError):
        queueing.hold(world, "nobody")
    with pytest.raises(NotFoundError):
        queueing.hold(world, "r/nothing")
    with pytest.raises(ConflictError) as caught:
        queueing.move(world, "queues/default", 1)
    assert caught.value.problem.code == "TW5812"
