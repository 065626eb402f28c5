"""Time and identifiers that repeat."""

from datetime import UTC, datetime, timedelta

from trainwright.core.clock import Clock
from trainwright.core.ids import IdSource

BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)


class VirtualClock:
    """A clock that stands still until somebody sleeps."""

    def __init__(self, now: datetime = BEGINNING) -> None:
        self._now = now

    def now(self) -> datetime:
        """See ``Clock.now``."""
        return self._now

    def sleep(self, seconds: float) -> None:
        """Move the hands; costs no time."""
        self._now += timedelta(seconds=max(seconds, 0.0))


class CountingIds:
    """Identifiers in order: ``0000000001``, then ``0000000002``."""

    def __init__(self) -> None:
        self._last = 0

    def new(self) -> str:
        """See ``IdSource.new``."""
        self._last += 1
        return f"{self._last:010d}"


_: tuple[type[Clock], type[IdSource]] = (VirtualClock, CountingIds)
