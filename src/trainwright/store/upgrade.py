"""Migrations of an existing database, by Alembic; the only module besides them that imports it."""

import sqlite3
from contextlib import closing
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory


def config(path: Path | None = None) -> Config:
    """Return Alembic's configuration for the database at ``path``."""
    settings = Config()
    settings.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    if path is not None:
        settings.set_main_option("sqlalchemy.url", f"sqlite:///{path}".replace("%", "%%"))
    return settings


def is_known(revision: str) -> bool:
    """Tell whether a migration leads on from this revision."""
    return any(script.revision == revision for script in ScriptDirectory.from_config(config()).walk_revisions())


def head() -> str:
    """Return the newest revision."""
    return str(ScriptDirectory.from_config(config()).get_current_head())


def upgrade(path: Path, revision: str) -> Path:
    """Bring the schema to ``revision``; return the backup that was made first."""
    backup = path.with_suffix(f".before-{revision}.db")
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(backup)) as target:
        source.backup(target)
    command.upgrade(config(path), revision)
    return backup
