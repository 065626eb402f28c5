"""The engine's process of a round: opens the project in a folder, submits once, and carries all work to its end.

``python tests/crash/host.py FOLDER SCENARIO [--kill-at N | --freeze-at N]`` does alone what ``run.py`` does in a fork.
"""

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import scenario as scenarios
import seeded
from points import Points, note

from trainwright import app as composition
from trainwright.core.states import AttemptState
from trainwright.engine.engine import Engine
from trainwright.plugins.backends.local import backend as local
from trainwright.plugins.backends.local.ledger import Ledger
from trainwright.plugins.backends.local.settings import LocalSettings
from trainwright.runtime import atomic, supervisor
from trainwright.service import control
from trainwright.service.documents import read_document
from trainwright.service.submit import prepare, submit
from trainwright.store import migrate, runs
from trainwright.store.database import Database, Rows

LEASE_NOT_TAKEN = 7
FREEZE_LEASE = timedelta(seconds=0.4)
IN_FLIGHT_S = 1.0


@dataclass(frozen=True, slots=True)
class Host:
    """One engine's process.

    Attributes:
        kill_at: number of the point at which it dies; 0 = none.
        freeze_at: number of the write before which it stands still; 0 = none.
        heir: count points only once a runner was killed.
        short_lease: whether leases last only 0.4 s.
        patient: whether the lease of another engine may be respected at first.
        bug: see ``seeded``.
    """

    folder: Path
    scenario: str
    kill_at: int = 0
    freeze_at: int = 0
    heir: bool = False
    short_lease: bool = False
    patient: bool = False
    bug: str = ""


def environment(folder: Path) -> dict[str, str]:
    """Return the variables of a round."""
    return {
        "TW_HOME": str(folder / "home"),
        "TW_MACHINE_DIR": str(folder / "machine"),
        "TW_RUNTIME_DIR": str(folder / "run"),
        "TW_INVENTORY": str(folder / "inventory.json"),
        "TW_ACTOR": "crash",
        "CRASH_FOLDER": str(folder),
    }


def main(host: Host) -> int:
    """Carry the work to its end; the code is 0 then."""
    folder = host.folder
    os.environ.update(environment(folder))
    armed = str(folder / "plan.met") if host.heir else ""
    points = Points(str(folder), "engine", at=host.kill_at, armed=armed)
    writes = Points(str(folder), "engine", at=host.freeze_at, freeze=True)
    _wrap(points)
    seeded.into_engine(host.bug)
    local._IN_FLIGHT_S = IN_FLIGHT_S
    if host.short_lease:
        runs.LEASE = FREEZE_LEASE
    python = _interpreter(folder)
    vars(composition)["LocalSettings"] = lambda **named: LocalSettings(**{**named, "python": python, "home": None})
    app = composition.open_app(folder / "code", dict(os.environ))
    with app.database.reading() as rows:
        known = runs.newest_runs(rows, app.context.project, 2)
    if not known:
        document = read_document(folder / "code" / "pipeline.yaml", "pipeline.yaml")
        submit(app.context, prepare(app.context, document, {}, folder / "code", "pipeline.yaml"))
    _count_writes(writes)
    engine = app.engine()
    if not _has_taken(app, engine) and not host.patient:
        return LEASE_NOT_TAKEN
    while engine.has_work():
        engine.turn()
        if host.scenario == "halt":
            _stop(app)
        engine.wait()
    if (folder / "record").exists():
        note(str(folder / "points"), f"engine - {len(points.seen)}")
        note(str(folder / "points"), f"freeze - {len(writes.seen)}")
        (folder / "engine.points").write_text("".join(f"{i} {n}\n" for i, n in enumerate(points.seen, 1)))
    return 0


def _has_taken(app: composition.App, engine: Engine) -> bool:
    """Turn once, and tell whether every unfinished run is ours now: the engine before us is dead."""
    engine.turn()
    with app.database.reading() as rows:
        return all(h.lease_owner == engine._world.owner for h in runs.unfinished(rows, app.context.project))


def _stop(app: composition.App) -> None:
    """Ask the run to stop once its long step runs."""
    with app.database.reading() as rows:
        views = [runs.view(rows, head.run) for head in runs.unfinished(rows, app.context.project)]
    for view in views:
        lingers = any(a.step == scenarios.LINGERS and a.state is AttemptState.RUNNING for a in view.attempts)
        if lingers and view.run.stop_asked_by is None:
            control.stop(app.context, view.run.id)


def _interpreter(folder: Path) -> str:
    """Return the program that the backend takes for Python: one that leads to ``runner_host``."""
    path = folder / "python"
    if not path.exists():
        mortal = Path(__file__).with_name("runner_host.py")
        draft = folder / f"python.{os.getpid()}"
        draft.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S -B {mortal} "$@"\n')
        draft.chmod(0o755)
        draft.rename(path)
    return str(path)


def _count_writes(writes: Points) -> None:
    """Make the moment before each write transaction one of ``writes``."""
    writing = Database.writing

    @contextmanager
    def counted(self: Database) -> Iterator[Rows]:
        writes.here("before a write")
        with writing(self) as rows:
            yield rows

    Database.writing = counted  # type: ignore[method-assign]


def _wrap(points: Points) -> None:
    writing = Database.writing

    @contextmanager
    def mortal(self: Database) -> Iterator[Rows]:
        with writing(self) as rows:
            yield rows
            points.here("before commit")
        points.here("after commit")

    Database.writing = mortal  # type: ignore[method-assign]
    points.around(migrate, "_bring_up")
    points.around(local.LocalBackend, "start", lambda _, job: str(job.step))
    points.around(local.LocalBackend, "stop", lambda _, attempt, why: str(attempt))
    points.around(local.LocalBackend, "_spawn", lambda _, attempt, folder: str(attempt))
    points.around(Ledger, "take")
    points.around(atomic, "create", lambda path, *_: Path(path).name)
    points.around(atomic, "replace", lambda path, *_: Path(path).name)
    points.around(supervisor, "request")


def _parse() -> Host:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("scenario", choices=sorted(scenarios.PIPELINES))
    parser.add_argument("--kill-at", type=int, default=0)
    parser.add_argument("--freeze-at", type=int, default=0)
    asked: Any = parser.parse_args()
    if not (asked.folder / "code").exists():
        scenarios.lay_out(asked.folder, asked.scenario)
    return Host(asked.folder.absolute(), asked.scenario, kill_at=asked.kill_at, freeze_at=asked.freeze_at)


if __name__ == "__main__":
    sys.exit(main(_parse()))
