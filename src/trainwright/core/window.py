"""A window: hours of the day on the clock of one time zone."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Window:
    """Every day from one time on the wall clock to another.

    Attributes:
        start_minute, end_minute: minutes after midnight, 0 to 1439; an end before the start lies on the next day.
        zone: IANA name.
        days: weekdays on which it opens, 0 = Monday; all of them by default.
    """

    start_minute: int
    end_minute: int
    zone: str = "UTC"
    days: tuple[int, ...] = (0, 1, 2, 3, 4, 5, 6)
