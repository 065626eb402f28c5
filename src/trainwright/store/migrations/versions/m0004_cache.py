"""The step cache: keys and verdicts of attempts, entries by key, and what source files import."""

from trainwright.store.migrations import statements

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    statements.run(revision)
