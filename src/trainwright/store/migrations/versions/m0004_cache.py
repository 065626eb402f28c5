"""The step cache: keys and verdicts of attempts, entries by key, and what source files import."""

from pathlib import Path

from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    text = Path(__file__).with_name("0004.sql").read_text(encoding="utf-8")
    for statement in text.split(";"):
        if statement.strip():
            op.execute(statement)
