"""Time slicing: which of those who share a queue by time have the room now.

Only those take part whose contract says so, and only those of one queue and one priority have one another's room.
"""

from collections import Counter
from collections.abc import Container
from dataclasses import dataclass
from datetime import datetime, timedelta

from trainwright.core.decision import Eviction
from trainwright.core.ids import AttemptId
from trainwright.core.quantity import show_duration
from trainwright.core.reasons import Reason, ReasonCode
from trainwright.core.workload import Assignment, Preemption, Workload
from trainwright.sched.admission import never, not_admitted
from trainwright.sched.contest import Contest
from trainwright.sched.draft import Draft
from trainwright.sched.hazard import Hazards
from trainwright.sched.index import Candidate, candidate
from trainwright.sched.layout import Layout, blockers, lay_out
from trainwright.sched.preempt import claim, is_free
from trainwright.sched.sharers import Key, Sharers, Waiting, key_of, living_of


@dataclass(slots=True)
class _Group:
    """Those of one key in this round.

    Attributes:
        placed: of those who wait, who was given room before in this round, or has it held.
        running: hold room and were not told to leave.
        leaving: were told to.
        alone: nobody else who waits comes before or beside them, so that free room is theirs too.
    """

    key: Key
    waiting: list[Candidate]
    placed: dict[AttemptId, tuple[Assignment, ...]]
    running: list[Workload]
    leaving: list[Workload]
    alone: bool


def slice_time(draft: Draft) -> None:
    """Tell those to leave whose turn is over, and let those go first whose turn it is."""
    sharers = draft.memory.part(Sharers).as_of(draft.snapshot.pending)
    if not sharers.waiting:
        return
    draft.drifts = True
    holding = draft.snapshot.holding
    sharing = [one for one in holding if one.contract.preemption is Preemption.TIME_SLICED]
    hazards = Hazards(draft.snapshot.history, (sharers.living, living_of(holding, draft.now)))
    for key in sorted(sharers.waiting, reverse=True):
        group = _group(key, sharers, sharing, draft)
        if group is not None:
            _take_turns(group, hazards, draft)


def _group(key: Key, sharers: Sharers, sharing: list[Workload], draft: Draft) -> _Group | None:
    all_waiting = sharers.waiting[key]
    placed = {**{p.attempt: p.places for p in draft.placements}, **{c.attempt: c.places for c in draft.claims}}
    placed = {attempt: places for attempt, places in placed.items() if attempt in all_waiting.all}
    waiting = _eligible(all_waiting, draft, placed)
    if len(waiting) <= len(placed):
        return None
    ahead = sum(count for priority, count in sharers.priorities.items() if priority >= key.priority)
    mine = [one for one in sharing if key_of(one) == key]
    mine.sort(key=lambda one: (one.queued_at, one.order, one.attempt))
    return _Group(
        key,
        waiting,
        placed,
        [one for one in mine if not one.standing.leaving],
        [one for one in mine if one.standing.leaving],
        ahead == len(all_waiting.all) and key.queue not in draft.snapshot.queues,
    )


def _eligible(waiting: Waiting, draft: Draft, placed: Container[AttemptId]) -> list[Candidate]:
    """Return those whom nothing but room keeps from starting, and those who are ``placed``."""
    out = {at for at in waiting.bound if at not in placed and not_admitted(waiting.all[at].workload, draft) is not None}
    free = next((one.workload for at, one in waiting.all.items() if at not in waiting.bound and at not in placed), None)
    if free is not None and not_admitted(free, draft) is not None:  # what is true of one is true of all of those
        out |= {attempt for attempt in waiting.all if attempt not in waiting.bound and attempt not in placed}
    hopeless = {shape for shape, one in waiting.shapes.items() if never(one, draft) is not None}
    if not out and not hopeless:
        return list(waiting.all.values())
    return [one for at, one in waiting.all.items() if at not in out and one.workload.shape not in hopeless]


def _take_turns(group: _Group, hazards: Hazards, draft: Draft) -> None:
    contest = Contest(
        [*(candidate(one, draft.now) for one in group.running), *group.waiting],
        _capacity(group, draft),
        group.key.gpu,
        draft.now,
        draft.snapshot.history,
        hazards,
        draft.policy,
    )
    chosen, others = contest.chosen()
    draft.wake(contest.next_change(chosen))
    attempts = {one.workload.attempt for one in chosen}
    starting = [one.workload for one in chosen if _is_to_start(one.workload, group)]
    if starting:
        gone = [one for one in group.running if one.attempt not in attempts]
        movable = [one for one in group.running if one.attempt in attempts and _settled_at(one, draft) <= draft.now]
        rest = [one.workload for one in others if one.workload.standing.places or _is_to_start(one.workload, group)]
        layout = lay_out(starting, (*gone, *group.leaving), movable, rest, draft.room)
        _tell(group, layout, draft)
    if group.alone:
        _refuse_others(group, draft)


