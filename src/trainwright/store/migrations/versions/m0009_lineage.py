"""Lineage: who read an address, and how far exporters are."""

from trainwright.store.migrations import statements

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    statements.run(revision)
