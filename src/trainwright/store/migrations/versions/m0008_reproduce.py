"""Reproducing: which run a run makes again."""

from trainwright.store.migrations import statements

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    statements.run(revision)
