"""The connection: sqlite3 with the settings under which no commit is lost, and four verbs.

Statements are plain SQL with ``:name`` parameters (ADR 0004 says why no query builder). A thread has a connection of
its own. Nobody else may open the database file: a plain ``open`` in this process would drop SQLite's locks.
"""

import sqlite3
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from trainwright.core.errors import BackendError, TransientBackendError

BUSY_TIMEOUT_S = 30.0
"""How long a write waits for another process's transaction."""

Value = str | int | float | None
Row = sqlite3.Row


_TAKEN = frozenset({sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY, sqlite3.SQLITE_CONSTRAINT_UNIQUE})


class Stale(Exception):  # noqa: N818 - a signal of the optimistic commit, not a failure
    """Somebody wrote in between: what was decided is dropped and decided anew."""


class Rows:
    """Statements inside one transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def write(self, sql: str, values: Mapping[str, Value]) -> int:
        """Run one statement; return how many rows changed."""
        return self._connection.execute(sql, values).rowcount

    def write_many(self, sql: str, rows: list[dict[str, Value]]) -> None:
        """Run one statement for each row."""
        if rows:
            self._connection.executemany(sql, rows)

    def one(self, sql: str, values: Mapping[str, Value] | None = None) -> Row | None:
        """Return the first row, or None."""
        row: Row | None = self._connection.execute(sql, values or {}).fetchone()
        return row

    def all(self, sql: str, values: Mapping[str, Value] | None = None) -> list[Row]:
        """Return every row."""
        return self._connection.execute(sql, values or {}).fetchall()

    def number(self, sql: str, values: Mapping[str, Value] | None = None) -> int:
        """Return the first column of the first row as an integer; 0 when there is none."""
        row = self.one(sql, values)
        return int(row[0] or 0) if row is not None else 0


class Database:
    """One SQLite file whose schema is up to date; see ``store.migrate.open_database``."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._local = threading.local()

    @contextmanager
    def reading(self) -> Iterator[Rows]:
        """Give one consistent view; never waits for writers."""
        with self._transaction("BEGIN DEFERRED") as rows:
            yield rows

    @contextmanager
    def writing(self) -> Iterator[Rows]:
        """Give a transaction that commits at the end of the block, or leaves no trace when the block raises.

        Raises:
            TransientBackendError: another process held the write lock for longer than ``BUSY_TIMEOUT_S``.
            BackendError: the file is not a database, or damaged.
            Stale: a uniqueness that was decided on did not hold any more.
        """
        with self._transaction("BEGIN IMMEDIATE") as rows:
            yield rows

    def stamp(self) -> tuple[int, int]:
        """Return what changes with every commit, of this thread or of anybody: equal stamps, equal contents.

        Raises:
            BackendError: as ``writing``.
        """
        connection = self._connection()
        try:
            (version,) = connection.execute("PRAGMA data_version").fetchone()
        except sqlite3.DatabaseError as error:
            raise explain(error, self.path) from error
        return int(version), connection.total_changes

    def close(self) -> None:
        """Close this thread's connection."""
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is not None:
            connection.close()
            self._local.connection = None

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[Rows]:
        connection = self._connection()
        try:
            connection.execute(begin)
            try:
                yield Rows(connection)
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
        except sqlite3.IntegrityError as error:
            if error.sqlite_errorcode not in _TAKEN:
                raise  # our own mistake: deciding anew would not help
            raise Stale(str(error)) from error
        except sqlite3.DatabaseError as error:
            raise explain(error, self.path) from error

    def _connection(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = connect(self.path)
            self._local.connection = connection
        return connection


def connect(path: Path) -> sqlite3.Connection:
    """Open a connection with our settings: WAL, every commit on disk before it is acknowledged, foreign keys held."""
    connection = sqlite3.connect(path, timeout=BUSY_TIMEOUT_S, isolation_level=None)
    connection.row_factory = sqlite3.Row
    for pragma in ("foreign_keys = ON", "synchronous = FULL", "temp_store = MEMORY"):
        connection.execute(f"PRAGMA {pragma}")
    return connection


def health(rows: Rows) -> tuple[str, int]:
    """Return SQLite's own verdict on the file (``ok`` when sound) and the number of runs in it."""
    verdict = rows.one("PRAGMA quick_check")
    return ("unreadable" if verdict is None else str(verdict[0])), rows.number("SELECT count(*) FROM run")


def explain(error: sqlite3.DatabaseError, path: Path) -> BackendError:
    """Return what a person reads when SQLite fails; ``transient`` when repeating may help."""
    text = str(error)
    if not isinstance(error, sqlite3.OperationalError):
        return BackendError(
            "TW6202",
            f"the database could not be used: {text}",
            where=str(path),
            remedy="restore a backup of this file, or use another state folder with TW_HOME",
        )
    if "locked" in text or "busy" in text:
        return TransientBackendError(
            "TW6201",
            f"another process has held the write lock of the database for more than {BUSY_TIMEOUT_S:.0f} s",
            where=str(path),
            remedy="end the program that keeps a transaction open, then repeat the command; nothing was written",
        )
    return TransientBackendError(
        "TW6202",
        f"the database could not be used: {text}",
        where=str(path),
        remedy="look for free disk space and permissions of the folder, then repeat the command",
    )
