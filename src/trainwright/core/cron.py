"""Cron: five fields read on the clock of one time zone, with a rule for the days on which that clock is changed.

The rule, whole: every time on the wall clock that matches fires once. A time that the change leaves out fires at the
next instant that exists, together with everything else that falls on it; a time that comes twice fires the first time.
cronsim searches the wall clock; it is never shown a time zone, because its own rule depends on how a field is spelt.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from zoneinfo import ZoneInfo, available_timezones

from cronsim import CronSim, CronSimError

LONGEST = 200
"""Characters of an expression."""

_FIELDS = 5
_FIELD = re.compile(r"[0-9A-Za-z*,/#-]+")
_IN_A_WORD = {"day-of-month": "day", "day-of-week": "weekday"}
_NOT_A_PLACE = re.compile(r"(posix|right)/|(localtime|posixrules|Factory)$")
"""Files beside the zones that mean something else on each machine."""

_SHORTEST_LOOK = timedelta(hours=1)
_WIDER = 8
_ANY = datetime(2000, 1, 1)  # noqa: DTZ001 - a time on a wall clock, without a zone


def check_cron(expression: str) -> str:
    """Return the expression with one space between its fields.

    Raises:
        ValueError: not five fields of cron; says which one is wrong.
    """
    fields = expression.split()
    if len(expression) > LONGEST:
        raise ValueError(f"the expression has {len(expression)} characters, more than {LONGEST}")
    if len(fields) != _FIELDS:
        raise ValueError(f"{expression!r} has {len(fields)} fields, not five: minute hour day month weekday")
    wrong = next((field for field in fields if not _FIELD.fullmatch(field)), None)
    if wrong is not None:
        raise ValueError(f"{wrong!r} is not a field of cron")
    try:
        CronSim(expression, _ANY)
    except (CronSimError, ValueError, TypeError, AssertionError) as error:
        field = str(error).removeprefix("Bad ") if isinstance(error, CronSimError) else "day-of-week"
        raise ValueError(f"{expression!r} has a wrong {_IN_A_WORD.get(field, field)}") from error
    if not next_times(expression, "UTC", _ANY.replace(tzinfo=UTC), 1):
        raise ValueError(f"{expression!r} never comes")
    return " ".join(fields)


def check_zone(name: str) -> str:
    """Return the name of a time zone.

    Raises:
        ValueError: there is none of that name.
    """
    try:
        if not _NOT_A_PLACE.match(name):
            return ZoneInfo(name).key
    except (OSError, ValueError, LookupError) as error:
        raise ValueError(f"there is no time zone {name!r}") from error
    raise ValueError(f"{name!r} is not the same time zone everywhere")


def zones() -> set[str]:
    """Return the names of all time zones; reads a folder."""
    return {name for name in available_timezones() if not _NOT_A_PLACE.match(name)}


def next_times(expression: str, zone: str, after: datetime, count: int) -> tuple[datetime, ...]:
    """Return the next instants, in UTC, oldest first; fewer than ``count`` where the calendar ends. Never raises.

    Args:
        expression: that ``check_cron`` has passed.
        zone: that ``check_zone`` has passed; one that is not there any more has no times.
        after: aware; an instant that is equal to it does not count.
        count: how many.
    """
    return tuple(islice(_instants(expression, zone, after), count))


def latest_times(expression: str, zone: str, after: datetime, until: datetime, count: int) -> tuple[datetime, ...]:
    """Return the last ``count`` instants later than ``after`` and not later than ``until``, oldest first.

    Looks back in widening steps, so that the cost hangs on ``count`` and not on how long ago ``after`` is.
    """
    look = _SHORTEST_LOOK
    while True:
        since = after if until - after <= look else until - look
        found: list[datetime] = []
        for instant in _instants(expression, zone, since):
            if instant > until:
                break
            found.append(instant)
        if len(found) >= count or since == after:
            return tuple(found[-count:]) if count else ()
        look *= _WIDER


def instant_of(text: str, zone: str) -> datetime:
    """Return the instant, in UTC, of a date or a time in ISO 8601; without an offset it is on the clock of the zone.

    Raises:
        ValueError: it is neither.
    """
    try:
        given = datetime.fromisoformat(text)
        return _instant(given, ZoneInfo(zone)) if given.tzinfo is None else given.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{text!r} is neither a date nor a time: write 2026-03-28 or 2026-03-28T02:30") from error


def _instants(expression: str, zone: str, after: datetime) -> Iterator[datetime]:
    """Yield each instant at which a matching wall-clock time fires, in order, until the calendar ends."""
    last = after.astimezone(UTC)
    try:
        place = ZoneInfo(zone)
        for wall in CronSim(expression, last.astimezone(place).replace(tzinfo=None)):
            instant = _instant(wall, place)
            if instant > last:
                last = instant
                yield instant
    except (OverflowError, ValueError, LookupError, OSError):
        return  # the year 10000, nothing for fifty years, or a zone that is not there any more


def _instant(wall: datetime, zone: ZoneInfo) -> datetime:
    """Return when a clock of the zone first shows ``wall``, or the first time after it that it does show."""
    first = wall.replace(tzinfo=zone).astimezone(UTC)
    if first.astimezone(zone).replace(tzinfo=None) == wall:
        return first
    late, early = first, wall.replace(tzinfo=zone, fold=1).astimezone(UTC)  # either side of the change
    while late - early > timedelta(seconds=1):
        middle = early + (late - early) // 2
        middle = middle.replace(microsecond=0)
        if middle.astimezone(zone).replace(tzinfo=None) >= wall:
            late = middle
        else:
            early = middle
    return late
