"""What models promise, how aliases moved, platform documents, releases."""

from trainwright.store.migrations import statements

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    statements.run(revision)
