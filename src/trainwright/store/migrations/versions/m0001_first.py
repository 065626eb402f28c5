"""The first schema: runs, steps, attempts, metrics, content, datasets, models, outbox, events, audit."""

from trainwright.store.migrations import statements

revision = "0001"
down_revision = None


def upgrade() -> None:
    statements.run(revision)
