"""A load from its first submission to its last end: rounds of the product's own scheduler on a virtual clock.

A round follows whatever happens: a submission, an end, a node that comes or goes, the time a round asked to be woken
at. What it decides is carried out as the live engine does it: who is told to leave goes on until it has saved, is
queued again, and what a start used counts when it is over.
"""

import heapq
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

from trainwright.core.decision import Round
from trainwright.core.history import History
from trainwright.core.ids import AttemptId
from trainwright.core.snapshot import ClusterSnapshot, nodes_of
from trainwright.core.workload import Assignment, Standing, Workload
from trainwright.sched.memory import Memory
from trainwright.sched.policy import Policy
from trainwright.sched.round import after, schedule
from trainwright.sim.accounts import Accounts
from trainwright.sim.checks import check_round, check_world
from trainwright.sim.cluster import Cluster
from trainwright.sim.job import Job, Life
from trainwright.sim.machines import Machines
from trainwright.sim.outcome import Outcome
from trainwright.sim.progress import Progress
from trainwright.sim.world import Moves, moved

BEGINNING = datetime(2026, 1, 5, tzinfo=UTC)
"""Second 0 of a load that names no day: a Monday, 00:00 UTC."""

MOST_ROUNDS_AT_ONCE = 1000
"""At one instant; more would never let the clock go on."""

_ARRIVES, _ENDS, _LEAVES, _SAVES, _NODE, _WAKES = range(6)


Decide: TypeAlias = Callable[[ClusterSnapshot, Policy, datetime, Memory], Round]


@dataclass(frozen=True, slots=True)
class Manner:
    """How a load is run.

    Attributes:
        begin: the instant of second 0.
        check: hold the invariants at every round; several times as long.
        told: called now and then with how many jobs are done, of how many.
        decide: holds a round.
    """

    begin: datetime = BEGINNING
    check: bool = False
    told: Callable[[int, int], None] | None = None
    decide: Decide = schedule


def simulate(load: Iterable[Job], cluster: Cluster, policy: Policy, manner: Manner | None = None) -> Outcome:
    """Run a load to its end, or until nothing can happen any more. Same values, same outcome.

    Raises:
        BugError: with ``check``, an invariant does not hold; without, a round that never comes to an end.
    """
    return _Simulation(load, cluster, policy, manner or Manner()).outcome()


