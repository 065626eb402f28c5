"""Attempts on several nodes, that leave and come back; what queues used; what people said about what waits."""

from trainwright.store.migrations import statements

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    statements.run(revision)
