"""A load under the cluster and policy as they are, and under a change of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from trainwright.sched.policy import DEFAULT_POLICY, Policy
from trainwright.sim.cluster import Cluster
from trainwright.sim.figures import Side
from trainwright.sim.nodes import asked_nodes
from trainwright.sim.quotas import with_quotas, with_weights
from trainwright.sim.simulate import Manner, simulate
from trainwright.sim.summary import summarise
from trainwright.sim.trace import Load

Told = Callable[[str, int, int], None]
"""Hears which side is under way, and how many of its jobs are done, of how many."""


@dataclass(frozen=True, slots=True)
class Change:
    """What is to be different; empty = nothing.

    Attributes:
        nodes, quotas, weights: words of a command line, see ``sim.nodes`` and ``sim.quotas``.
        policy: instead of the default one.
    """

    nodes: tuple[str, ...] = ()
    quotas: tuple[str, ...] = ()
    weights: tuple[str, ...] = ()
    policy: Policy | None = None

    @property
    def is_one(self) -> bool:
        """Tell whether anything differs; nodes without a sign only say what there is."""
        signed = any(word.strip()[:1] in "+-" for word in self.nodes)
        return signed or bool(self.quotas or self.weights or self.policy)


def clusters(there: Cluster, change: Change) -> tuple[Cluster, Cluster]:
    """Return the cluster before and after, but for its queues, which depend on the load.

    Raises:
        SpecError: the nodes are none.
    """
    before, after = asked_nodes(change.nodes, there.nodes)
    return replace(there, nodes=before), replace(there, nodes=after)


def compare(load: Load, clusters: tuple[Cluster, Cluster], change: Change, *, check: bool, told: Told) -> list[Side]:
    """Run the load before the change, and after it if there is one.

    Raises:
        SpecError: the change names a queue that nobody knows, or an amount that is none.
    """
    in_load = {job.queue for job in load.jobs}
    before, after = clusters
    after = with_weights(with_quotas(after, change.quotas, in_load), change.weights, in_load)
    worlds: Sequence[tuple[str, Cluster, Policy]] = [("now", before, DEFAULT_POLICY)]
    if change.is_one:
        worlds = [("before", before, DEFAULT_POLICY), ("after", after, change.policy or DEFAULT_POLICY)]
    found = []
    for label, cluster, policy in worlds:

        def heard(done: int, total: int, label: str = label) -> None:
            told(label, done, total)

        manner = Manner(check=check, told=heard)
        manner = manner if load.begin is None else replace(manner, begin=load.begin)
        outcome = simulate(load.jobs, cluster, policy, manner)
        found.append(Side(label, outcome, summarise(outcome)))
    return found
