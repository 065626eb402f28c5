"""Dataset versions: tags, what was removed, which to keep, and what tables in them hold."""

from trainwright.store.migrations import statements

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    statements.run(revision)
