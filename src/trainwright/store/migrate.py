"""Opening a database: created, in WAL and at the newest schema, by one process at a time.

Creation, the switch to WAL and migration happen under an ``flock`` on a file of their own and are re-checked under it:
sixteen processes that start on an empty folder find one schema. Alembic is imported only when the schema is behind.
"""

import fcntl
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from importlib import resources
from pathlib import Path

from trainwright.core.errors import BackendError
from trainwright.store.database import Database, connect, explain

HEAD = "0011"
"""Revision that ``schema.sql`` stands for; equal to Alembic's head."""

NETWORK_FILE_SYSTEMS = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "fuse.sshfs", "9p", "lustre", "afs", "ceph"})


def open_database(path: Path, project: str, now: datetime) -> Database:
    """Return the database at ``path`` with the newest schema and a row for the project.

    Raises:
        BackendError: the folder is on a network file system, the schema is newer than this program, or the file is
            no database.
    """
    revision = _revision(path)
    if revision != HEAD:
        _refuse_network(path.parent)
        with _alone(path.with_suffix(".lock")):
            _bring_up(path, _revision(path))
    database = Database(path)
    with database.reading() as rows:
        known = rows.one("SELECT 1 FROM project WHERE name = :name", {"name": project})
    if known is None:
        with database.writing() as rows:
            rows.write(
                "INSERT INTO project (name, created_at) VALUES (:name, :now) ON CONFLICT DO NOTHING",
                {"name": project, "now": now.isoformat()},
            )
    return database


def _revision(path: Path) -> str | None:
    """Return the schema's revision; None without a database."""
    if not path.exists():
        return None
    try:
        with closing(connect(path)) as connection:
            if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'alembic_version'").fetchone() is None:
                return None
            row = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    except sqlite3.DatabaseError as error:
        raise explain(error, path) from error
    return row[0] if row else None


def _bring_up(path: Path, revision: str | None) -> None:
    if revision == HEAD:
        return
    if revision is None:
        with closing(connect(path)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.executescript(
                "BEGIN IMMEDIATE;\n"
                + schema_sql()
                + "CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL PRIMARY KEY);\n"
                + f"INSERT INTO alembic_version (version_num) VALUES ('{HEAD}');\nCOMMIT;"
            )
        return
    from trainwright.store import upgrade  # noqa: PLC0415 - Alembic costs a second, and only an old schema needs it

    if not upgrade.is_known(revision):
        raise BackendError(
            "TW6203",
            f"the database has schema {revision}, this program knows up to {HEAD}",
            where=str(path),
            why="a newer trainwright has written it",
            remedy="install that newer version, or use another state folder with TW_HOME",
        )
    upgrade.upgrade(path, HEAD)


def schema_sql() -> str:
    """Return the text of ``schema.sql``."""
    return resources.files("trainwright.store").joinpath("schema.sql").read_text(encoding="utf-8")


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _refuse_network(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    kind = _file_system(folder.resolve())
    if kind in NETWORK_FILE_SYSTEMS:
        raise BackendError(
            "TW6204",
            f"the state folder is on a network file system ({kind})",
            where=str(folder),
            why="SQLite's locks do not hold there and commits would be lost",
            remedy="set TW_HOME to a folder on a local disk",
        )


def _file_system(folder: Path) -> str:
    """Return the type of the file system that holds ``folder``; empty when it cannot be told."""
    try:
        mounts = [line.split() for line in Path("/proc/mounts").read_text(encoding="utf-8").splitlines()]
    except OSError:
        return ""
    holding = [(m[1], m[2]) for m in mounts if folder.is_relative_to(m[1].replace("\\040", " "))]
    return max(holding, key=lambda m: len(m[0]))[1] if holding else ""
