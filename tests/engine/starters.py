"""What each of sixteen processes does at the same moment; a module of its own, because spawned processes import it."""

import traceback
from dataclasses import replace
from datetime import timedelta
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier
from pathlib import Path

from build import first, insert, placed, plan, running, step, summary, tell, view
from trainwright.app import open_app
from trainwright.core.changes import Changes
from trainwright.core.run import Attempt
from trainwright.store import runs
from trainwright.store.database import Database

METRICS = 500
OF = plan(step("a"), params={"lr": 0.1, "layers": 3, "name": "x", "seed": 7, "flag": True})


def start(number: int, homes: list[Path], together: Barrier, told: "Queue[str]") -> None:
    """In each folder, when all are ready: open the project, create a run, write its metrics and facts."""
    for home in homes:
        together.wait()
        try:
            app = open_app(home, {"TW_HOME": str(home / "state"), "TW_PROJECT": "p", "TW_ACTOR": "ada"})
            write(app.database, f"r{number:02}")
            app.database.close()
            told.put("")
        except BaseException:  # noqa: BLE001 - whatever it is, the test shows it
            told.put(traceback.format_exc())


def write(database: Database, name: str) -> None:
    """Create a run and write all about its first attempt, in three transactions."""
    record = insert(database, OF, name)
    with database.writing() as rows:
        assert runs.take_lease(rows, record.id, name, None, record.submitted_at + timedelta(seconds=15))
    attempt = first(tell(OF, view(OF, name), placed(f"{name}/a/1"), running(f"{name}/a/1")).attempts)
    with database.writing() as rows:
        runs.apply(rows, record, Changes(attempts=(_full(attempt),)), record.submitted_at, name)


def _full(attempt: Attempt) -> Attempt:
    metrics = {f"m{i}": summary(i / 7) for i in range(METRICS)}
    return replace(attempt, metrics=metrics, params={"host": "a", "warm": 3})
