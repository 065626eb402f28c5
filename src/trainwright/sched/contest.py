"""Who among those who share a queue by time should have the room now, wherever they are."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from heapq import nsmallest
from math import frexp, fsum

from trainwright.core.history import BINS, EDGES, LOOK_BACK_H, History, hour_of
from trainwright.core.node import WHOLE
from trainwright.core.workload import Shape
from trainwright.sched.hazard import Hazards
from trainwright.sched.index import Candidate, worth
from trainwright.sched.policy import Policy
from trainwright.sched.select import Valued, choose
from trainwright.sched.sharers import units_of

_HOUR_S = 3600.0
_LOOK_BACK_S = LOOK_BACK_H * _HOUR_S
_FULL = 0.999
_BINS_A_LOOK = 3
"""After so many bins those who run are looked at again although nothing happened: at 1.8 times as long."""
_UNHEARD_OF_S = 3600.0
"""Taken for the length of those of whose size nobody has ended."""


@dataclass(slots=True)
class Contest:
    """Candidates for the room of one key.

    Attributes:
        capacity: thousandths of GPUs, or of cores, that they may have together.
        keeps: those who run, or ran until this very instant: what runs is worth more.
        wake_at: when time alone lets others be chosen.
    """

    candidates: list[Candidate]
    capacity: int
    gpu: bool
    now: datetime
    history: History
    hazards: Hazards
    policy: Policy
    wake_at: datetime | None = None
    _units: dict[Shape, int] = field(default_factory=dict)

    def units(self, one: Candidate) -> int:
        """Return the room it takes."""
        shape = one.workload.shape
        known = self._units.get(shape)
        if known is None:
            known = self._units[shape] = units_of(shape, gpu=self.gpu)
        return known

    def chosen(self) -> tuple[list[Candidate], list[Candidate]]:
        """Return who should have the room, and of the others the best few of each size, the best first."""
        work_s = self._work_s()
        first = self._first(self._critical(work_s), self.capacity, self.capacity)
        left = self.capacity - sum(self.units(one) for one in first)
        share = int(self.capacity * self.policy.slicing.floor_share)
        first += self._first(self._owed(work_s, first), left, share)
        left = self.capacity - sum(self.units(one) for one in first)
        taken = {one.workload.attempt for one in first}
        best = self._best([one for one in self.candidates if one.workload.attempt not in taken])
        chosen = [*first, *choose({size: best[size] for size in best if size}, left)]
        taken.update(one.workload.attempt for one in chosen)
        ranked = [(-each.value, one.age, one) for few in best.values() for each in few for one in each.items]
        others = [one for _, _, one in sorted(ranked) if one.workload.attempt not in taken]
        return chosen, others

    def _first(self, some: Iterable[Candidate], room: int, share: int) -> list[Candidate]:
        """Return those that fit into ``share`` one after the other; the first of them may take all the room."""
        taken: list[Candidate] = []
        for one in some:
            units = self.units(one)
            if units <= room and (units <= share or not taken):
                taken.append(one)
                room, share = room - units, share - units
        return taken

    def _best(self, candidates: list[Candidate]) -> dict[int, list[Valued[Candidate]]]:
        """Return the best of each size; a few more than there is room for."""
        now_s, ordering = self.now.timestamp(), self.policy.ordering
        self.hazards.prepare(self.hazards.known_as(one.reached) for one in candidates if one.left_s is None)
        by_size: dict[int, list[tuple[float, tuple[object, ...], Candidate]]] = {}
        for one in candidates:
            value = worth(one, self.hazards, now_s, ordering)
            if one.workload.standing.places or one.workload.standing.preempted_at[-1:] == (self.now,):
                value *= self._kept(one)
            by_size.setdefault(self.units(one), []).append((-value, one.age, one))
        few = {size: nsmallest(self.capacity // size + 8 if size else 0, some) for size, some in by_size.items()}
        return {size: [Valued(-value, (one,)) for value, _, one in some] for size, some in few.items()}

    def _kept(self, one: Candidate) -> float:
        slicing = self.policy.slicing
        if one.left_s is None:
            return slicing.keep_unknown
        return slicing.keep_known if one.workload.contract.restart_cost_s > 0 else 1.0

    def _critical(self, work_s: float) -> list[Candidate]:
        """Return those who would end last anyway, longest first: what they wait, all wait."""
        known = [(-one.left_s, one.age, one) for one in self.candidates if one.left_s is not None]
        gpus = self.capacity / WHOLE
        load = self._load(gpus)
        if not known or not self.gpu or load >= _FULL or gpus <= 0:
            return []
        slicing = self.policy.slicing
        longest = -min(known)[0]
        least = max(slicing.critical * work_s / (1 - load), slicing.among_longest * longest)
        return [one for left, _, one in sorted(each for each in known if -each[0] >= least)]

    def _work_s(self) -> float:
        """Return for how long the room is taken by all work of the candidates, as far as anybody can tell."""
        if self.capacity <= 0:
            return 0.0
        typical = {size: _typical_s(self.history, size) for size in {one.reached[0] for one in self.candidates}}
        lefts = (typical[one.reached[0]] if one.left_s is None else one.left_s for one in self.candidates)
        return fsum(left * self.units(one) for left, one in zip(lefts, self.candidates, strict=True)) / self.capacity

    def _load(self, gpus: float) -> float:
        """Return how much of the room the work of those fills who came within the last week."""
        now_s = self.now.timestamp()
        since = now_s - _LOOK_BACK_S
        hour = hour_of(self.now) - LOOK_BACK_H
        came = [one for one in self.candidates if one.left_s is not None and one.since > since]
        work = sum(amount for at, amount in self.history.work.items() if at > hour)
        live = fsum(one.reached[0] * (one.served_s + (one.left_s or 0.0)) for one in came)
        first = min(
            [*(one.since for one in self.candidates), *(at * _HOUR_S for at in self.history.work)], default=now_s
        )
        return (work + live) / (gpus * max(min(now_s - first, _LOOK_BACK_S), 1.0)) if gpus > 0 else _FULL

    def _owed(self, work_s: float, first: list[Candidate]) -> list[Candidate]:
        """Return those who have had less than their floor since they were overdue, oldest first.

        What is owed doubles instead of growing, so that they are not told to leave again and again.
        """
        slicing, now_s = self.policy.slicing, self.now.timestamp()
        before = now_s - slicing.floor_after_s - slicing.floor_backlogs * work_s
        taken = {one.workload.attempt for one in first}
        owed: list[Candidate] = []
        for one in self.candidates:
            since = (before - one.since) * slicing.floor
            if since >= 1.0 and one.served_s < due_s(since) and one.workload.attempt not in taken:
                owed.append(one)
        return sorted(owed, key=lambda one: one.age)

    def next_change(self, chosen: Iterable[Candidate]) -> datetime | None:
        """Return when one of the chosen, if it runs, is worth less than now."""
        soonest: float | None = None
        for one in chosen:
            edge = (one.reached[2] // _BINS_A_LOOK + 1) * _BINS_A_LOOK
            if one.left_s is None and one.workload.standing.places and edge < BINS:
                after = EDGES[edge] - one.served_s
                soonest = after if soonest is None else min(soonest, after)
        return None if soonest is None else self.now + timedelta(seconds=max(soonest, 0.001))


def due_s(owed_s: float) -> float:
    """Return the largest power of two that is not above it, which is at least 1."""
    return float(2 ** (frexp(owed_s)[1] - 1))


def _typical_s(history: History, size: int) -> float:
    lives = history.by_size.get(size)
    if lives is None:
        return _UNHEARD_OF_S
    ended = sorted(lives.ended.items())
    return fsum(count * (EDGES[i] + EDGES[i + 1]) / 2 for i, count in ended) / sum(count for _, count in ended)
