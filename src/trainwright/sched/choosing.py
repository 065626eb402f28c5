"""The cheapest set of victims that suffices, and nobody in it who is not needed.

Ways that cost less trouble come first, whatever they cost in work: room held for somebody less important, then fewer
replicas of elastic workloads, then evictions, those within their minimum run last. Among sets of the same trouble the
one that loses fewest GPU-seconds of work wins. To find the best of all sets is as hard as packing is, so three searches
are made: cheapest first over the whole cluster, cheapest node first, and all sets that are cheaper than what those
found, as far as these are few.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from heapq import heappop, heappush

from trainwright.core.queue import Queue, QueueName
from trainwright.core.reasons import ReasonCode
from trainwright.core.workload import Assignment, Workload
from trainwright.sched.draft import Draft
from trainwright.sched.gathering import Gathering
from trainwright.sched.room import Room
from trainwright.sched.victims import Rights, Unit, Way, difference

MOST_NODES = 16
"""So many nodes, those that look cheapest, are looked at one by one."""

MOST_SETS = 64
"""So many sets are tried that are cheaper than the best that was found."""

SHRINKS = (Way.SHRINK, Way.SHRINK_YOUNG)


class Choice:
    """The search for one claimant."""

    def __init__(self, claimant: Workload, draft: Draft, units: list[Unit]) -> None:
        """Begin with the room that there is and that is coming; ``units`` in the order in which they are tried."""
        self._claimant, self._draft = claimant, draft
        self._rights = Rights(claimant, draft)
        self._units = units
        room = Room(draft.room.nodes)
        for leaving in draft.giving:
            room.give(leaving.shape, (place for place in leaving.standing.places if place.node in room))
        self._gathering = Gathering(claimant.shape, room)
        self._in: dict[str, Unit] = {}
        self._given: dict[QueueName, Counter[str]] = {}
        for leaving in draft.giving:
            self._count(leaving, 1)

    def best(self) -> tuple[tuple[Unit, ...], tuple[Assignment, ...]] | None:
        """Return the victims and the places that the claimant gets; nobody when what is coming suffices.

        None when no set of victims would do.
        """
        if self._suffices():
            return self._with_places(())
        best = self._cheapest_first()
        if best is None:
            return None
        if not self._is_cheapest_of_all(best):
            best = min((best, self._node_by_node() or best), key=_trouble)
            best = self._cheaper_than(best) or best
        return self._with_places(self._no_more_than_needed(best))

    def _is_cheapest_of_all(self, best: tuple[Unit, ...]) -> bool:
        """Tell whether no set can be cheaper, because none of its members is."""
        worst, cost = _trouble(best)
        return all(unit.way > worst or unit.cost >= cost for unit in self._units)

    # sets

    def _cheapest_first(self) -> tuple[Unit, ...] | None:
        """Return the units of the shortest list of cheapest ones that suffices, without those that are not needed."""
        self._put(())
        on_nodes = self._gathering.fits()
        helps = self._helps_quota()
        for unit in self._units:
            if on_nodes and unit.workload.queue not in helps:
                continue
            if not self._may_add(unit):
                continue
            self._add(unit)
            on_nodes = on_nodes or self._gathering.fits()
            if on_nodes and self._within_quota():
                return self._needed(tuple(self._in.values()))
        return None

    def _node_by_node(self) -> tuple[Unit, ...] | None:
        """Return units that make room on those nodes where a replica more costs least."""
        steps = [step for node, units in self._by_node() for step in self._steps(node, units)]
        steps.sort(key=lambda step: (step[0], step[1]))
        self._put(())
        for _, _, units in steps:
            for unit in units:
                if self._may_add(unit):
                    self._add(unit)
            if self._suffices():
                return self._needed(tuple(self._in.values()))
        return None

    def _by_node(self) -> list[tuple[str, list[Unit]]]:
        """Return the nodes on which as much as a replica asks for gets free at least cost, and the units there."""
        on: dict[str, list[Unit]] = {}
        for unit in self._units:
            for node in dict.fromkeys(place.node for place in unit.gives):
                on.setdefault(node, []).append(unit)
        asked = self._claimant.shape.pod_sets[0].asked
        found = []
        for node, units in on.items():
            free = self._gathering.room[node].free
            gpu, cpu, cost = asked.gpu_milli - free.gpu_milli, asked.cpu_milli - free.cpu_milli, 0.0
            way = Way.CLAIM
            for unit in units:
                if gpu <= 0 and cpu <= 0:
                    break
                sets = unit.workload.shape.pod_sets
                gpu -= sum(sets[place.pod_set].asked.gpu_milli for place in unit.gives if place.node == node)
                cpu -= sum(sets[place.pod_set].asked.cpu_milli for place in unit.gives if place.node == node)
                cost, way = cost + unit.cost, max(way, unit.way)
            if gpu <= 0 and cpu <= 0:
                found.append((way, cost, node))
        return [(node, on[node]) for _, _, node in sorted(found)[:MOST_NODES]]

    def _steps(self, node: str, units: list[Unit]) -> Iterator[tuple[Way, float, tuple[Unit, ...]]]:
        """Yield what each replica more on the node needs: the worst way, the cost, the units."""
        self._put(())
        count, added = self._gathering.on(node), []
        for unit in units:
            if self._may_add(unit):
                self._add(unit)
                added.append(unit)
            if self._gathering.on(node) > count:
                needed = self._needed_on(node, count, added)
                yield max(u.way for u in needed), sum(u.cost for u in needed), tuple(needed)
                count, added = self._gathering.on(node), []

    def _needed_on(self, node: str, count: int, added: list[Unit]) -> list[Unit]:
        """Return those of the last units without which the node has no room for one more; takes the others out."""
        needed = list(added)
        for unit in reversed(added):
            if self._in.get(unit.workload.attempt) is not unit:
                needed.remove(unit)
                continue
            self._remove(unit)
            if self._gathering.on(node) > count:
                needed.remove(unit)
            else:
                self._add(unit)
        return needed or added

    def _cheaper_than(self, best: tuple[Unit, ...]) -> tuple[Unit, ...] | None:
        """Return the cheapest set of no more trouble than ``best``, looking at the few cheapest of all sets."""
        worst, bound = _trouble(best)
        units = [unit for unit in self._units if unit.way <= worst and unit.cost < bound]
        units.sort(key=lambda unit: (unit.cost, unit.precedence))
        heap: list[tuple[float, tuple[int, ...]]] = [(units[0].cost, (0,))] if units else []
        for _ in range(MOST_SETS):
            if not heap or heap[0][0] >= bound:
                return None
            cost, chosen = heappop(heap)
            last = chosen[-1]
            if last + 1 < len(units):
                heappush(heap, (cost + units[last + 1].cost, (*chosen, last + 1)))
                other = cost - units[last].cost + units[last + 1].cost
                heappush(heap, (other, (*chosen[:-1], last + 1)))
            trial = tuple(units[i] for i in chosen)
            if len({unit.workload.attempt for unit in trial}) == len(trial) and self._do(trial):
                return self._needed(trial)
        return None

    def _needed(self, chosen: tuple[Unit, ...]) -> tuple[Unit, ...]:
        """Return the set without those that are not needed: the most trouble and cost is left out first."""
        chosen = self._that_matter(tuple(sorted(chosen, key=lambda unit: unit.precedence)))
        self._put(chosen)
        for unit in reversed(chosen):
            self._remove(unit)
            if not self._suffices():
                self._add(unit)
        return tuple(unit for unit in chosen if unit.workload.attempt in self._in)

    def _that_matter(self, chosen: tuple[Unit, ...]) -> tuple[Unit, ...]:
        """Return those on the nodes where the claimant would go, when they alone suffice; else all of them."""
        self._put(chosen)
        nodes = {place.node for place in self._gathering.places() or ()}
        there = tuple(unit for unit in chosen if any(place.node in nodes for place in unit.gives))
        return there if len(there) < len(chosen) and self._do(there) else chosen

    def _no_more_than_needed(self, chosen: tuple[Unit, ...]) -> tuple[Unit, ...]:
        """Return the set with elastic ones keeping as many replicas as may be."""
        units = list(chosen)
        for i, unit in enumerate(units):
            while units[i].way in SHRINKS and len(units[i].gives) > 1:
                back = units[i].gives[-1:]
                gives = units[i].gives[:-1]
                fewer = replace(units[i], gives=gives, keeps=(*units[i].keeps, *back))
                if not self._do([*units[:i], fewer, *units[i + 1 :]]):
                    break
                units[i] = fewer
            if units[i] is not unit:
                keeps = difference(unit.workload.standing.places, units[i].gives)
                units[i] = replace(units[i], keeps=keeps)
        return tuple(units)

    # one set

    def _do(self, chosen: Iterable[Unit]) -> bool:
        """Tell whether these, and nobody else, suffice and may be told to leave together."""
        self._put(())
        for unit in sorted(chosen, key=lambda unit: unit.precedence):
            if not self._may_add(unit):
                return False
            self._add(unit)
        return self._suffices()

    def _suffices(self) -> bool:
        return self._gathering.fits() and self._within_quota()

    def _within_quota(self) -> bool:
        gone = [*self._draft.giving, *(unit.gone for unit in self._in.values())]
        return self._draft.ledger.would_fit(self._claimant, gone)

    def _helps_quota(self) -> frozenset[str]:
        """Return the queues whose leaving gives quota to the claimant."""
        queues = self._draft.snapshot.queues
        own = queues.get(self._claimant.queue, Queue(self._claimant.queue))
        return frozenset(q.name for q in queues.values() if q.cohort == own.cohort) | {own.name}

    def _may_add(self, unit: Unit) -> bool:
        """Tell whether its queue still holds more than its guarantee, where that is why it may be told to leave."""
        if unit.rule is not ReasonCode.RECLAIMED:
            return True
        queue = unit.workload.queue
        given = self._given.get(queue, Counter())
        before = self._in.get(unit.workload.attempt)
        mine = {} if before is None else self._draft.ledger.amounts(before.workload, before.gives)
        gives = self._draft.ledger.amounts(unit.workload, unit.gives)
        over = self._rights.over(queue)
        return any(gives.get(r) and amount > given[r] - mine.get(r, 0) for r, amount in over.items())

    def _put(self, units: Iterable[Unit]) -> None:
        for unit in tuple(self._in.values()):
            self._remove(unit)
        for unit in units:
            self._add(unit)

    def _add(self, unit: Unit) -> None:
        before = self._in.get(unit.workload.attempt)
        if before is not None:
            self._remove(before)  # it leaves for good, where fewer replicas did not suffice
        self._gathering.give(unit.gone)
        self._count(unit.gone, 1)
        self._in[unit.workload.attempt] = unit

    def _remove(self, unit: Unit) -> None:
        self._gathering.take(unit.gone)
        self._count(unit.gone, -1)
        del self._in[unit.workload.attempt]

    def _count(self, gone: Workload, sign: int) -> None:
        given = self._given.setdefault(gone.queue, Counter())
        for resource, amount in self._draft.ledger.amounts(gone, gone.standing.places).items():
            given[resource] += sign * amount

    def _with_places(self, chosen: tuple[Unit, ...]) -> tuple[tuple[Unit, ...], tuple[Assignment, ...]] | None:
        self._put(chosen)
        places = self._gathering.places()
        return None if places is None else (chosen, places)


def _trouble(chosen: tuple[Unit, ...]) -> tuple[Way, float]:
    """Return by what sets are compared."""
    return max((unit.way for unit in chosen), default=Way.CLAIM), sum(unit.cost for unit in chosen)
