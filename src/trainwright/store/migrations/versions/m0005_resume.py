"""Resuming: which run a run takes over from."""

from trainwright.store.migrations import statements

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    statements.run(revision)
