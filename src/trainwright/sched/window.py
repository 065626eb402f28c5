"""When a window is open, on the clock of its zone, also on the days on which that clock is changed.

A time that the change leaves out counts as the next instant that exists; one that comes twice counts the first time:
as cron does, see ``core.cron``.
"""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from trainwright.core.reasons import Reason, ReasonCode
from trainwright.core.window import Window
from trainwright.core.workload import Workload
from trainwright.sched.draft import Draft

_WEEK = 8  # days to look ahead: a window opens on some day of any week


def opening(window: Window, now: datetime) -> tuple[datetime, datetime]:
    """Return when the window that is open now, or else the next one, opens and closes; aware, in UTC."""
    zone = ZoneInfo(window.zone)
    today = now.astimezone(zone).date()
    for ahead in range(-1, _WEEK + 1):
        day = today + timedelta(days=ahead)
        if day.weekday() not in window.days:
            continue
        start = _instant(day.year, day.month, day.day, window.start_minute, zone)
        last = day + timedelta(days=window.end_minute <= window.start_minute)
        end = _instant(last.year, last.month, last.day, window.end_minute, zone)
        if end > now and start < end:
            return start, end
    raise ValueError(f"{window} never opens")  # pragma: no cover - it has a day in every week


def is_open(window: Window, now: datetime) -> bool:
    """Tell whether work may start."""
    return opening(window, now)[0] <= now


def outside_window(workload: Workload, draft: Draft) -> Reason | None:
    """Return that a workload waits for its window; None when it is open, or when waiting would miss the deadline."""
    window = workload.contract.window
    if window is None:
        return None
    opens, _ = opening(window, draft.now)
    if opens <= draft.now or forced_at(workload, opens) <= draft.now:
        return None
    draft.wake(min(opens, forced_at(workload, opens)))
    return Reason(ReasonCode.OUTSIDE_WINDOW, {"window": str(window), "at": opens.isoformat()})


def forced_at(workload: Workload, opens: datetime) -> datetime:
    """Return from when on it may start outside its window: ``opens`` itself unless the deadline cannot wait for it.

    What it still needs is its expected run time, or the longest that it may take; when nobody knows either, the
    deadline forces nothing.
    """
    contract = workload.contract
    needed_s = contract.expected_s if contract.expected_s is not None else contract.most_s
    if contract.deadline is None or needed_s is None:
        return opens
    latest = contract.deadline - timedelta(seconds=max(0.0, needed_s - workload.standing.served_s))
    return min(opens, latest) if latest < opens else opens


def _instant(year: int, month: int, day: int, minute: int, zone: ZoneInfo) -> datetime:
    local = datetime(year, month, day, minute // 60, minute % 60, tzinfo=zone)
    instant = local.astimezone(UTC)
    back = instant.astimezone(zone)
    if (back.hour, back.minute) == (local.hour, local.minute):
        return instant
    return _first_after_gap(local, zone)


def _first_after_gap(local: datetime, zone: ZoneInfo) -> datetime:
    """Return the first instant that exists after a wall time that does not."""
    early, late = local.replace(fold=1).astimezone(UTC), local.replace(fold=0).astimezone(UTC)
    offset_before = early.astimezone(zone).utcoffset()
    low, high = min(early, late), max(early, late)
    while high - low > timedelta(seconds=1):
        middle = low + (high - low) / 2
        if middle.astimezone(zone).utcoffset() == offset_before:
            low = middle
        else:
            high = middle
    return high.replace(microsecond=0)
