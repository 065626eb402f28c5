"""Queries: the metrics of a run are found by their names; an index that nobody reads by is gone."""

from trainwright.store.migrations import statements

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    statements.run(revision)
