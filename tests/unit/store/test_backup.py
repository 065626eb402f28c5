"""A backup is whole, taken while others write, and overwrites nothing."""

import os
from pathlib import Path

import pytest

from build import PROJECT, database, insert, plan, step
from trainwright.core.errors import BackendError, ConflictError
from trainwright.store import runs
from trainwright.store.backup import back_up, how_to_restore
from trainwright.store.database import Database, health

OF = plan(step("a"))


def test_a_backup_taken_inside_a_write_holds_what_was_committed(tmp_path: Path) -> None:
    store = database(tmp_path)
    insert(store, OF)
    target = tmp_path / "copy.db"
    with store.writing() as rows:
        rows.write("UPDATE run SET state = 'failed'", {})
        assert back_up(store.path, target) == target.stat().st_size
    store.close()
    copy = Database(target)
    with copy.reading() as rows:
        assert health(rows) == ("ok", 1)
        (kept,) = runs.newest_runs(rows, PROJECT, 5)
    copy.close()
    assert kept.state == "pending"
    assert sorted(path.name for path in tmp_path.iterdir() if "copy" in path.name) == ["copy.db"]


def test_it_overwrites_nothing_and_says_what_it_cannot(tmp_path: Path) -> None:
    store = database(tmp_path)
    store.close()
    (tmp_path / "mine").write_text("x")
    with pytest.raises(ConflictError, match="TW5201"):
        back_up(store.path, tmp_path / "mine")
    with pytest.raises(BackendError, match="TW6206"):
        back_up(store.path, tmp_path / "no" / "folder")
    store.path.write_bytes(b"garbage" * 1000)
    with pytest.raises(BackendError, match="TW6206"):
        back_up(store.path, tmp_path / "new")
    assert not list(tmp_path.glob("*new*"))


def test_the_newest_backup_is_the_one_to_restore(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    assert "no backup" in how_to_restore(path)
    for age, name in enumerate(("state.before-0003.db", "state.before-0002.db")):
        (tmp_path / name).write_bytes(b"")
        os.utime(tmp_path / name, (1000 - age, 1000 - age))
    assert f"cp {tmp_path}/state.before-0003.db {path}" in how_to_restore(path)