class _Simulation:
    def __init__(self, load: Iterable[Job], cluster: Cluster, policy: Policy, manner: Manner) -> None:
        self.manner, self.policy, self.memory = manner, policy, Memory()
        self.cluster = cluster
        self.machines = Machines(cluster, policy.autoscaling)
        self.history = History()
        jobs = sorted(load, key=lambda job: job.submit_s)
        self.jobs = [self._progress(job, number) for number, job in enumerate(jobs, 1)]
        self.elastic = any(p.least < p.count for job in jobs for p in job.shape.pod_sets)
        self.by_attempt = {one.waits.attempt: one for one in self.jobs}
        self.world = ClusterSnapshot(
            nodes_of(*cluster.nodes), queues=cluster.queues, cohorts=cluster.cohorts, pools=cluster.pools
        )
        self.accounts = Accounts(manner.begin, cluster.queues, policy.ordering.half_life_s, cluster.unit)
        self.totals = self.accounts.resized(cluster.nodes, manner.begin)
        self.events: list[tuple[datetime, int, int, AttemptId | str]] = []
        for one in self.jobs:
            self._at(one.queued_at, _ARRIVES, 0, one.waits.attempt)
        for index, change in enumerate(cluster.changes):
            self._at(manner.begin + timedelta(seconds=change.at_s), _NODE, index, change.node.name)
        self.last: Round = Round()
        self.now = self.until = manner.begin
        self.done = self.rounds = 0

    def outcome(self) -> Outcome:
        """Run it."""
        at_once = 0
        while self.events:
            now = self.events[0][0]
            at_once = at_once + 1 if now == self.now else 0
            self.now = now
            if self._happen(now):
                self._decide(now)
            if at_once > MOST_ROUNDS_AT_ONCE:
                self._stuck(now)
        lives = tuple(self._life(one) for one in self.jobs)
        times = self.accounts.times(self.until)
        weights = {name: self._weight(name) for name in {**times.used, **times.pending}}
        return Outcome(
            lives=lives,
            begin=self.manner.begin,
            until=self.until,
            times=times,
            weights=weights,
            used_s=self.accounts.held.total / 1000,
            capacity_s=self.accounts.capacity.total / 1000,
            rounds=self.rounds,
        )

    # what happens

    def _happen(self, now: datetime) -> bool:
        """Let everything of this instant happen; tell whether a round is to follow."""
        moves = Moves(now)
        matters = False
        while self.events and self.events[0][0] == now:
            _, kind, start, name = heapq.heappop(self.events)
            matters |= self._take(kind, start, AttemptId(name), moves)
        self.world = moved(self.world, moves)
        if moves.come or moves.gone:
            self.totals = self.accounts.resized(self.world.nodes, now)
        if self.manner.check and matters:
            check_world(self.world, self.machines.empty)
        return matters

    def _take(self, kind: int, start: int, name: AttemptId, moves: Moves) -> bool:
        if kind == _NODE:
            self._change_nodes(start, moves)
            return True
        if kind == _WAKES:
            return True
        one = self.by_attempt[name]
        if kind == _ARRIVES:
            self._queue(one.waits, moves)
            return True
        if one.start != start or one.began is None:
            return False
        if kind == _SAVES:
            self._save(one, moves)
            return False
        self._release(one, moves)
        if kind == _ENDS:
            one.finish(moves.now)
            self.history = self.history.with_end(one.waits, one.held_s, moves.now)
            self.done, self.until = self.done + 1, moves.now
        else:
            self._again(one, moves, one.told_at if one.saves_when_told else None)
        return True

    def _change_nodes(self, index: int, moves: Moves) -> None:
        """Let a node come or go; what runs on one that goes is lost and queued again."""
        node, comes = self.machines.change(index)
        if comes:
            moves.come[node.name] = node
            return
        moves.gone.add(node.name)
        for workload in self.world.holding:
            if any(place.node == node.name for place in workload.standing.places):
                one = self.by_attempt[workload.attempt]
                if one.began is not None:
                    self._release(one, moves)
                    self._again(one, moves, None, lost=True)

    def _queue(self, workload: Workload, moves: Moves) -> None:
        moves.queue[workload.attempt] = workload
        self.accounts.queued(workload.queue, moves.now, 1)

    def _release(self, one: Progress, moves: Moves) -> None:
        workload = self.world.holding[one.waits.attempt]
        moves.release[workload.attempt] = workload
        self.accounts.ended(workload, moves.now, self.totals, self.machines.empty, self.cluster.pools)
        self.accounts.moved(workload, moves.now, -1)

    def _again(self, one: Progress, moves: Moves, saved: datetime | None, *, lost: bool = False) -> None:
        """Queue it again: what it is like is as the live engine would have it."""
        before = self.world.holding[one.waits.attempt].standing
        resized = bool(before.claim) and not lost
        one.told += [one.told_at or moves.now] if not resized else []
        ran_s = (moves.now - (one.began or moves.now)).total_seconds()
        one.stop(moves.now, saved)
        cool_down = timedelta(seconds=self.policy.preempting.cool_down_s)
        standing = Standing(
            served_s=before.served_s + ran_s,
            preempted_at=before.preempted_at,
            not_before=None if resized or lost else moves.now + cool_down,
            claim=before.claim if resized else (),
            rank=before.rank,
        )
        self._queue(replace(one.waits, standing=standing), moves)

    def _save(self, one: Progress, moves: Moves) -> None:
        workload = self.world.holding[one.waits.attempt]
        standing = replace(workload.standing, saved_at=moves.now)
        moves.hold[workload.attempt] = replace(workload, standing=standing)
        self._next_save(one, moves.now)

    # what is decided

    def _decide(self, now: datetime) -> None:
        """Hold a round and carry out what it decides; none when nobody waits and nothing may grow."""
        if not (self.world.pending or self.machines.scales or self.elastic):
            return
        snapshot = replace(
            self.world, used=self.accounts.used(now), spent=self.accounts.spent(now), history=self.history
        )
        decided = self.manner.decide(snapshot, self.policy, now, self.memory)
        self.rounds += 1
        if self.manner.check:
            check_round(snapshot, decided)
        self.world = after(snapshot, decided, now)
        self._carry_out(snapshot, decided, now)
        self.last = decided
        if decided.wake_at is not None and decided.wake_at > now:
            self._at(decided.wake_at, _WAKES, 0, "")
        if self.machines.scales:
            for number, at in self.machines.adjust(snapshot, decided, now):
                self._at(at, _NODE, number, "")
            again = self.machines.look_again_at(now)
            if again is not None and (self.done < len(self.jobs)):
                self._at(again, _WAKES, 0, "")
        if self.manner.told is not None:
            self.manner.told(self.done, len(self.jobs))

    def _carry_out(self, snapshot: ClusterSnapshot, decided: Round, now: datetime) -> None:
        for placement in decided.placements:
            one = self.by_attempt[placement.attempt]
            workload = self.world.holding[placement.attempt]
            self._at(one.begin(now, len(placement.places)), _ENDS, one.start, placement.attempt)
            self.accounts.queued(workload.queue, now, -1)
            self.accounts.moved(workload, now, 1)
            self._next_save(one, now)
        leaving: dict[AttemptId, Workload] = {}
        told = [(eviction.attempt, ()) for eviction in decided.evictions]
        for attempt, places in (*told, *((resize.attempt, resize.places) for resize in decided.resizes)):
            before = snapshot.holding[attempt].standing
            if not before.leaving:
                leaving[attempt] = self._leaving(self.world.holding[attempt], before, places, now)
        self.world = replace(self.world, holding=self.world.holding.plus(leaving))

    def _leaving(
        self, workload: Workload, before: Standing, goes_to: tuple[Assignment, ...], now: datetime
    ) -> Workload:
        """Tell one to leave, for good or to go on elsewhere; return how it stands."""
        one = self.by_attempt[workload.attempt]
        one.told_at = now
        self._at(one.leave_at(now), _LEAVES, one.start, workload.attempt)
        preempted_at = before.preempted_at if goes_to else (*before.preempted_at, now)
        return replace(workload, standing=replace(before, leaving=True, preempted_at=preempted_at, claim=goes_to))

    def _next_save(self, one: Progress, now: datetime) -> None:
        if one.job.checkpoint_s:
            at = now + timedelta(seconds=one.job.checkpoint_s)
            self._at(at, _SAVES, one.start, one.waits.attempt)

    # small things

    def _at(self, at: datetime, kind: int, start: int, name: AttemptId | str) -> None:
        heapq.heappush(self.events, (at, kind, start, name))

    def _progress(self, job: Job, number: int) -> Progress:
        at = self.manner.begin + timedelta(seconds=job.submit_s)
        workload = Workload(
            attempt=AttemptId(f"{number:07d}"),
            label=job.name,
            shape=job.shape,
            queued_at=at,
            order=(number, 0),
            queue=job.queue,
            priority=job.priority,
            contract=job.contract,
        )
        return Progress(job, workload, at, job.duration_s)

    def _life(self, one: Progress) -> Life:
        reason = None if one.finished else self.last.waiting.get(one.waits.attempt)
        lost = one.held_s - (one.job.duration_s - one.left_s)
        told = tuple(one.told)
        return Life(one.job, one.queued_at, one.first, one.finished, told, one.held_s, max(0.0, lost), reason)

    def _weight(self, name: str) -> float:
        queue = next((q for q in self.cluster.queues.values() if q.name == name), None)
        return queue.weight if queue is not None else 1.0

    def _stuck(self, now: datetime) -> None:
        from trainwright.core.errors import BugError  # noqa: PLC0415 - never, but for a mistake of ours

        raise BugError("TW9002", f"the rounds at {now.isoformat()} do not come to an end")
