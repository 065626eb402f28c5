"""uv, where it is and what it says: locks are made with it at submit, environments are built with it beside the job."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

MOST_LINES = 6
"""Of what uv said, that are told on."""

_NOISE = ("warning: ", "Using ", "Creating virtual environment", "Resolved ", "Activate with")
_FRAME = " ×╰├│─▶:\n"


def find(path: str) -> str:
    """Return the path of the uv to use; empty when there is none.

    Args:
        path: folders to look in, with colons between; then beside this interpreter and in the user's own scripts.
    """
    own = [os.path.dirname(sys.executable), os.path.expanduser("~/.local/bin")]
    for folder in [*path.split(os.pathsep), *own]:
        found = os.path.join(folder, "uv")
        if folder and os.path.isfile(found) and os.access(found, os.X_OK):
            return found
    return ""


def last_words(lines: Iterable[str]) -> str:
    """Return the last lines that uv printed, as one line; what it only remarks is left out when there is more."""
    said = [line.strip(_FRAME) for line in lines]
    told = [line for line in said if line and not line.startswith(_NOISE)] or [line for line in said if line]
    return "; ".join(told[-MOST_LINES:])
