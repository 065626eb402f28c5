"""The first schema: runs, steps, attempts, metrics, content, datasets, models, outbox, events, audit."""

from pathlib import Path

from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    text = Path(__file__).with_name("0001.sql").read_text(encoding="utf-8")
    for statement in text.split(";"):
        if statement.strip():
            op.execute(statement)
