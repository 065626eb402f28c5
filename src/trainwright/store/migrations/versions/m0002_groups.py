"""Groups: which step a member belongs to, what it stands for, and how a group's members stand."""

from trainwright.store.migrations import statements

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    statements.run(revision)