def _is_to_start(one: Workload, group: _Group) -> bool:
    return not one.standing.places and one.attempt not in group.placed


def _capacity(group: _Group, draft: Draft) -> int:
    """Return what they may have together: what they hold, and what is free when nobody else wants it."""
    gpu = group.key.gpu
    held: Counter[str] = Counter()
    pairs = [(one, one.standing.places) for one in (*group.running, *group.leaving)]
    pairs += [(draft.snapshot.pending[attempt], places) for attempt, places in group.placed.items()]
    for one, places in pairs:
        for place in places:
            asked = one.shape.pod_sets[place.pod_set].asked
            held[place.node] += asked.gpu_milli if gpu else asked.cpu_milli
    if not group.alone:
        return sum(held.values())
    total, pools = 0, group.key.pools
    for node in draft.room.nodes:
        if node.ready and (not pools or node.pool in pools):
            free = node.free.gpu_milli if gpu else node.free.cpu_milli
            total += max(free + held.get(node.name, 0), 0)
    return total


def _settled_at(one: Workload, draft: Draft) -> datetime:
    """Return when it has run long enough to leave its room to an equal one."""
    least_s = draft.policy.preempting.restarts_a_run * one.contract.restart_cost_s
    return (one.standing.started_at or draft.now) + timedelta(seconds=least_s)


def _tell(group: _Group, layout: Layout, draft: Draft) -> None:
    """Let those start who can, and tell those to leave who are in the way of the others."""
    running = {one.attempt: one for one in (*layout.gone, *layout.moved) if not one.standing.leaving}
    settled_at = {attempt: _settled_at(one, draft) for attempt, one in running.items()}
    told: dict[AttemptId, Workload] = {}
    ready: list[tuple[Workload, tuple[Assignment, ...]]] = []
    for rank, (one, places) in enumerate(layout.places):
        draft.first[one.attempt] = float(rank)
        in_the_way = [other.attempt for other in blockers(places, running.values())]
        late = max((settled_at[other] for other in in_the_way), default=draft.now)
        if late <= draft.now:
            told.update((other, one) for other in in_the_way if other not in told)
            ready.append((one, places))
            continue
        draft.wake(late)
        if group.alone:  # nobody else may have what of its places is free
            draft.room.take(one.shape, places)
            draft.ledger.charge(one, places)
    if told:  # those who move make room for one another
        told.update((other.attempt, layout.places[0][0]) for other in layout.moved if other.attempt not in told)
    for attempt, beneficiary in told.items():
        victim = running[attempt]
        draft.evictions.append(Eviction(attempt, beneficiary.attempt, _sliced(victim, beneficiary, draft)))
        draft.giving.append(victim)
    for one, places in ready if group.alone else ():
        _start(one, places, draft)


def _start(one: Workload, places: tuple[Assignment, ...], draft: Draft) -> None:
    """Let it start, or hold its room until that is free."""
    if is_free(one, places, draft.room):
        draft.place(one, places)
    else:
        draft.refuse(one, claim(one, places, draft))


def _refuse_others(group: _Group, draft: Draft) -> None:
    placed = {placement.attempt for placement in draft.placements}
    attempts = [one.workload.attempt for one in group.waiting]
    waiting = [attempt for attempt in attempts if attempt not in placed and attempt not in draft.waiting]
    if waiting:
        why = "their turn ends when another is worth more, by what it has left and by how long it waits"
        ahead = ", ".join(draft.holders()) or "those whose turn it is"
        reason = Reason(ReasonCode.WAITING_FOR_TIME_SLICE, {"ahead": ahead, "why": why})
        draft.refuse(draft.snapshot.pending[min(waiting)], reason, waiting)


def _sliced(victim: Workload, beneficiary: Workload, draft: Draft) -> Reason:
    standing = victim.standing
    since = max((at for at in (standing.saved_at, standing.started_at) if at is not None), default=draft.now)
    lost = max((draft.now - since).total_seconds(), 0.0)
    return Reason(ReasonCode.TIME_SLICED, {"beneficiary": beneficiary.label, "lost": show_duration(lost)})
