"""Who may be told to leave for whom, what that would cost, and what it would give.

Two rules allow it. *Preemption*: the victim's priority is strictly lower. *Reclaim*: the claimant stays within what its
queue is guaranteed, and the victim's queue, another one of the cohort, holds more than its own guarantee; priorities
do not matter then. Each rule could undo what the other did, for ever: an urgent job pushes another team's work out of
its guarantee, which takes the guarantee back, and so on. So whoever was told to leave within ``Preempting.per_s``
reclaims nothing from a higher priority, and preempts nobody that another queue's guarantee covers.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from heapq import merge
from itertools import islice

from trainwright.core.ids import AttemptId
from trainwright.core.queue import Queue, QueueName
from trainwright.core.reasons import ReasonCode
from trainwright.core.records import Records
from trainwright.core.workload import Assignment, Preemption, Workload
from trainwright.sched.amounts import wanted_amounts
from trainwright.sched.draft import Draft
from trainwright.sched.policy import Policy

MOST_UNITS = 1024
"""So many of the cheapest ways are looked at; a gang that needs more of them waits."""

CORES_A_GPU = 16
"""The work of so many cores weighs as much as that of a GPU when what is lost is compared."""


class Way(StrEnum):
    """How room is got, those ways first that are to be tried first."""

    CLAIM = "0 claim"  # room held for somebody who has a lower priority: nothing is lost
    SHRINK = "1 shrink"
    EVICT = "2 evict"
    SHRINK_YOUNG = "3 shrink young"  # within its minimum run
    EVICT_YOUNG = "4 evict young"


@dataclass(frozen=True, slots=True)
class Unit:
    """One way to get room from one workload.

    Attributes:
        gives: places that get free.
        keeps: places that it goes on with; empty when it leaves.
        rule: preempted or reclaimed.
        lost_s: seconds of work since its last checkpoint.
        cost: GPU-seconds of work that are lost, its restart among them.
    """

    workload: Workload
    way: Way
    gives: tuple[Assignment, ...]
    keeps: tuple[Assignment, ...]
    rule: ReasonCode
    lost_s: float
    cost: float

    @property
    def gone(self) -> Workload:
        """Return it as a workload that holds nothing but what it gives."""
        return replace(self.workload, standing=replace(self.workload.standing, places=self.gives))

    @property
    def precedence(self) -> tuple[str, float, int, str]:
        """Return the order in which units are tried: cheapest first, the less important of two that cost the same."""
        return self.way, self.cost, self.workload.priority, self.workload.attempt


def difference(these: Iterable[Assignment], those: Iterable[Assignment]) -> tuple[Assignment, ...]:
    """Return the places among these that are not among those, each as often as it is there more often."""
    left = Counter(those)
    found = []
    for place in these:
        if left[place]:
            left[place] -= 1
        else:
            found.append(place)
    return tuple(found)


def seconds_between(before: datetime | None, after: datetime) -> float:
    """Return how many seconds lie between the two, none when there is no first one or it is the later one."""
    return 0.0 if before is None else max(0.0, (after - before).total_seconds())


def lost_s(workload: Workload, now: datetime) -> float:
    """Return the seconds of work that it loses when it is ended now."""
    return seconds_between(workload.standing.saved_at or workload.standing.started_at, now)


def weight(workload: Workload, places: Iterable[Assignment]) -> float:
    """Return how many GPUs these places count for; of what has no GPU, its cores as parts of one."""
    asked = [workload.shape.pod_sets[place.pod_set].asked for place in places]
    gpus = sum(a.gpu_milli for a in asked) / 1000
    return gpus or sum(a.cpu_milli for a in asked) / 1000 / CORES_A_GPU


def leaves_at(workload: Workload) -> datetime | None:
    """Return when one that was told to leave is gone at the latest; None when nobody knows when it was told."""
    told = workload.standing.told_at
    return None if told is None else told + timedelta(seconds=workload.contract.grace_s)


def is_stuck(workload: Workload, draft: Draft) -> bool:
    """Tell whether it should have been gone for longer than anybody has patience."""
    at = leaves_at(workload)
    return at is not None and seconds_between(at, draft.now) >= draft.policy.preempting.patience_s


def coming(draft: Draft) -> list[Workload]:
    """Return those who are leaving and are not stuck, each as a workload that holds nothing but what it gives back."""
    found = []
    for workload in holders(draft).leaving:
        if is_stuck(workload, draft):
            continue
        at = leaves_at(workload)
        if at is not None:
            draft.wake(at + timedelta(seconds=draft.policy.preempting.patience_s))
        gives = difference(workload.standing.places, workload.standing.claim)
        found.append(replace(workload, standing=replace(workload.standing, places=gives)))
    return found


def was_told(workload: Workload, draft: Draft) -> bool:
    """Tell whether it was told to leave within the period in which that is counted."""
    return _times_told(workload, draft) > 0


def _times_told(workload: Workload, draft: Draft) -> int:
    since = draft.now - timedelta(seconds=draft.policy.preempting.per_s)
    return sum(at > since for at in workload.standing.preempted_at)


class Rights:
    """What one claimant may ask of others."""

    def __init__(self, claimant: Workload, draft: Draft) -> None:
        """Look up once what does not depend on the victim."""
        self._claimant, self._draft = claimant, draft
        self._told = was_told(claimant, draft)
        self._asks = {resource for resource, amount in wanted_amounts(claimant.shape).items() if amount}
        self._cohort = draft.snapshot.queues.get(claimant.queue, Queue(claimant.queue)).cohort
        self.reclaims = bool(self._cohort) and draft.ledger.is_guaranteed(claimant)
        self._borrowing: dict[QueueName, bool] = {}

    def against(self, queue: QueueName, priority: int) -> ReasonCode | None:
        """Return the rule by which who holds room may be told to leave for the claimant; None when nobody may."""
        above = priority - self._claimant.priority
        if above < 0 and not (self._told and self._is_covered(queue)):
            return ReasonCode.PREEMPTED
        if self.reclaims and self._is_borrower(queue) and not (self._told and above > 0):
            return ReasonCode.RECLAIMED
        return None

    def over(self, queue: QueueName) -> dict[str, int]:
        """Return what a queue holds above its guarantee of what the claimant asks for."""
        return {r: amount for r, amount in self._draft.ledger.borrowed(queue).items() if r in self._asks}

    def _is_borrower(self, queue: QueueName) -> bool:
        if queue not in self._borrowing:
            cohort = self._draft.snapshot.queues.get(queue, Queue(queue)).cohort
            other = queue != self._claimant.queue and cohort == self._cohort
            self._borrowing[queue] = other and bool(self.over(queue))
        return self._borrowing[queue]

    def _is_covered(self, queue: QueueName) -> bool:
        declared = self._draft.snapshot.queues.get(queue)
        if queue == self._claimant.queue or declared is None:
            return False
        return any(q.guaranteed for r, q in declared.quotas.items() if r in self._asks) and not self.over(queue)


class Holders:
    """Those who hold room, sorted by all that a rule depends on; made anew when they change."""

    def __init__(self) -> None:
        """Begin with nobody."""
        self._holding: Records[AttemptId, Workload] = Records()
        self.groups: dict[tuple[QueueName, int], list[Workload]] = {}
        self.leaving: list[Workload] = []
        self._units: dict[tuple[QueueName, int], list[Unit]] = {}
        self._as_of: tuple[datetime, Policy] | None = None

    def as_of(self, holding: Records[AttemptId, Workload]) -> "Holders":
        """Return itself once it holds these and nobody else."""
        if holding is not self._holding:
            self.groups, self._holding = {}, holding
            self.leaving = [one for one in holding if one.standing.leaving]
            for one in holding:
                if not one.standing.leaving and one.contract.preemption is not Preemption.NEVER:
                    self.groups.setdefault((one.queue, one.priority), []).append(one)
            self._as_of = None
        return self

    def units(self, group: tuple[QueueName, int], draft: Draft) -> list[Unit]:
        """Return the ways to get room from one of a group, in the order in which they are tried."""
        if self._as_of != (draft.now, draft.policy):
            self._units, self._as_of = {}, (draft.now, draft.policy)
        if group not in self._units:
            found = [unit for one in self.groups[group] if _may_be_told(one, draft) for unit in _from_one(one, draft)]
            self._units[group] = sorted(found, key=lambda unit: unit.precedence)
        return self._units[group]


def holders(draft: Draft) -> Holders:
    """Return those who hold room in this round."""
    return draft.memory.part(Holders).as_of(draft.snapshot.holding)


def units_for(claimant: Workload, draft: Draft) -> list[Unit]:
    """Return the first ways to get room for it from a single workload, in the order in which they are tried."""
    rights = Rights(claimant, draft)
    known = holders(draft)
    told = {*(e.attempt for e in draft.evictions), *(r.attempt for r in draft.resizes)}
    groups: list[Iterable[Unit]] = [_claims(rights, draft)]
    for queue, priority in known.groups:
        rule = rights.against(queue, priority)
        if rule is not None:
            units = known.units((queue, priority), draft)
            groups.append(units if rule is ReasonCode.PREEMPTED else [replace(unit, rule=rule) for unit in units])
    merged = merge(*groups, key=lambda unit: unit.precedence)
    return list(islice((unit for unit in merged if unit.workload.attempt not in told), MOST_UNITS))


def _may_be_told(victim: Workload, draft: Draft) -> bool:
    """Tell whether it was not told to leave too often."""
    policy, told = draft.policy.preempting, victim.standing.preempted_at
    if len(told) < policy.most or _times_told(victim, draft) < policy.most:
        return True
    draft.wake(told[-policy.most] + timedelta(seconds=policy.per_s))
    return False


def _from_one(victim: Workload, draft: Draft) -> Iterator[Unit]:
    """Yield the units of one that may be told to leave: fewer replicas where it is elastic, and all of it."""
    standing, contract, rule = victim.standing, victim.contract, ReasonCode.PREEMPTED
    lost = lost_s(victim, draft.now)
    cost = (lost + contract.restart_cost_s) * weight(victim, standing.places)
    ran = seconds_between(standing.started_at, draft.now)
    is_young = ran < draft.policy.preempting.restarts_a_run * contract.restart_cost_s
    gives = surplus(victim)
    if gives:
        way = Way.SHRINK_YOUNG if is_young else Way.SHRINK
        yield Unit(victim, way, gives, difference(standing.places, gives), rule, lost, cost)
    yield Unit(victim, Way.EVICT_YOUNG if is_young else Way.EVICT, standing.places, (), rule, lost, cost)


def surplus(victim: Workload) -> tuple[Assignment, ...]:
    """Return the places that an elastic workload can do without, its last ones."""
    held = Counter(place.pod_set for place in victim.standing.places)
    spare = {i: held[i] - pod_set.least for i, pod_set in enumerate(victim.shape.pod_sets)}
    found = []
    for place in reversed(victim.standing.places):
        if spare[place.pod_set] > 0:
            spare[place.pod_set] -= 1
            found.append(place)
    return tuple(found)


def _claims(rights: Rights, draft: Draft) -> list[Unit]:
    """Return the room that is held for others whom the claimant could tell to leave if they were there already."""
    found = []
    for claim in draft.claims:
        holder = draft.snapshot.pending[claim.attempt]
        if not claim.collects and rights.against(holder.queue, holder.priority) is ReasonCode.PREEMPTED:
            found.append(Unit(holder, Way.CLAIM, claim.places, (), ReasonCode.PREEMPTED, 0.0, 0.0))
    return sorted(found, key=lambda unit: unit.precedence)
