"""Triggers, and the occasions on which they start runs."""

from pathlib import Path

from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    text = Path(__file__).with_name("0003.sql").read_text(encoding="utf-8")
    for statement in text.split(";"):
        if statement.strip():
            op.execute(statement)
