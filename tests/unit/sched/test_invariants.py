"""``broken`` finds every placement that does not hold, and only those."""

import pytest

from build import cluster, node, placed, workload
from trainwright.core.decision import Placement
from trainwright.core.snapshot import ClusterSnapshot
from trainwright.core.workload import Assignment
from trainwright.sched.invariants import broken

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
