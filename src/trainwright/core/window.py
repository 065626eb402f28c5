"""A window: hours of the day on the clock of one time zone."""

import re
from dataclasses import dataclass

from trainwright.core.cron import check_zone

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_DAY_MINUTES = 24 * 60
_WRITTEN = re.compile(
    r"(?:(?P<first>[A-Za-z]{3})(?:-(?P<last>[A-Za-z]{3}))?\s+)?"
    r"(?P<h1>\d{1,2}):(?P<m1>\d{2})\s*-\s*(?P<h2>\d{1,2}):(?P<m2>\d{2})(?:\s+(?P<zone>\S+))?"
)
_EXAMPLE = 'write it as "22:00-06:00 Asia/Shanghai" or "Mon-Fri 18:00-08:00 Europe/Berlin"'


@dataclass(frozen=True, slots=True)
class Window:
    """On some days, from one time on the wall clock to another.

    Attributes:
        start_minute, end_minute: minutes after midnight, 0 to 1439; an end not after the start lies on the next day.
        zone: IANA name.
        days: weekdays on which it opens, 0 = Monday.
    """

    start_minute: int
    end_minute: int
    zone: str = "UTC"
    days: tuple[int, ...] = (0, 1, 2, 3, 4, 5, 6)

    def __str__(self) -> str:
        start, end = (f"{minute // 60:02d}:{minute % 60:02d}" for minute in (self.start_minute, self.end_minute))
        days = "" if len(self.days) == len(DAYS) else _span(self.days) + " "
        return f"{days}{start}-{end} {self.zone}"


def window_of(text: str) -> Window:
    """Return the window in ``"[Mon-Fri] 22:00-06:00 ZONE"``; without a zone it is UTC.

    Raises:
        ValueError: it is none; says what is wrong and how to write it.
    """
    match = _WRITTEN.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is no window: {_EXAMPLE}")
    start, end = (_minute(match[h], match[m], text) for h, m in (("h1", "m1"), ("h2", "m2")))
    if start == end:
        raise ValueError(f"{text!r} begins and ends at one time: {_EXAMPLE}")
    return Window(start, end, check_zone(match["zone"] or "UTC"), _days(match["first"], match["last"], text))


def _minute(hours: str, minutes: str, text: str) -> int:
    minute = int(hours) * 60 + int(minutes)
    if int(minutes) > 59 or minute > _DAY_MINUTES:  # noqa: PLR2004 - minutes of an hour
        raise ValueError(f"{text!r} has no time of the day {hours}:{minutes}: {_EXAMPLE}")
    return minute % _DAY_MINUTES


def _days(first: str | None, last: str | None, text: str) -> tuple[int, ...]:
    if first is None:
        return tuple(range(len(DAYS)))
    numbers = []
    for name in (first, last or first):
        if name.title() not in DAYS:
            raise ValueError(f"{text!r} has no day {name!r}: {_EXAMPLE}")
        numbers.append(DAYS.index(name.title()))
    start, end = numbers
    return tuple(sorted((start + n) % len(DAYS) for n in range((end - start) % len(DAYS) + 1)))


def _span(days: tuple[int, ...]) -> str:
    """Return days in a row as ``Sat-Mon``."""
    start = next(day for day in days if (day - 1) % len(DAYS) not in days)
    end = (start + len(days) - 1) % len(DAYS)
    return DAYS[start] if start == end else f"{DAYS[start]}-{DAYS[end]}"
