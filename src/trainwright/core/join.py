"""The rules by which a step joins the steps before it."""

from enum import StrEnum


class Join(StrEnum):
    """What a step wants of the steps that it needs, once all of them have ended; see ``lifecycle.join``."""

    ALL_SUCCESS = "all_success"
    NONE_FAILED = "none_failed"
    ONE_SUCCESS = "one_success"
    ALL_DONE = "all_done"
    ONE_FAILED = "one_failed"  # what on_fail: waits for
