"""Groups: which step a member belongs to, what it stands for, and how a group's members stand."""

from pathlib import Path

from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    text = Path(__file__).with_name("0002.sql").read_text(encoding="utf-8")
    for statement in text.split(";"):
        if statement.strip():
            op.execute(statement)
