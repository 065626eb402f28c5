"""Five fields on the clock of one zone, over the days on which that clock is changed."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from trainwright.core.cron import check_cron, check_zone, latest_times, next_times, zones


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def times(expression: str, zone: str, after: str, count: int) -> list[str]:
    return [t.strftime("%m-%d %H:%MZ") for t in next_times(expression, zone, utc(after), count)]


def test_g14_a_time_that_the_change_leaves_out_fires_once_at_the_next_that_exists() -> None:
    assert times("30 2 * * *", "Europe/Berlin", "2026-03-27T12:00", 3) == [
        "03-28 01:30Z",
        "03-29 01:00Z",
        "03-30 00:30Z",
    ]


def test_g14_a_time_that_comes_twice_fires_the_first_time() -> None:
    assert times("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00", 2) == ["10-25 00:30Z", "10-26 01:30Z"]


def test_g14_a_list_of_hours_keeps_the_wall_clock() -> None:
    found = times("0 7,9 * * *", "America/Los_Angeles", "2026-03-07T12:00", 6)
    assert found == ["03-07 15:00Z", "03-07 17:00Z", "03-08 14:00Z", "03-08 16:00Z", "03-09 14:00Z", "03-09 16:00Z"]


def test_g14_steps_of_hours_keep_the_wall_clock_too() -> None:
    found = times("20 */4 * * *", "Europe/Berlin", "2026-03-28T20:00", 4)
    assert found == ["03-28 23:20Z", "03-29 02:20Z", "03-29 06:20Z", "03-29 10:20Z"]
    found = times("20 */4 * * *", "America/Los_Angeles", "2026-03-08T00:00", 5)
    assert found == ["03-08 00:20Z", "03-08 04:20Z", "03-08 08:20Z", "03-08 11:20Z", "03-08 15:20Z"]


def test_how_a_field_is_spelt_makes_no_difference_to_the_rule() -> None:
    listed, starred = ("0,30 0-23 * * *", "*/30 * * * *")
    assert times(listed, "Europe/Berlin", "2026-10-24T22:00", 20) == times(
        starred, "Europe/Berlin", "2026-10-24T22:00", 20
    )
    assert times(starred, "Europe/Berlin", "2026-10-24T23:45", 4) == [
        "10-25 00:00Z", "10-25 00:30Z", "10-25 02:00Z", "10-25 02:30Z",
    ]  # fmt: skip
    assert times(starred, "Europe/Berlin", "2026-03-29T00:15", 3) == ["03-29 00:30Z", "03-29 01:00Z", "03-29 01:30Z"]


@pytest.mark.parametrize(
    ("zone", "after", "expected"),
    [
        ("Australia/Lord_Howe", "2026-10-03T00:00", ["10-03 15:30Z", "10-04 15:15Z"]),  # half an hour is left out
        ("Pacific/Apia", "2011-12-29T13:00", ["12-30 10:00Z", "12-30 12:15Z"]),  # a whole day is left out
        ("Asia/Kathmandu", "2026-01-01T00:00", ["01-01 20:30Z", "01-02 20:30Z"]),
        ("UTC", "2026-01-01T02:15", ["01-02 02:15Z", "01-03 02:15Z"]),
    ],
)
def test_odd_zones_follow_the_same_rule(zone: str, after: str, expected: list[str]) -> None:
    assert times("15 2 * * *", zone, after, 2) == expected


def test_the_page_on_changed_clocks_tells_the_truth() -> None:
    page = (Path(__file__).parents[3] / "docs" / "explanation" / "clock-changes.md").read_text(encoding="utf-8")
    rows = [re.findall(r"`([^`]+)`", line) for line in page.splitlines() if line.startswith("| `")]
    assert len(rows) == 8
    for expression, zone, after, *promised in rows:
        found = next_times(expression, zone, utc(after), len(promised))
        assert [t.strftime("%Y-%m-%dT%H:%M") for t in found] == promised, expression


def test_sunday_is_zero_and_seven() -> None:
    assert times("0 0 * * 0", "UTC", "2026-01-01T00:00", 2) == ["01-04 00:00Z", "01-11 00:00Z"]
    assert times("0 0 * * 7", "UTC", "2026-01-01T00:00", 2) == ["01-04 00:00Z", "01-11 00:00Z"]
    assert times("0 0 * * sun", "UTC", "2026-01-01T00:00", 1) == ["01-04 00:00Z"]


@pytest.mark.parametrize(
    ("expression", "sentence"),
    [
        ("@daily", "'@daily' has 1 fields, not five: minute hour day month weekday"),
        ("0 0 30 2 *", "'0 0 30 2 *' has a wrong day"),
        ("61 * * * *", "'61 * * * *' has a wrong minute"),
        ("* * * * 8", "'* * * * 8' has a wrong weekday"),
        ("* * * * mon#2/2", "'* * * * mon#2/2' has a wrong weekday"),
        ("0 0 ٣ * *", "'٣' is not a field of cron"),
        ("9" * 300 + " * * * *", "the expression has 308 characters, more than 200"),
        ("* * * * * *", "'* * * * * *' has 6 fields, not five: minute hour day month weekday"),
    ],
)
def test_what_is_not_cron_is_refused_in_a_sentence(expression: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        check_cron(expression)
    assert str(caught.value) == sentence


def test_an_expression_is_kept_with_single_spaces() -> None:
    assert check_cron("  5  4 * *\tMON ") == "5 4 * * MON"


@pytest.mark.parametrize("name", ["europe/berlin", "../x", "/etc/passwd", "", "\0", "localtime", "posix/UTC", "Europe"])
def test_what_is_no_zone_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="time zone"):
        check_zone(name)
    assert name not in zones()


def test_the_last_times_before_now_are_found_without_walking_from_the_first() -> None:
    since, until = utc("2001-01-01T00:00"), utc("2026-01-01T00:00")
    assert latest_times("* * * * *", "Europe/Berlin", since, until, 2) == (until - timedelta(minutes=1), until)
    assert latest_times("0 0 29 2 *", "UTC", since, until, 2) == (utc("2020-02-29T00:00"), utc("2024-02-29T00:00"))
    assert latest_times("0 0 29 2 *", "UTC", utc("2021-01-01"), utc("2023-01-01"), 2) == ()
    assert latest_times("0 0 * * *", "UTC", utc("2026-01-01"), utc("2026-01-03"), 5) == (
        utc("2026-01-02"), utc("2026-01-03"),
    )  # fmt: skip


def test_at_both_ends_of_the_calendar_there_is_nothing_and_no_error() -> None:
    end = datetime(9999, 12, 31, 23, 58, tzinfo=UTC)
    assert next_times("* * * * *", "UTC", end, 5) == (end + timedelta(minutes=1),)
    assert next_times("* * * * *", "Pacific/Apia", end, 5) == ()
    assert next_times("* * * * *", "America/New_York", datetime(1, 1, 1, tzinfo=UTC), 2) == ()
