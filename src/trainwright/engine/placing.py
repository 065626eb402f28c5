"""Room for attempts: what the scheduler is shown, and its word held against what is committed by now."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from functools import lru_cache

from trainwright.core.changes import Act, Changes
from trainwright.core.decision import Decision, Placement, Refusal
from trainwright.core.ids import AttemptId, RunId
from trainwright.core.node import Node
from trainwright.core.reasons import Reason, ReasonCode
from trainwright.core.run import Attempt, Run, RunView
from trainwright.core.snapshot import ClusterSnapshot, workloads_of
from trainwright.core.states import AttemptState
from trainwright.core.workload import Assignment, Standing, Workload, single
from trainwright.lifecycle.retry import resources_of
from trainwright.plan.plan import Plan
from trainwright.sched.invariants import broken
from trainwright.sched.policy import DEFAULT_POLICY
from trainwright.sched.room import occupied
from trainwright.sched.round import schedule

Holding = Callable[[], tuple[Workload, ...]]
"""Reads from the store what holds room in the project."""

Known = dict[AttemptId, tuple[Attempt, Workload]]
"""What the scheduler saw of attempts that wait."""


def place(
    waiting: Mapping[RunId, tuple[Plan, RunView, list[Attempt]]],
    nodes: tuple[Node, ...],
    holding: Iterable[Workload],
    now: datetime,
    known: Known,
) -> tuple[dict[RunId, list[Decision]], bool]:
    """Return the scheduler's word on every attempt that waits for room, by run; and whether all of them have room.

    Args:
        waiting: plan, records and unfinished attempts of each run, as decided so far.
        nodes: of the backend.
        holding: what holds room.
        now: attempts that may not start yet are left out.
        known: of the last round; left with what was asked for in this one.
    """
    words: dict[RunId, list[Decision]] = {}
    pending: list[Workload] = []
    for run_id, (plan, view, live) in waiting.items():
        queued = [a for a in live if a.state is AttemptState.QUEUED and (a.not_before is None or a.not_before <= now)]
        queued.sort(key=lambda a: (plan.position(a.step), a.queued_at, natural(a.step)))
        limit = len(queued)
        if plan.parallel:
            limit = max(0, plan.parallel - sum(a.state.holds_room for a in live))
        pending += [_known_workload(known, a, plan, view.run) for a in queued[:limit]]
        reason = Reason(ReasonCode.WAITING_FOR_TURN, {"limit": plan.parallel})
        if len(queued) > limit:
            words[run_id] = [Refusal(a.id, reason) for a in queued[limit:] if not _said(a.reason, reason)]
    asked = {w.attempt for w in pending}
    for gone in known.keys() - asked:
        del known[gone]
    reasons = {a.id: a.reason for _, _, live in waiting.values() for a in live if a.reason is not None}
    if not pending:
        return words, True
    held = workloads_of(*holding)
    decided = schedule(ClusterSnapshot(occupied(nodes, held), workloads_of(*pending), held), DEFAULT_POLICY, now)
    for placement in decided.placements:
        words.setdefault(run_of(placement.attempt), []).append(placement)
    for attempt, why in decided.waiting.items():
        # numbers and names change with every attempt that ends, and are looked up when asked for
        if not _said(reasons.get(attempt), why):
            words.setdefault(run_of(attempt), []).append(Refusal(attempt, why))
    return words, not decided.waiting


def _known_workload(known: Known, attempt: Attempt, plan: Plan, run: Run) -> Workload:
    """Return what the scheduler sees of an attempt that waits: most have waited in the last round too, unchanged."""
    before = known.get(attempt.id)
    if before is None or before[0] is not attempt:
        known[attempt.id] = before = attempt, workload(attempt, plan, run)
    return before[1]


def _said(before: Reason | None, reason: Reason) -> bool:
    return before is not None and before.code is reason.code


def still_fits(
    plan: Plan, view: RunView, happened: Changes, placed: Changes, nodes: tuple[Node, ...], holding: Holding
) -> bool:
    """Hold the placements against what is committed by now: nobody else may have been given the room."""
    started = {i.attempt for i in placed.instructions if i.act is Act.START}
    if not started:
        return True
    ended = {a.id for a in happened.attempts if not a.state.holds_room}
    attempts = [a for a in placed.attempts if a.id in started]
    held = [w for w in holding() if w.attempt not in ended]
    pending = workloads_of(*(workload(replace(a, devices=()), plan, view.run, nodes[0].name) for a in attempts))
    placements = [Placement(a.id, (Assignment(nodes[0].name, a.devices),)) for a in attempts]
    return not broken(ClusterSnapshot(occupied(nodes, held), pending), placements)


def workload(attempt: Attempt, plan: Plan, run: Run, node: str = "") -> Workload:
    """Return what the scheduler sees of an attempt.

    ``node`` is the one that it is on when it holds room.
    """
    places = (Assignment(node, attempt.devices),) if attempt.state.holds_room else ()
    return Workload(
        attempt=attempt.id,
        label=f"{run.pipeline}#{run.number}/{attempt.step}",
        shape=single(resources_of(plan.step(attempt.step), attempt.ooms)),
        queued_at=run.submitted_at,
        order=(run.number, plan.position(attempt.step)),
        standing=Standing(places=places, started_at=attempt.started_at),
    )


def run_of(attempt: AttemptId) -> RunId:
    """Return the run that an attempt belongs to."""
    return RunId(attempt.split("/", 1)[0])


@lru_cache(maxsize=4096)  # what waits is sorted at every turn
def natural(name: str) -> tuple[tuple[int, str], ...]:
    """Return a key that sorts ``eval.9`` before ``eval.10``."""
    return tuple((int(part), "") if part.isdigit() else (-1, part) for part in name.split("."))
