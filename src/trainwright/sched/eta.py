"""When a waiting workload may start: by looking ahead with the rounds themselves, under a stated assumption."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from trainwright.core.ids import AttemptId
from trainwright.core.snapshot import ClusterSnapshot
from trainwright.core.workload import Workload
from trainwright.sched.departure import ended, left
from trainwright.sched.memory import Memory
from trainwright.sched.policy import Policy
from trainwright.sched.round import after, schedule

MOST_ROUNDS = 300
"""Rounds that one look ahead may take; what lies beyond is not known."""


@dataclass(frozen=True, slots=True)
class StartRange:
    """When it may start.

    Attributes:
        earliest, latest: None where that cannot be told.
        assumption: under which they hold, as a sentence.
    """

    earliest: datetime | None
    latest: datetime | None
    assumption: str


def start_range(snapshot: ClusterSnapshot, policy: Policy, now: datetime, attempt: AttemptId) -> StartRange:
    """Return when an attempt that waits may start if nothing else is submitted.

    The earliest start takes those who run to be done when their owners expect, the latest to take all the time that
    they may. Whose end nobody states is taken never to end, and named.
    """
    silent = sorted({w.label for w in snapshot.holding if _needed_s(w, longest=True) is None})
    earliest = _look_ahead(snapshot, policy, now, attempt, longest=False)
    latest = _look_ahead(snapshot, policy, now, attempt, longest=True)
    if earliest is not None and latest is not None and latest < earliest:
        earliest, latest = latest, earliest
    parts = ["nothing else is submitted", "who runs takes at least its expected_duration: and at most its timeout:"]
    if silent:
        more = f" and {len(silent) - 2} more" if len(silent) > 2 else ""  # noqa: PLR2004 - two are named
        parts.append(f"{', '.join(silent[:2])}{more} state no end and are taken never to end")
    return StartRange(earliest, latest, "; ".join(parts))


def _look_ahead(
    snapshot: ClusterSnapshot, policy: Policy, now: datetime, attempt: AttemptId, *, longest: bool
) -> datetime | None:
    """Return when it starts in the world where everybody ends as stated; None when that is too far to see."""
    memory = Memory()
    for _ in range(MOST_ROUNDS):
        decided = schedule(snapshot, policy, now, memory)
        if any(placement.attempt == attempt for placement in decided.placements):
            return now
        snapshot = after(snapshot, decided, now)
        if attempt not in snapshot.pending:
            return now
        ends = {w.attempt: at for w in snapshot.holding if (at := _end(w, now, longest=longest)) is not None}
        times = [*ends.values(), *([decided.wake_at] if decided.wake_at is not None else [])]
        later = [at for at in times if at > now]
        due = {a for a, at in ends.items() if at <= now}
        if not due and not later:
            return None
        if not due:
            now = min(later)
            due = {a for a, at in ends.items() if at <= now}
        snapshot = _ended(snapshot, due, policy, now)
    return None


def _ended(snapshot: ClusterSnapshot, due: set[AttemptId], policy: Policy, now: datetime) -> ClusterSnapshot:
    told = {attempt for attempt in due if snapshot.holding[attempt].standing.leaving}
    return left(ended(snapshot, due - told), told, policy, now)


def _end(workload: Workload, now: datetime, *, longest: bool) -> datetime | None:
    """Return when a running workload ends; one that is leaving ends after its grace at the latest."""
    contract, standing = workload.contract, workload.standing
    if standing.leaving:
        return now + timedelta(seconds=contract.grace_s) if longest else now
    needed_s = _needed_s(workload, longest=longest)
    if needed_s is None:
        return None
    ran_s = standing.served_s + ((now - standing.started_at).total_seconds() if standing.started_at else 0.0)
    return now + timedelta(seconds=max(0.0, needed_s - ran_s))


def _needed_s(workload: Workload, *, longest: bool) -> float | None:
    contract = workload.contract
    first, second = (contract.most_s, contract.expected_s) if longest else (contract.expected_s, contract.most_s)
    return first if first is not None else second
