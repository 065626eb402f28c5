"""G23: sixteen processes start at the same moment on an empty folder."""

import multiprocessing
import re
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from multiprocessing.queues import Queue
from pathlib import Path

import pytest
import starters

import trainwright
from build import PROJECT
from trainwright.store import runs
from trainwright.store.database import Database, connect

STARTERS = 16
ROUNDS = 3
HELD_S = 2.0


@contextmanager
def write_lock(path: Path) -> Iterator[None]:
    """Hold the write lock as an outsider for two seconds from now on."""
    taken, over = threading.Event(), threading.Event()

    def hold() -> None:
        with closing(connect(path)) as outsider:
            outsider.execute("BEGIN IMMEDIATE")
            taken.set()
            over.wait(HELD_S)
            outsider.execute("ROLLBACK")

    holder = threading.Thread(target=hold)
    holder.start()
    taken.wait()
    yield
    holder.join()


def found(home: Path) -> dict[str, object]:
    opened = Database(home / "state" / "state.db")
    with opened.reading() as rows:
        made = runs.newest_runs(rows, PROJECT, 100)
        result = {
            "numbers": [r.number for r in reversed(made)],
            "runs": {str(r.id) for r in made},
            "metrics": rows.number("SELECT count(*) FROM metric"),
            "health": str((rows.one("PRAGMA integrity_check") or [""])[0]),
            "params": {len(r.params) for r in made},
        }
    opened.close()
    return result


@pytest.mark.slow
def test_g23_nobody_meets_a_lock_and_nothing_is_lost(tmp_path: Path) -> None:
    homes = [tmp_path / str(n) for n in range(ROUNDS + 1)]
    for home in homes:
        home.mkdir()
    spawn = multiprocessing.get_context("spawn")
    together = spawn.Barrier(STARTERS + 1)
    told: Queue[str] = spawn.Queue()
    crowd = [spawn.Process(target=starters.start, args=(n, homes, together, told)) for n in range(STARTERS)]
    for one in crowd:
        one.start()
    for home in homes[:ROUNDS]:
        together.wait(60)
        assert [told.get(timeout=60) for _ in crowd] == [""] * STARTERS, home
    from trainwright.app import open_app

    app = open_app(homes[-1], {"TW_HOME": str(homes[-1] / "state"), "TW_PROJECT": "p"})
    with write_lock(app.database.path):
        together.wait(60)
        assert [told.get(timeout=60) for _ in crowd] == [""] * STARTERS
    app.database.close()
    for one in crowd:
        one.join(60)
    expected = {
        "numbers": list(range(1, STARTERS + 1)),
        "runs": {f"r{n:02}" for n in range(STARTERS)},
        "metrics": STARTERS * starters.METRICS,
        "health": "ok",
        "params": {len(starters.OF.params)},
    }
    assert [found(home) for home in homes] == [expected] * (ROUNDS + 1)


def test_nobody_opens_the_database_file_but_sqlite() -> None:
    root = Path(trainwright.__file__).parent
    named = {
        f"{file.relative_to(root)}: {line.strip()}"
        for file in sorted(root.rglob("*.py"))
        for line in file.read_text(encoding="utf-8").splitlines()
        if re.search(r"state\.db|database\.path|\bsqlite3\.connect\(", line)
    }
    opens = re.compile(r"\bopen\(|\.(read|write)_(bytes|text)\(|copy|shutil")
    assert {line for line in named if opens.search(line)} == set()
    places = {line.split(":", maxsplit=1)[0] for line in named}
    told_its_name_only = {"app.py", "service/doctor.py", "service/capture/omissions.py"}
    assert places <= {*told_its_name_only, "store/database.py", "store/upgrade.py", "store/migrate.py"}
