"""How many nodes each pool should have: from what waits and from what is idle, with hysteresis and limits.

Nodes are added only for shapes that they would serve, and only when what waits could then start: not for what is held,
outside its window, above its quota or can never fit.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from trainwright.core.decision import Round
from trainwright.core.node import Node
from trainwright.core.pool import Pool
from trainwright.core.reasons import ReasonCode
from trainwright.core.records import Records
from trainwright.core.snapshot import ClusterSnapshot
from trainwright.core.workload import Workload
from trainwright.sched.gang import find_places
from trainwright.sched.growth import fresh_nodes
from trainwright.sched.policy import Autoscaling
from trainwright.sched.price import hourly_price, is_affordable
from trainwright.sched.room import Room

_FOR_ROOM = frozenset({ReasonCode.WAITING_FOR_CAPACITY, ReasonCode.SCATTERED, ReasonCode.ADDING_NODES})
"""Reasons that more nodes would end."""


@dataclass(frozen=True, slots=True)
class Fleet:
    """What an autoscaler remembers from one look to the next.

    Attributes:
        coming: pool → when each node that was asked for is expected.
        wanting: pool → since when work has waited that its nodes would serve.
        idle: node → since when nobody has used it.
    """

    coming: Mapping[str, tuple[datetime, ...]] = field(default_factory=dict)
    wanting: Mapping[str, datetime] = field(default_factory=dict)
    idle: Mapping[str, datetime] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Scaling:
    """A change of one pool.

    Attributes:
        add: nodes to ask for.
        remove: idle nodes to give back, sorted.
        serves: labels of what the new nodes are for, the first ones.
    """

    pool: str
    add: int = 0
    remove: tuple[str, ...] = ()
    serves: tuple[str, ...] = ()


def autoscale(
    snapshot: ClusterSnapshot, decided: Round, fleet: Fleet, rule: Autoscaling, now: datetime
) -> tuple[tuple[Scaling, ...], Fleet]:
    """Return what to change, and what to remember; the world is as ``decided`` found it.

    A pool grows when work that its nodes would serve has waited ``up_after_s``; it shrinks by nodes that were idle
    for ``down_after_s``, never below its least, and never while it grows.
    """
    waiting = [w for w in snapshot.pending if (r := decided.waiting.get(w.attempt)) and r.code in _FOR_ROOM]
    left = sorted(waiting, key=lambda w: (-w.priority, w.queued_at, w.order, w.attempt))
    idle = _idle(snapshot, decided, fleet, now)
    found: list[Scaling] = []
    wanting: dict[str, datetime] = {}
    coming = {name: _still_coming(fleet.coming.get(name, ()), now, rule) for name in snapshot.pools}
    for pool in _in_order(snapshot.pools.values(), left):
        nodes = [node for node in snapshot.nodes if node.pool == pool.name]
        served, needed = _served(pool, left, len(nodes))
        left = [w for w in left if w not in served]
        if needed:
            wanting[pool.name] = since = fleet.wanting.get(pool.name, now)
            expected = len(coming[pool.name])
            more = min(needed - expected, pool.most - len(nodes) - expected, rule.most_at_once)
            if more > 0 and (now - since).total_seconds() >= rule.up_after_s:
                coming[pool.name] = (*coming[pool.name], *(_ready_at(pool, now),) * more)
                found.append(Scaling(pool.name, add=more, serves=tuple(w.label for w in served[:3])))
            continue
        spare = _spare(pool, nodes, idle, rule, now)
        if spare:
            found.append(Scaling(pool.name, remove=spare))
        missing = pool.least - len(nodes) - len(coming[pool.name])
        if missing > 0:
            coming[pool.name] = (*coming[pool.name], *(_ready_at(pool, now),) * missing)
            found.append(Scaling(pool.name, add=missing))
    return tuple(found), Fleet({k: v for k, v in coming.items() if v}, wanting, idle)


def arrived(fleet: Fleet, pool: str, count: int) -> Fleet:
    """Return what to remember once so many nodes of a pool have come up: the earliest expected ones."""
    left = tuple(sorted(fleet.coming.get(pool, ())))[count:]
    return replace(
        fleet, coming={**{k: v for k, v in fleet.coming.items() if k != pool}, **({pool: left} if left else {})}
    )


def _ready_at(pool: Pool, now: datetime) -> datetime:
    return now + timedelta(seconds=pool.provision_s)


def _in_order(pools: Iterable[Pool], waiting: list[Workload]) -> list[Pool]:
    """Return pools that can grow or shrink, the cheapest for the first in line first."""
    known = [pool for pool in pools if pool.node is not None]
    if not waiting:
        return sorted(known, key=lambda pool: pool.name)
    return sorted(known, key=lambda pool: (hourly_price(waiting[0].shape, pool), pool.provision_s, pool.name))


def _served(pool: Pool, waiting: list[Workload], have: int) -> tuple[list[Workload], int]:
    """Return who could start on new nodes of this pool, and how many nodes, those coming included, that takes."""
    if pool.node is None:
        return [], 0
    most = pool.most - have
    nodes: list[Node] = []
    served: list[Workload] = []
    room = Room(Records.of(nodes, lambda node: node.name))
    for workload in waiting:
        if workload.shape.pools and pool.name not in workload.shape.pools:
            continue
        if not is_affordable(workload.shape, pool):
            continue
        trial, grown = room, len(nodes)
        places = find_places(workload.shape, trial)
        while places is None and grown < most and grown - len(nodes) < _replicas(workload):
            grown += 1
            trial = Room(Records.of([*room.nodes, *fresh_nodes(pool, len(nodes), grown)], lambda node: node.name))
            places = find_places(workload.shape, trial)
        if places is None:
            continue
        trial.take(workload.shape, places)
        nodes += fresh_nodes(pool, len(nodes), grown)
        room = Room(trial.nodes)
        served.append(workload)
    return served, len(nodes)


def _replicas(workload: Workload) -> int:
    return sum(pod_set.count for pod_set in workload.shape.pod_sets)


def _still_coming(expected: tuple[datetime, ...], now: datetime, rule: Autoscaling) -> tuple[datetime, ...]:
    """Return the nodes that may still come: one that is far too late is taken for one that never comes."""
    patience = timedelta(seconds=rule.patience_s)
    return tuple(at for at in expected if now - at <= patience)


def _idle(snapshot: ClusterSnapshot, decided: Round, fleet: Fleet, now: datetime) -> dict[str, datetime]:
    used = {place.node for workload in snapshot.holding for place in workload.standing.places}
    used |= {place.node for placement in decided.placements for place in placement.places}
    used |= {place.node for claim in decided.claims for place in claim.places}
    return {n.name: fleet.idle.get(n.name, now) for n in snapshot.nodes if n.ready and n.name not in used}


def _spare(
    pool: Pool, nodes: list[Node], idle: Mapping[str, datetime], rule: Autoscaling, now: datetime
) -> tuple[str, ...]:
    """Return the nodes that were idle for long, the longest first, as many as may go."""
    long = [n.name for n in nodes if n.name in idle and (now - idle[n.name]).total_seconds() >= rule.down_after_s]
    long.sort(key=lambda name: (idle[name], name))
    return tuple(sorted(long[: max(0, len(nodes) - pool.least)]))
