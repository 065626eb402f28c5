"""Time slicing: which of those who share a queue by time have the room now."""

from trainwright.sched.draft import Draft


def slice_time(draft: Draft) -> None:
    """Tell those to leave whose turn is over, and let those go first whose turn it is."""
