"""Cron against a clock that is read minute by minute: all zones, any year, any fields."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trainwright.core.cron import check_cron, latest_times, next_times, zones

ZONES = sorted(zones())
MINUTE = timedelta(minutes=1)


@dataclass(frozen=True)
class Fields:
    minutes: frozenset[int]
    hours: frozenset[int]
    weekdays: frozenset[int]

    def __str__(self) -> str:
        return " ".join((some(self.minutes, 60), some(self.hours, 24), "* *", some(self.weekdays, 7)))

    def match(self, wall: datetime) -> bool:
        weekday = (wall.weekday() + 1) % 7
        return wall.minute in self.minutes and wall.hour in self.hours and weekday in self.weekdays


def some(values: frozenset[int], of: int) -> str:
    return "*" if len(values) == of else ",".join(map(str, sorted(values)))


def sets(of: int) -> st.SearchStrategy[frozenset[int]]:
    every = st.just(frozenset(range(of)))
    return st.one_of(every, st.frozensets(st.integers(0, of - 1), min_size=1, max_size=4))


FIELDS = st.builds(Fields, sets(60), sets(24), sets(7))


def change_in(zone: ZoneInfo, year: int) -> datetime:
    """The first hour of the year after which the zone's clock is set; the year's beginning when it is not."""
    begin = datetime(year, 1, 1, tzinfo=UTC)
    hours = [begin + timedelta(hours=h) for h in range(0, 366 * 24, 12)]
    return next(
        (a for a, b in pairwise(hours) if a.astimezone(zone).utcoffset() != b.astimezone(zone).utcoffset()), begin
    )


def by_reading_the_clock(fields: Fields, zone: ZoneInfo, after: datetime, until: datetime) -> list[datetime]:
    """What the rule says, from the clock's face alone: each wall-clock minute when it, or a later one, first shows."""
    shown: dict[datetime, datetime] = {}
    instant = after - timedelta(hours=26)
    while instant <= until:
        shown.setdefault(instant.astimezone(zone).replace(tzinfo=None), instant)
        instant += MINUTE
    firsts = sorted(shown.items())
    found = set()
    for (wall, instant), (later, next_instant) in pairwise([*firsts, (firsts[-1][0] + MINUTE, until + MINUTE)]):
        if fields.match(wall):
            found.add(instant)
        while (wall := wall + MINUTE) < later:  # left out
            if fields.match(wall):
                found.add(next_instant)
                break
    return [instant for instant in sorted(found) if after < instant <= until]


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(fields=FIELDS, zone=st.sampled_from(ZONES), year=st.integers(1980, 2037), minutes=st.integers(0, 3000))
def test_each_time_of_the_wall_clock_fires_exactly_once(fields: Fields, zone: str, year: int, minutes: int) -> None:
    place = ZoneInfo(zone)
    after = change_in(place, year) - timedelta(days=1) + timedelta(minutes=minutes)
    until = after + timedelta(days=2)
    found = []
    for instant in next_times(str(fields), zone, after, 5000):
        if instant > until:
            break
        found.append(instant)
    assert found == by_reading_the_clock(fields, place, after, until)
    assert list(latest_times(str(fields), zone, after, until, 7)) == found[-7:]


@settings(max_examples=300, deadline=None)
@given(
    parts=st.tuples(
        *(
            st.one_of(st.just("*"), st.integers(low, high).map(str), st.integers(1, 9).map(lambda n: f"*/{n}"))
            for low, high in ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))
        )
    ),
    zone=st.sampled_from(ZONES),
    after=st.integers(0, 9997 * 365 * 24 * 60).map(lambda m: datetime(2, 1, 1, tzinfo=UTC) + m * MINUTE),
)
def test_computing_never_raises_and_times_only_grow(parts: tuple[str, ...], zone: str, after: datetime) -> None:
    expression = " ".join(parts)
    try:
        check_cron(expression)
    except ValueError:
        return
    found = next_times(expression, zone, after, 5)
    assert list(found) == sorted({after, *found} - {after})
    assert all(instant.tzinfo is UTC and instant.second == 0 for instant in found if after.year > 1990)


@given(text=st.text(st.characters(codec="utf-8"), max_size=40) | st.text("0123456789*,/-#LWSUNMO @", max_size=25))
def test_any_text_is_an_expression_or_refused(text: str) -> None:
    try:
        expression = check_cron(text)
    except ValueError as error:
        assert str(error)  # noqa: PT017
    else:
        assert next_times(expression, "Europe/Berlin", datetime(2026, 3, 28, tzinfo=UTC), 3)
