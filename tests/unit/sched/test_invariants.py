"""``broken`` finds every placement that does not hold, and only those."""

from dataclasses import replace

import pytest

from build import asks, cluster, node, placed, workload
from trainwright.core.decision import Claim, Eviction, Placement, Resize, Round
from trainwright.core.ids import AttemptId
from trainwright.core.queue import Queue, QueueName, Quota
from trainwright.core.reasons import Reason, ReasonCode
from trainwright.core.snapshot import ClusterSnapshot
from trainwright.core.workload import Assignment, Contract, PodSet, Preemption, Shape, Standing
from trainwright.sched.invariants import broken, check

CARDS = (node(cards_gi=(24, 24)),)


@pytest.mark.parametrize(
    ("snapshot", "placement", "why"),
    [
        (cluster(workload("a")), placed("b"), "nobody asked"),
        (cluster(workload("a")), Placement(placed("a").attempt, (Assignment("n2"),)), "there is no such node"),
        (cluster(workload("a", cpu=5)), placed("a"), "cpu"),
        (cluster(workload("a", memory_gi=17)), placed("a"), "memory"),
        (cluster(workload("a"), holding=(workload("h", cpu=4),)), placed("a"), "held already"),
        (cluster(workload("a", gpus=1), nodes=CARDS), placed("a"), "no device for what asks for one"),
        (cluster(workload("a"), nodes=CARDS), placed("a", 0), "a device for what asks for none"),
        (cluster(workload("a", gpus=2), nodes=CARDS), placed("a", 0), "too few devices"),
        (cluster(workload("a", gpus=2), nodes=CARDS), placed("a", 0, 0), "one device twice"),
        (cluster(workload("a", gpus=1), nodes=CARDS), placed("a", 2), "there is no such device"),
        (
            cluster(workload("a", gpus=1), nodes=CARDS, holding=(workload("h", gpus=0.1, devices=(0,)),)),
            placed("a", 0),
            "a whole card of which somebody has a share",
        ),
        (
            cluster(workload("a", gpus=0.1, vram_gi=13), nodes=CARDS, holding=(workload("h", gpus=0.5, devices=(1,)),)),
            placed("a", 1),
            "memory of the card",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_does_not_hold_is_found(snapshot: ClusterSnapshot, placement: Placement, why: str) -> None:
    assert broken(snapshot, (placement,)) == (placement,), why


def test_what_holds_together_is_left_alone() -> None:
    snapshot = cluster(workload("a", gpus=0.5), workload("b", gpus=0.5), workload("c", gpus=1), nodes=CARDS)
    assert broken(snapshot, (placed("a", 0), placed("b", 0), placed("c", 1))) == ()


def test_the_first_of_two_that_exclude_each_other_stands() -> None:
    snapshot = cluster(workload("a", cpu=3), workload("b", cpu=3), workload("c", cpu=1))
    assert broken(snapshot, (placed("a"), placed("b"), placed("c"))) == (placed("b"),)


def test_nobody_is_placed_twice() -> None:
    assert broken(cluster(workload("a")), (placed("a"), placed("a"))) == (placed("a"),)


def test_g13_of_two_schedulers_that_gave_one_card_away_only_one_is_right() -> None:
    snapshot = cluster(*(workload(n, gpus=0.3, vram_gi=12) for n in "abc"), nodes=(node(cards_gi=(24,)),))
    both = (placed("a", 0), placed("b", 0), placed("c", 0))
    assert broken(snapshot, both) == (placed("c", 0),)


def wrong(snapshot: ClusterSnapshot, **decided) -> list[str]:
    waiting = {w.attempt: Reason(ReasonCode.ON_HOLD, {"by": "x", "what": "y"}) for w in snapshot.pending}
    for placement in decided.get("placements", ()):
        waiting.pop(placement.attempt, None)
    return list(check(snapshot, Round(**{"waiting": waiting, **decided})))


def evicted(name: str, gains: str, code: ReasonCode) -> Eviction:
    return Eviction(AttemptId(name), AttemptId(gains), Reason(code))


BUSY = cluster(replace(workload("w"), priority=1), workload("x"), holding=(workload("h"), workload("i")))


def test_a_round_in_which_all_is_well_has_nothing_wrong() -> None:
    assert wrong(BUSY) == []
    assert wrong(BUSY, placements=(placed("w"), placed("x"))) == []
    assert wrong(BUSY, evictions=(evicted("h", "w", ReasonCode.PREEMPTED),)) == []


def test_everybody_is_decided_once() -> None:
    assert wrong(BUSY, waiting={}) == ["w has 0 decisions", "x has 0 decisions"]
    gone = Reason(ReasonCode.ON_HOLD, {"by": "x", "what": "y"})
    assert wrong(BUSY, placements=(placed("x"), placed("w")), waiting={AttemptId("x"): gone}) == ["x has 2 decisions"]
    everybody = {AttemptId(name): gone for name in "wxz"}
    assert wrong(BUSY, waiting=everybody) == ["z does not wait"]
    said = wrong(BUSY, waiting={AttemptId(name): Reason(ReasonCode.ON_HOLD) for name in "wx"})
    assert [sentence.partition(":")[0] for sentence in said] == ["a reason has gaps"] * 2


def test_what_cannot_be_is_named() -> None:
    nowhere = Placement(AttemptId("x"), (Assignment("n9"),))
    assert "x is placed where it cannot be" in wrong(BUSY, placements=(nowhere,))


@pytest.mark.parametrize(
    ("eviction", "sentence"),
    [
        (evicted("z", "w", ReasonCode.PREEMPTED), "z is told to leave and holds nothing, or was told before"),
        (evicted("h", "x", ReasonCode.PREEMPTED), "h is told to leave for x, which is not more important"),
        (evicted("h", "z", ReasonCode.PREEMPTED), "h is told to leave for z, which is not more important"),
        (evicted("h", "x", ReasonCode.TIME_SLICED), "h does not share by time"),
        (evicted("h", "x", ReasonCode.RECLAIMED), "default has borrowed nothing that could be taken back from h"),
    ],
)
def test_nobody_is_told_to_leave_upward(eviction: Eviction, sentence: str) -> None:
    assert wrong(BUSY, evictions=(eviction,)) == [sentence]


def test_who_agreed_never_to_leave_is_not_told_to() -> None:
    fixed = replace(workload("h"), contract=Contract(preemption=Preemption.NEVER))
    snapshot = cluster(replace(workload("w"), priority=1), holding=(fixed,))
    told = evicted("h", "w", ReasonCode.PREEMPTED)
    assert wrong(snapshot, evictions=(told,)) == ["h is never told to leave, and was"]


def test_who_is_leaving_is_not_told_again() -> None:
    leaving = replace(workload("h"), standing=Standing((Assignment("n1"),), leaving=True))
    snapshot = cluster(replace(workload("w"), priority=1), holding=(leaving, workload("i")))
    twice = (evicted("h", "w", ReasonCode.PREEMPTED), *(evicted("i", "w", ReasonCode.PREEMPTED),) * 2)
    said = [f"{name} is told to leave and holds nothing, or was told before" for name in "hi"]
    assert wrong(snapshot, evictions=twice) == said


def test_an_equal_one_may_be_told_to_leave_when_time_is_shared_or_a_guarantee_taken_back() -> None:
    shares = replace(workload("h"), contract=Contract(preemption=Preemption.TIME_SLICED))
    told = evicted("h", "w", ReasonCode.TIME_SLICED)
    assert wrong(cluster(workload("w"), holding=(shares,)), evictions=(told,)) == []
    queues = {QueueName("a"): Queue(QueueName("a"), "c", quotas={"cpu": Quota(500)})}
    borrows = replace(workload("h"), queue=QueueName("a"))
    snapshot = replace(cluster(workload("w"), holding=(borrows,)), queues=queues)
    assert wrong(snapshot, evictions=(evicted("h", "w", ReasonCode.RECLAIMED),)) == []


def test_an_equal_one_does_not_start_before_a_more_important_one() -> None:
    snapshot = cluster(replace(workload("w"), priority=1), workload("x"), workload("y", cpu=2))
    assert wrong(snapshot, placements=(placed("x"),)) == ["x overtakes w"]
    assert wrong(snapshot, placements=(placed("y"),)) == []
    held = replace(workload("w"), priority=1, standing=Standing(held=True))
    assert wrong(cluster(held, workload("x")), placements=(placed("x"),)) == []
    claims = replace(workload("x"), standing=Standing(claim=(Assignment("n1"),)))
    assert wrong(cluster(replace(workload("w"), priority=1), claims), placements=(placed("x"),)) == []


def test_claimed_room_is_given_to_nobody_else() -> None:
    snapshot = cluster(workload("w", cpu=3), workload("x", cpu=2), holding=(workload("h", cpu=2),))
    claim = Claim(AttemptId("w"), (Assignment("n1"),))
    gone = evicted("h", "w", ReasonCode.TIME_SLICED)
    shares = replace(snapshot.holding[AttemptId("h")], contract=Contract(preemption=Preemption.TIME_SLICED))
    snapshot = replace(snapshot, holding=snapshot.holding.plus({shares.attempt: shares}))
    assert wrong(snapshot, claims=(claim,), evictions=(gone,)) == []
    assert wrong(snapshot, claims=(claim,)) == ["room is held for w that is not there"]
    both = wrong(snapshot, claims=(claim,), evictions=(gone,), placements=(placed("x"),))
    assert both == ["room is held for w that is not there"]
    nobody = Claim(AttemptId("z"), (Assignment("n1"),))
    assert wrong(snapshot, claims=(nobody,)) == ["room is held for z, which does not wait"]


def test_who_is_resized_keeps_its_minimum_and_takes_nobodys_room() -> None:
    grows = replace(workload("h"), shape=Shape((PodSet(asks(1), 4, 2),)), standing=Standing((Assignment("n1"),) * 2))
    snapshot = cluster(workload("w"), holding=(grows,))
    why = Reason(ReasonCode.RESIZED)

    def resized(count: int, name: str = "h") -> tuple[Resize, ...]:
        return (Resize(AttemptId(name), (Assignment("n1"),) * count, why),)

    assert wrong(snapshot, resizes=resized(4)) == []
    assert wrong(snapshot, resizes=resized(3), placements=(placed("w"),)) == []
    assert wrong(snapshot, resizes=resized(4), placements=(placed("w"),)) == ["h goes on where it cannot"]
    assert wrong(snapshot, resizes=resized(1)) == ["h goes on where it cannot"]
    assert wrong(snapshot, resizes=resized(5)) == ["h goes on where it cannot"]
    assert wrong(snapshot, resizes=resized(2, "z")) == ["z holds nothing that could be resized"]


def test_what_quota_does_not_allow_does_not_hold() -> None:
    queues = {QueueName("a"): Queue(QueueName("a"), quotas={"cpu": Quota(2000)})}
    one, two, three = (replace(workload(name), queue=QueueName("a")) for name in "abc")
    snapshot = replace(cluster(one, two, holding=(three,)), queues=queues)
    assert broken(snapshot, (placed("a"), placed("b"))) == (placed("b"),)


def test_nothing_holds_on_a_node_that_is_not_ready() -> None:
    drained = replace(node(), ready=False)
    assert broken(cluster(workload("a"), nodes=(drained,)), (placed("a"),)) == (placed("a"),)


def test_a_place_of_a_pod_set_that_there_is_not_does_not_hold() -> None:
    snapshot = cluster(replace(workload("a"), shape=Shape((PodSet(asks(1), 1, 0),))))
    odd = Placement(AttemptId("a"), (Assignment("n1", (), 1),))
    assert broken(snapshot, (odd,)) == (odd,)
