"""Resuming: which run a run takes over from."""

from pathlib import Path

from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    text = Path(__file__).with_name("0005.sql").read_text(encoding="utf-8")
    for statement in text.split(";"):
        if statement.strip():
            op.execute(statement)
