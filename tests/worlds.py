"""Random worlds for property tests of the scheduler, and what may happen in them between two rounds."""

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from hypothesis import strategies as st

from build import NOW, asks
from trainwright.core.decision import Round
from trainwright.core.ids import AttemptId
from trainwright.core.node import Device, Node
from trainwright.core.queue import Cohort, Queue, QueueName, Quota
from trainwright.core.records import Records
from trainwright.core.snapshot import ClusterSnapshot, nodes_of
from trainwright.core.workload import Contract, PodSet, Preemption, Shape, Standing, Workload
from trainwright.sched.room import Room
from trainwright.sched.round import after

GI = 2**30
QUEUES = ("a", "b", "c", "default")
MODELS = ("a100", "t4")
EXPECTED = timedelta(seconds=60)

resources = st.builds(
    asks,
    cpu=st.sampled_from([0, 0.5, 1, 2, 4]),
    memory_gi=st.sampled_from([0, 0, 1, 8]),
    gpus=st.sampled_from([0, 0, 0.25, 0.5, 1, 1, 2, 4]),
)
models = st.sampled_from([(), (), ("a100",), ("t4",), MODELS])


@st.composite
def pod_sets(draw: st.DrawFn) -> PodSet:
    count = draw(st.sampled_from([1, 1, 1, 2, 3]))
    asked = draw(resources)
    return PodSet(asked, count, draw(st.integers(1, count)), draw(models) if asked.gpu_milli else ())


shapes = st.lists(pod_sets(), min_size=1, max_size=2).map(lambda sets: Shape(tuple(sets)))
contracts = st.builds(
    Contract,
    preemption=st.sampled_from([*Preemption, Preemption.BY_PRIORITY]),
    most_s=st.sampled_from([None, 60.0, 3600.0]),
    kin=st.sampled_from(["", "k"]),
)
few_shapes = st.sampled_from([Shape((PodSet(asks(1, 0, 1)),)), Shape((PodSet(asks(2, 1)),)), Shape((PodSet(asks(1)),))])
few_contracts = st.sampled_from([Contract(), Contract(), Contract(preemption=Preemption.NEVER)])


@st.composite
def jobs(draw: st.DrawFn, number: int) -> Workload:
    """Somebody who waits; many are equal to one another but for their age."""
    return Workload(
        AttemptId(f"w{number:03}"), f"w{number:03}",
        draw(few_shapes | shapes), NOW - timedelta(seconds=draw(st.integers(0, 5)) * 300), (number, 0),
        QueueName(draw(st.sampled_from(QUEUES))), draw(st.sampled_from([0, 0, 0, 5])), draw(few_contracts | contracts),
        Standing(held=draw(st.sampled_from([False] * 9 + [True])), rank=draw(st.sampled_from([0] * 8 + [-1, 1]))),
    )  # fmt: skip


quotas = st.builds(
    lambda own, more: Quota(own * 1000, None if more is None else (own + more) * 1000),
    st.integers(0, 4),
    st.sampled_from([None, None, 0, 1, 2]),
)
amounts = st.dictionaries(st.sampled_from(["gpu", "gpu", "cpu", "gpu:t4"]), quotas, max_size=2)


@st.composite
def queues(draw: st.DrawFn, name: str) -> Queue:
    return Queue(
        QueueName(name), draw(st.sampled_from(["", "team", "team"])), draw(st.sampled_from([1.0, 2.0])), draw(amounts),
        strict=draw(st.sampled_from([False, False, True])),
    )  # fmt: skip


@st.composite
def machines(draw: st.DrawFn, name: str) -> Node:
    cards = draw(st.lists(st.sampled_from(MODELS), max_size=4))
    total = asks(draw(st.integers(1, 8)), draw(st.integers(1, 16)), len(cards))
    devices = tuple(Device(i, model, 24 * GI, 1000, 24 * GI) for i, model in enumerate(cards))
    return Node(name, total, total, devices)


