"""Nodes that come and go, by the load's own plan or because a pool grows and shrinks."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta

from trainwright.core.decision import Round
from trainwright.core.node import Node
from trainwright.core.pool import Pool
from trainwright.core.snapshot import ClusterSnapshot
from trainwright.sched.autoscale import Fleet, arrived, autoscale
from trainwright.sched.policy import Autoscaling
from trainwright.sim.cluster import Cluster


class Machines:
    """The nodes of one simulation as they are when nobody holds anything.

    Attributes:
        empty: those that are there, by name.
        scales: whether a pool may grow or shrink.
    """

    def __init__(self, cluster: Cluster, rule: Autoscaling) -> None:
        self.empty: dict[str, Node] = {node.name: node for node in cluster.nodes}
        self.scales = any(pool.node is not None and pool.most > pool.least for pool in cluster.pools.values())
        self._rule = rule
        self._fleet = Fleet()
        self._changes = [(change.node, change.comes) for change in cluster.changes]
        self._named = 0
        self._asked: set[str] = set()

    def change(self, number: int) -> tuple[Node, bool]:
        """Carry out a change; return the node and whether it comes."""
        node, comes = self._changes[number]
        if not comes:
            self.empty.pop(node.name, None)
            return node, False
        if node.name in self._asked:
            self._fleet = arrived(self._fleet, node.pool, 1)
        self.empty[node.name] = node
        return node, True

    def adjust(self, world: ClusterSnapshot, decided: Round, now: datetime) -> Iterator[tuple[int, datetime]]:
        """Let pools grow and shrink; yield the number of each change and when it happens.

        Args:
            world: as the round found it.
            decided: what the round decided.
            now: of the round.
        """
        scalings, self._fleet = autoscale(world, decided, self._fleet, self._rule, now)
        for scaling in scalings:
            pool = world.pools[scaling.pool]
            for name in scaling.remove:
                yield self._later(self.empty[name], now, comes=False)
            for _ in range(scaling.add):
                yield self._later(self._new(pool), now + timedelta(seconds=pool.provision_s), comes=True)

    def look_again_at(self, now: datetime) -> datetime | None:
        """Return when time alone may make a pool grow or shrink; None when it never does."""
        up, down = timedelta(seconds=self._rule.up_after_s), timedelta(seconds=self._rule.down_after_s)
        times = [since + up for since in self._fleet.wanting.values()]
        times += [since + down for since in self._fleet.idle.values()]
        return min((at for at in times if at > now), default=None)

    def _new(self, pool: Pool) -> Node:
        assert pool.node is not None  # noqa: S101 - only such pools grow
        self._named += 1
        name = f"{pool.name}+{self._named:06d}"
        self._asked.add(name)
        return replace(pool.node, name=name, pool=pool.name)

    def _later(self, node: Node, at: datetime, *, comes: bool) -> tuple[int, datetime]:
        self._changes.append((node, comes))
        return len(self._changes) - 1, at
