"""What every command begins with: the opened project, and an engine when there is unfinished work without one."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trainwright.app import App


@contextmanager
def session(inventory: str = "") -> Iterator["App"]:
    """Open the project of the working directory; afterwards see to it that unfinished runs have an engine.

    Args:
        inventory: file of pretended nodes; empty = as TW_INVENTORY says.
    """
    from trainwright import app

    with app.session(inventory) as opened:
        yield opened
