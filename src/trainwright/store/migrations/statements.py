"""What every migration does: the statements of its file, one after another."""

from pathlib import Path

from alembic import op

VERSIONS = Path(__file__).with_name("versions")


def run(revision: str) -> None:
    """Carry out the statements of ``versions/REVISION.sql``, inside the transaction of the migration."""
    for statement in (VERSIONS / f"{revision}.sql").read_text(encoding="utf-8").split(";"):
        if statement.strip():
            op.execute(statement)