@st.composite
def beginnings(draw: st.DrawFn) -> ClusterSnapshot:
    """Empty nodes, queues with and without quotas, and some who wait."""
    declared = [draw(queues(name)) for name in QUEUES[:3] if draw(st.booleans())]
    pending = [draw(jobs(i)) for i in range(draw(st.integers(0, 8)))]
    return ClusterSnapshot(
        nodes_of(*(draw(machines(f"n{i}")) for i in range(draw(st.integers(1, 3))))),
        Records.of(pending, lambda w: w.attempt),
        queues={queue.name: queue for queue in declared},
        cohorts={"team": Cohort("team", {"gpu": 1000})} if draw(st.booleans()) else {},
        used={QueueName("a"): 86_400.0} if draw(st.booleans()) else {},
    )


@dataclass
class History:
    """A world that goes on: what was decided is carried out, then something happens."""

    snapshot: ClusterSnapshot
    now: datetime = NOW
    number: int = 100
    lost: list[Node] = field(default_factory=list)

    def carry_out(self, decided: Round) -> None:
        self.snapshot = after(self.snapshot, decided, self.now)

    def arrive(self, *new: Workload) -> None:
        self.snapshot = replace(self.snapshot, pending=self.snapshot.pending.plus({w.attempt: w for w in new}))

    def end(self, attempt: AttemptId, *, again: bool = False) -> None:
        """A holder is gone; when it was told to leave, or was lost, it waits again."""
        held = self.snapshot.holding[attempt]
        room = Room(self.snapshot.nodes)
        room.give(held.shape, tuple(place for place in held.standing.places if place.node in room))
        pending = self.snapshot.pending
        if again or held.standing.leaving:
            back = Standing(preempted_at=(self.now,), not_before=self.now + timedelta(seconds=60))
            pending = pending.plus({attempt: replace(held, standing=back)})
        holding = self.snapshot.holding.minus([attempt])
        self.snapshot = replace(self.snapshot, nodes=room.nodes, pending=pending, holding=holding)

    def lose(self, name: str) -> None:
        """A node is gone, and with it all that had a part on it."""
        for held in list(self.snapshot.holding):
            if any(place.node == name for place in held.standing.places):
                self.end(held.attempt, again=True)
        self.lost.append(self.snapshot.nodes[name])
        self.snapshot = replace(self.snapshot, nodes=self.snapshot.nodes.minus([name]))

    def come_back(self) -> None:
        node = self.lost.pop()
        self.snapshot = replace(self.snapshot, nodes=self.snapshot.nodes.plus({node.name: node}))

    def happen(self, data: st.DataObject) -> None:
        """Let time go by and one thing happen."""
        draw = data.draw
        self.now += timedelta(seconds=draw(st.sampled_from([1, 30, 90, 1000])))
        holding = [w.attempt for w in self.snapshot.holding]
        leaving = [w.attempt for w in self.snapshot.holding if w.standing.leaving]
        what = draw(st.sampled_from(["arrive", "arrive", "end", "end", "leave", "lose", "back", "cancel", "nothing"]))
        if what == "arrive":
            for _ in range(draw(st.integers(1, 3))):
                self.number += 1
                self.arrive(data.draw(jobs(self.number)))
        elif what == "end" and holding:
            self.end(draw(st.sampled_from(holding)))
        elif what == "leave":
            for attempt in leaving:
                self.end(attempt)
        elif what == "lose" and len(self.snapshot.nodes) > 1:
            self.lose(draw(st.sampled_from([node.name for node in self.snapshot.nodes])))
        elif what == "back" and self.lost:
            self.come_back()
        elif what == "cancel" and len(self.snapshot.pending):
            gone = draw(st.sampled_from([w.attempt for w in self.snapshot.pending]))
            self.snapshot = replace(self.snapshot, pending=self.snapshot.pending.minus([gone]))
