"""Elastic workloads: they grow on idle room, and shrink before anybody is told to leave."""

from trainwright.sched.draft import Draft


def grow(draft: Draft) -> None:
    """Give idle room to running elastic workloads, up to what they wanted."""
