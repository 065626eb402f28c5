"""The clock as a port: only ``app`` reads the real one."""

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """Time as the engine sees it."""

    def now(self) -> datetime:
        """Return the present instant, aware, in UTC."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait about this long; a virtual clock only moves its hands."""
        ...
