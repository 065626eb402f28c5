"""Elastic workloads: they grow on idle room, and shrink before anybody is told to leave (see ``choosing``).

To grow is to restart from the last checkpoint with more replicas. So it is done only when nobody waits for room, when
the workload has run ``Growing.every_s`` as it is, and when it saves ``Growing.gain`` times what the restart costs; both
are judged as if twice the replicas were twice as fast.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta

from trainwright.core.decision import Resize
from trainwright.core.reasons import Reason, ReasonCode
from trainwright.core.scalar import Plain
from trainwright.core.workload import PodSet, Shape, Workload
from trainwright.sched.draft import Draft
from trainwright.sched.reserve import find_beside, would_delay
from trainwright.sched.victims import lost_s, seconds_between

WANT_ROOM = frozenset(
    {
        ReasonCode.WAITING_FOR_CAPACITY,
        ReasonCode.WAITING_FOR_VICTIMS,
        ReasonCode.BEHIND_RESERVATION,
        ReasonCode.SCATTERED,
        ReasonCode.BEHIND,
    }
)
"""Room is not idle as long as somebody waits for one of these reasons."""


def grow(draft: Draft) -> None:
    """Give idle room to running elastic workloads, up to what they wanted."""
    small = [one for one in draft.snapshot.holding if _is_small(one)]
    if not small or any(reason.code in WANT_ROOM for reason in draft.waiting.values()):
        return
    told = {*(e.attempt for e in draft.evictions), *(r.attempt for r in draft.resizes)}
    for one in sorted(small, key=lambda one: (-one.priority, one.queued_at, one.order, one.attempt)):
        if one.attempt not in told and _has_run_long_enough(one, draft):
            _grow(one, draft)


def _grow(one: Workload, draft: Draft) -> None:
    held = one.standing.places
    more = find_beside(_missing(one, draft), one, draft)
    if not more or not _gains(one, len(held) + len(more), draft):
        return
    if draft.ledger.excess(one, more) is not None or would_delay(one, more, draft) is not None:
        return
    draft.room.take(one.shape, more)
    draft.ledger.charge(one, more)
    evidence: dict[str, Plain] = {"count": len(held) + len(more), "before": len(held), "why": "there is idle room"}
    draft.resizes.append(Resize(one.attempt, (*held, *more), Reason(ReasonCode.RESIZED, evidence)))


def _is_small(one: Workload) -> bool:
    """Tell whether it runs with fewer replicas than it wants."""
    sets = one.shape.pod_sets
    is_elastic = any(pod_set.least < pod_set.count for pod_set in sets)
    return is_elastic and not one.standing.leaving and len(one.standing.places) < sum(p.count for p in sets)


def _has_run_long_enough(one: Workload, draft: Draft) -> bool:
    if one.standing.started_at is None:
        return False
    at = one.standing.started_at + timedelta(seconds=draft.policy.growing.every_s)
    if at > draft.now:
        draft.wake(at)
    return at <= draft.now


def _missing(one: Workload, draft: Draft) -> Shape:
    """Return the replicas that it lacks as a shape of its own, as many as quota allows, none of them needed."""
    held = Counter(place.pod_set for place in one.standing.places)
    pod_sets = []
    for i, pod_set in enumerate(one.shape.pod_sets):
        count = min(pod_set.count - held[i], _within_quota(pod_set, one, draft))
        pod_sets.append(replace(pod_set, count=max(0, count), least=0))
    return replace(one.shape, pod_sets=tuple(pod_sets))


def _within_quota(pod_set: PodSet, one: Workload, draft: Draft) -> int:
    """Return how many more replicas of it the queue may hold."""
    limited: Iterable[str] = draft.ledger.limits.get(one.queue, ())
    asked = pod_set.asked
    each = {"cpu": asked.cpu_milli, "memory": asked.memory_bytes, "gpu": asked.gpu_milli}
    free = [draft.ledger.free(one, r) // each[r] for r in limited if each.get(r)]
    return min(free, default=pod_set.count)


def _gains(one: Workload, count: int, draft: Draft) -> bool:
    """Tell whether with so many replicas it would save enough to pay for the restart."""
    contract, standing = one.contract, one.standing
    ran = seconds_between(standing.started_at, draft.now)
    rest = ran  # who knows nothing better expects what has run to run as long again
    if contract.expected_s is not None:
        rest = max(0.0, contract.expected_s - ran - standing.served_s)
    if contract.most_s is not None:
        rest = min(rest, contract.most_s - ran)
    saved = rest * (1 - len(standing.places) / count)
    return saved >= draft.policy.growing.gain * (contract.restart_cost_s + lost_s(one, draft.now))
