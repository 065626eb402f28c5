"""What each of twenty-five processes does at the same moment; a module of its own, as a spawned process imports it.

That one process forks the others: each has a connection of its own and no time is spent on imports.
"""

import multiprocessing
import traceback
from dataclasses import replace
from datetime import timedelta
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier
from pathlib import Path

from build import PROJECT, context, insert, train_and_register, version_of
from trainwright.core.changes import Changes
from trainwright.core.errors import ConflictError
from trainwright.core.run import Run
from trainwright.service import promotion
from trainwright.service.context import Context
from trainwright.store import registry, runs
from trainwright.store.database import Stale

OF = train_and_register()
MOVES = 6


def race(home: Path, registering: int, moving: int, told: "Queue[object]") -> None:
    """Let so many processes register and so many move; tell what each of them answers."""
    fork = multiprocessing.get_context("fork")
    together, answers = fork.Barrier(registering + moving), fork.Queue()
    acts = [(register, n) for n in range(registering)] + [(move, n) for n in range(moving)]
    processes = [fork.Process(target=act, args=(n, home, together, answers)) for act, n in acts]
    for process in processes:
        process.start()
    told.put([answers.get(timeout=60) for _ in processes])
    for process in processes:
        process.join(60)


def register(number: int, home: Path, together: Barrier, told: "Queue[object]") -> None:
    """Register a version as an engine does: decided on what was read, and decided anew when that is stale."""
    _answer(told, lambda world: _register(world, f"r{number:02}", together), home, number)


def move(number: int, home: Path, together: Barrier, told: "Queue[object]") -> None:
    """Move the alias ``prod`` several times; note what was moved and whom a lost move names."""
    _answer(told, lambda world: _move(world, number, together), home, number)


def _answer(told: "Queue[object]", act: object, home: Path, number: int) -> None:
    try:
        world = replace(context(home), actor=f"p{number}")
        answer = act(world)  # type: ignore[operator]
        world.database.close()
        told.put(answer)
    except BaseException:  # noqa: BLE001 - whatever it is, the test shows it
        told.put(traceback.format_exc())


def _register(world: Context, name: str, together: Barrier) -> int:
    record: Run = insert(world.database, OF, name)
    with world.database.writing() as rows:
        assert runs.take_lease(rows, record.id, name, None, record.submitted_at + timedelta(seconds=15))
    together.wait()
    for stale in range(200):
        with world.database.reading() as rows:
            number = registry.next_version(rows, PROJECT, "m")
        decided = Changes(models=(version_of(record, number, alias="candidate"),))
        try:
            with world.database.writing() as rows:
                runs.apply(rows, record, decided, world.clock.now(), name)
        except Stale:
            continue
        return stale
    raise AssertionError("it never came to its turn")


def _move(world: Context, number: int, together: Barrier) -> list[tuple[str, object]]:
    found: list[tuple[str, object]] = []
    together.wait()
    for turn in range(MOVES):
        version = 1 + (number + turn) % 3
        try:
            done = promotion.promote(world, f"m/{version}", "prod", f"{number}.{turn}")
            assert done.move is not None
            found.append(("moved", done.move.revision))
        except ConflictError as lost:
            found.append(("lost", lost.problem.details.get("holder", "there already")))
    return found
