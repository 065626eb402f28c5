"""When windows are open, across midnight and the days on which clocks are changed."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from build import NOW, cluster, workload
from trainwright.core.reasons import ReasonCode
from trainwright.core.window import Window, window_of
from trainwright.core.workload import Contract
from trainwright.sched.policy import DEFAULT_POLICY
from trainwright.sched.round import schedule
from trainwright.sched.window import is_open, opening

NIGHT = window_of("22:00-06:00 Asia/Shanghai")
ZONES = st.sampled_from(
    ["UTC", "Europe/Berlin", "America/Los_Angeles", "Asia/Shanghai", "Australia/Lord_Howe", "Asia/Kathmandu"]
)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


@pytest.mark.parametrize(
    ("window", "now", "opens", "closes"),
    [
        (NIGHT, "2026-11-30T13:00Z", "2026-11-30T14:00Z", "2026-11-30T22:00Z"),
        (NIGHT, "2026-11-30T14:00Z", "2026-11-30T14:00Z", "2026-11-30T22:00Z"),
        (NIGHT, "2026-11-30T21:59:59Z", "2026-11-30T14:00Z", "2026-11-30T22:00Z"),
        (NIGHT, "2026-11-30T22:00Z", "2026-12-01T14:00Z", "2026-12-01T22:00Z"),
        # Berlin, 2026-03-29: 02:00 to 03:00 does not exist; 2026-10-25: it comes twice
        (window_of("02:30-04:00 Europe/Berlin"), "2026-03-29T00:00Z", "2026-03-29T01:00Z", "2026-03-29T02:00Z"),
        (window_of("01:00-02:30 Europe/Berlin"), "2026-03-29T00:30Z", "2026-03-29T00:00Z", "2026-03-29T01:00Z"),
        (window_of("02:30-04:00 Europe/Berlin"), "2026-10-25T00:00Z", "2026-10-25T00:30Z", "2026-10-25T03:00Z"),
        (window_of("02:15-02:45 Europe/Berlin"), "2026-03-29T00:00Z", "2026-03-30T00:15Z", "2026-03-30T00:45Z"),
        (window_of("Sat-Sun 00:00-23:59"), "2026-11-30T12:00Z", "2026-12-05T00:00Z", "2026-12-05T23:59Z"),
        (window_of("Fri 22:00-06:00"), "2026-12-05T05:00Z", "2026-12-04T22:00Z", "2026-12-05T06:00Z"),
    ],
)  # fmt: skip
def test_a_window_opens_and_closes(window: Window, now: str, opens: str, closes: str) -> None:
    assert opening(window, at(now)) == (at(opens), at(closes))
    assert is_open(window, at(now)) == (at(opens) <= at(now))


@given(
    start=st.integers(0, 1439),
    length=st.integers(1, 1439),
    zone=ZONES,
    days=st.sets(st.integers(0, 6), min_size=1).map(lambda found: tuple(sorted(found))),
    minute=st.integers(0, 365 * 24 * 60),
)
def test_a_window_is_open_when_the_clock_on_the_wall_says_so(
    start: int, length: int, zone: str, days: tuple[int, ...], minute: int
) -> None:
    window = Window(start, (start + length) % 1440, zone, days)
    now = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=minute)
    opens, closes = opening(window, now)
    assert opens < closes
    assert closes > now
    local = now.astimezone(ZoneInfo(zone))
    near_a_change = any(
        (now + timedelta(hours=h)).astimezone(ZoneInfo(zone)).utcoffset() != local.utcoffset() for h in range(-30, 31)
    )
    if near_a_change:
        return
    since = (local.hour * 60 + local.minute - start) % 1440
    began = (local - timedelta(minutes=since)).weekday()
    assert is_open(window, now) == (since < length and began in days)


def test_work_waits_for_its_window_and_says_when_it_opens() -> None:
    waits = replace(workload("a"), contract=Contract(window=NIGHT))
    decided = schedule(cluster(waits), DEFAULT_POLICY, at("2026-11-30T13:00Z"))
    (reason,) = decided.waiting.values()
    assert reason.code is ReasonCode.OUTSIDE_WINDOW
    assert "22:00-06:00 Asia/Shanghai" in reason.sentence()
    assert decided.wake_at == at("2026-11-30T14:00Z")
    assert schedule(cluster(waits), DEFAULT_POLICY, at("2026-11-30T14:00Z")).placements


def test_a_deadline_forces_work_outside_its_window_when_waiting_would_miss_it() -> None:
    now = at("2026-11-30T10:00Z")  # four hours before it opens
    contract = Contract(window=NIGHT, deadline=now + timedelta(hours=5), expected_s=2 * 3600.0)
    forced = replace(workload("a"), contract=contract)
    early = schedule(cluster(forced), DEFAULT_POLICY, now)
    assert early.waiting
    assert early.wake_at == now + timedelta(hours=3)
    assert schedule(cluster(forced), DEFAULT_POLICY, now + timedelta(hours=3)).placements
    relaxed = replace(forced, contract=replace(contract, deadline=now + timedelta(hours=9)))
    assert schedule(cluster(relaxed), DEFAULT_POLICY, now + timedelta(hours=3)).waiting
    unknown = replace(forced, contract=replace(contract, expected_s=None))
    assert schedule(cluster(unknown), DEFAULT_POLICY, now + timedelta(hours=3)).waiting


def test_now_is_not_touched_by_windows_of_nobody() -> None:
    assert schedule(cluster(workload("a")), DEFAULT_POLICY, NOW).wake_at is None
