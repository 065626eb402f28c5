"""Triggers, and the occasions on which they start runs."""

from trainwright.store.migrations import statements

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    statements.run(revision)
