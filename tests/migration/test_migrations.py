"""All migrations applied are the schema of a fresh database."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from alembic import command

from build import NOW, database
from trainwright.core.errors import BackendError
from trainwright.core.workload import Assignment
from trainwright.store import migrate, upgrade
from trainwright.store.database import connect
from trainwright.store.rows import attempt_of

Shape = dict[str, object]


def shape(path: Path) -> Shape:
    """Tables → columns, indexes with their columns and uniqueness, foreign keys: what SQLite itself says."""
    with closing(sqlite3.connect(path)) as db:
        tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
        found: Shape = {}
        for table in tables:
            found[f"{table} columns"] = db.execute(f"PRAGMA table_info({table})").fetchall()
            found[f"{table} keys"] = sorted(map(str, db.execute(f"PRAGMA foreign_key_list({table})")))
            for _, name, unique, origin, partial in db.execute(f"PRAGMA index_list({table})"):
                columns = [column for _, _, column in db.execute(f"PRAGMA index_info({name})")]
                found[f"{table} {name}"] = (unique, origin, partial, columns)
        return found


def migrated(folder: Path) -> Path:
    path = folder / "state.db"
    connect(path).close()
    command.upgrade(upgrade.config(path), "head")
    return path


def test_all_migrations_make_the_schema_of_a_fresh_database(tmp_path: Path) -> None:
    (tmp_path / "fresh").mkdir()
    (tmp_path / "old").mkdir()
    database(tmp_path / "fresh").close()
    fresh = shape(tmp_path / "fresh" / "state.db")
    old = shape(migrated(tmp_path / "old"))
    assert old == fresh
    assert "run columns" in fresh
    assert len(fresh) > 40


def test_head_is_the_head_of_alembic() -> None:
    assert upgrade.head() == migrate.HEAD
    assert upgrade.is_known(migrate.HEAD)
    assert not upgrade.is_known("9999")


def test_a_migrated_database_opens(tmp_path: Path) -> None:
    migrated(tmp_path)
    opened = database(tmp_path)
    with opened.reading() as rows:
        assert rows.number("SELECT count(*) FROM project") == 1
    opened.close()


def test_a_database_of_a_newer_version_is_refused_with_both_versions(tmp_path: Path) -> None:
    opened = database(tmp_path)
    with opened.writing() as rows:
        rows.write("UPDATE alembic_version SET version_num = '0999'", {})
    opened.close()
    with pytest.raises(BackendError) as caught:
        database(tmp_path)
    problem = caught.value.problem
    assert problem.code == "TW6203"
    assert problem.message == f"the database has schema 0999, this program knows up to {migrate.HEAD}"
    assert not list(tmp_path.glob("*.before-*"))


def test_a_backup_is_made_before_an_upgrade(tmp_path: Path) -> None:
    database(tmp_path).close()
    path = tmp_path / "state.db"
    backup = upgrade.upgrade(path, migrate.HEAD)
    assert backup == tmp_path / f"state.before-{migrate.HEAD}.db"
    assert shape(backup) == shape(path)


def test_opening_twice_changes_nothing(tmp_path: Path) -> None:
    database(tmp_path).close()
    before = shape(tmp_path / "state.db")
    database(tmp_path).close()
    assert shape(tmp_path / "state.db") == before


def test_a_creation_that_was_killed_half_way_is_finished_by_the_next(tmp_path: Path) -> None:
    (tmp_path / "state.db").touch()
    database(tmp_path).close()
    with closing(connect(tmp_path / "state.db")) as db:
        assert db.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
        assert db.execute("PRAGMA synchronous").fetchone()[0] == 2
        assert db.execute("PRAGMA foreign_keys").fetchone()[0] == 1


@pytest.mark.parametrize("kind", ["nfs4", "cifs", "lustre"])
def test_a_network_file_system_is_refused_with_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(migrate, "_file_system", lambda folder: kind)
    with pytest.raises(BackendError) as caught:
        database(tmp_path)
    assert caught.value.problem.code == "TW6204"
    assert kind in caught.value.problem.message
    assert "TW_HOME" in caught.value.problem.remedy
    assert list(tmp_path.iterdir()) == []


def test_the_innermost_mount_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    share = f"{tmp_path}/my\\040share"
    mounts = f"/dev/sda / ext4 rw 0 0\nhost:/x {share} nfs4 rw 0 0\ntmpfs {share}/x tmpfs rw 0 0\n"
    monkeypatch.setattr(Path, "read_text", lambda self, encoding: mounts)
    assert migrate._file_system(tmp_path) == "ext4"
    assert migrate._file_system(tmp_path / "my share" / "home") == "nfs4"
    assert migrate._file_system(tmp_path / "my share" / "x" / "home") == "tmpfs"


def test_a_project_is_entered_once(tmp_path: Path) -> None:
    database(tmp_path).close()
    opened = migrate.open_database(tmp_path / "state.db", "q", NOW)
    with opened.reading() as rows:
        assert [row["name"] for row in rows.all("SELECT name FROM project ORDER BY name")] == ["p", "q"]
    opened.close()


def test_attempts_from_before_keep_their_devices_on_the_first_node(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    connect(path).close()
    command.upgrade(upgrade.config(path), "0010")
    with closing(connect(path)) as db:
        db.execute("PRAGMA foreign_keys = OFF")
        for number, state, devices, started in ((1, "succeeded", "[1,3]", "2026-01-01T00:00:00+00:00"),
                                                (2, "starting", "[]", None), (3, "queued", "[]", None)):  # fmt: skip
            db.execute(
                "INSERT INTO attempt (id, run_id, step, number, state, token, queued_at, devices, params, started_at)"
                " VALUES (?, 'r', 'a', ?, ?, 't', '2026-01-01T00:00:00+00:00', ?, '{}', ?)",
                (f"r/a/{number}", number, state, devices, started),
            )
    command.upgrade(upgrade.config(path), "head")
    with closing(connect(path)) as db:
        found = [attempt_of(row, {}, 0) for row in db.execute("SELECT * FROM attempt ORDER BY number")]
    assert [a.places for a in found] == [(Assignment("", (1, 3)),), (Assignment(""),), ()]
    assert found[0].devices == (1, 3)
    assert found[0].placed_at == found[0].started_at
