"""Cluster before → decisions."""

from dataclasses import replace

import pytest

from build import GI, NOW, asks, cluster, node, workload
from trainwright.core.decision import Round
from trainwright.core.node import Node
from trainwright.core.reasons import ReasonCode
from trainwright.core.resources import Resources
from trainwright.core.snapshot import ClusterSnapshot
from trainwright.core.workload import single
from trainwright.sched.gang import never_fits
from trainwright.sched.policy import DEFAULT_POLICY
from trainwright.sched.round import schedule

TWO_CARDS = node(cards_gi=(24, 24))


def decide(snapshot: ClusterSnapshot) -> Round:
    return schedule(snapshot, DEFAULT_POLICY, NOW)


def words(snapshot: ClusterSnapshot) -> dict[str, str]:
    """Attempt → ``node:devices``, or code and shortfall."""
    decided = decide(snapshot)
    placed = {
        str(p.attempt): " ".join(f"{a.node}:{','.join(map(str, a.devices))}" for a in p.places)
        for p in decided.placements
    }
    waiting = {str(a): f"{reason.code}: {reason.evidence['shortfall']}" for a, reason in decided.waiting.items()}
    return placed | waiting


WAITS = "waiting-for-capacity: "
NEVER = "never-fits: "


@pytest.mark.parametrize(
    ("snapshot", "decided"),
    [
        pytest.param(
            cluster(workload("a"), workload("b"), workload("c")),
            {"a": "n1:", "b": "n1:", "c": "n1:"},
            id="what fits starts together",
        ),
        pytest.param(
            cluster(workload("a", cpu=3), workload("b", cpu=2), workload("c", cpu=1)),
            {"a": "n1:", "b": WAITS + "cpu: asked 2, free 1", "c": "n1:"},
            id="cpu is the limit and what fits passes by",
        ),
        pytest.param(
            cluster(workload("a", memory_gi=10), workload("b", memory_gi=8)),
            {"a": "n1:", "b": WAITS + "memory: asked 8Gi, free 6Gi"},
            id="memory is the limit",
        ),
        pytest.param(
            cluster(workload("a", cpu=4, memory_gi=16), workload("b", cpu=1, memory_gi=1)),
            {"a": "n1:", "b": WAITS + "cpu: asked 1, free 0, memory: asked 1Gi, free 0B"},
            id="every limiting dimension is named",
        ),
        pytest.param(
            cluster(workload("a", gpus=1), workload("b", gpus=1), workload("c", gpus=1), nodes=(TWO_CARDS,)),
            {"a": "n1:0", "b": "n1:1", "c": WAITS + "gpu: asked 1, free 0"},
            id="whole cards go to one each",
        ),
        pytest.param(
            cluster(workload("a", gpus=2), nodes=(TWO_CARDS,), holding=(workload("h", gpus=1, devices=(1,)),)),
            {"a": WAITS + "gpu: asked 2, free 1"},
            id="several whole cards are given whole or not at all",
        ),
        pytest.param(
            cluster(workload("a", gpus=0.5), workload("b", gpus=0.5), workload("c", gpus=0.5), nodes=(TWO_CARDS,)),
            {"a": "n1:0", "b": "n1:0", "c": "n1:1"},
            id="shares fill a card before they open another",
        ),
        pytest.param(
            cluster(
                workload("a", gpus=1), nodes=(TWO_CARDS,),
                holding=(workload("h", gpus=0.5, devices=(0,)), workload("i", gpus=0.5, devices=(1,))),
            ),
            {"a": WAITS + "gpu: asked 1 device(s) with room, free 0"},
            id="two halves are no whole card",
        ),
        pytest.param(
            cluster(workload("a", gpus=0.3, vram_gi=20), workload("b", gpus=0.5), nodes=(node(cards_gi=(24,)),)),
            {"a": "n1:0", "b": WAITS + "gpu memory on one device: asked 12Gi, free 4Gi"},
            id="a share that states no memory needs its part of the card",
        ),
        pytest.param(
            cluster(workload("a", gpus=8), nodes=(node(cpu=8, cards_gi=(24,) * 7 + (23.5,)),)),
            {"a": "n1:0,1,2,3,4,5,6,7"},
            id="G13: a full card is one of its own size",
        ),
        pytest.param(
            cluster(workload("a", gpus=2, vram_gi=20), nodes=(node(cards_gi=(24, 16)),)),
            {"a": NEVER + "gpu memory on one device: asked 20Gi, has 16Gi"},
            id="memory counts on each card, not on their sum",
        ),
        pytest.param(
            cluster(workload("a", cpu=5), workload("b", memory_gi=17), workload("c", gpus=1)),
            {
                "a": NEVER + "cpu: asked 5, has 4",
                "b": NEVER + "memory: asked 17Gi, has 16Gi",
                "c": NEVER + "gpu: asked 1, has 0",
            },
            id="what can never fit is told so at once, with the limiting dimension",
        ),
        pytest.param(
            cluster(workload("a", cpu=3), workload("b", cpu=6), nodes=(node("n1"), node("n2", cpu=8))),
            {"a": "n1:", "b": "n2:"},
            id="a node that is large enough is found",
        ),
        pytest.param(cluster(workload("a"), nodes=()), {"a": NEVER + "no node"}, id="no node, no room"),
        pytest.param(
            cluster(workload("a"), nodes=(), holding=(workload("h"),)), {"a": NEVER + "no node"}, id="no machine left"
        ),
        pytest.param(
            cluster(workload("a"), holding=(workload("h", cpu=6),)),
            {"a": WAITS + "cpu: asked 1, free 0"},
            id="a machine that shrank under its work gives nothing more",
        ),
    ],
)  # fmt: skip
def test_decisions(snapshot: ClusterSnapshot, decided: dict[str, str]) -> None:
    assert words(snapshot) == decided


def test_g13_no_card_promises_more_memory_than_it_has() -> None:
    eight = node(cpu=16, cards_gi=(24,) * 8)
    full = tuple(workload(f"h{i}", gpus=1, devices=(i,)) for i in range(7))
    three = tuple(workload(name, gpus=0.3, vram_gi=12) for name in "abc")
    assert words(cluster(*three, nodes=(eight,), holding=full)) == {
        "a": "n1:7",
        "b": "n1:7",
        "c": WAITS + "gpu memory on one device: asked 12Gi, free 0B",
    }


def test_the_older_run_goes_first_then_the_earlier_step() -> None:
    pending = (
        workload("late", cpu=4, run=2),
        workload("second", cpu=4, run=1, position=1),
        workload("first", cpu=4, run=1, position=0),
    )
    decided = decide(cluster(*pending))
    assert [str(p.attempt) for p in decided.placements] == ["first"]
    assert list(decided.waiting) == ["second", "late"]


def test_a_refusal_names_who_holds_the_room() -> None:
    (refused,) = decide(
        cluster(workload("a"), holding=(workload("p#2/x", cpu=2), workload("p#1/y", cpu=2)))
    ).waiting.values()
    assert refused.sentence() == "waits for room (cpu: asked 1, free 0); held by p#1/y, p#2/x"
    (alone,) = decide(cluster(workload("a", cpu=4), workload("b"))).waiting.values()
    assert alone.sentence() == "waits for room (cpu: asked 1, free 0); held by a"


def test_the_same_snapshot_gives_the_same_decisions_in_whatever_order_work_came() -> None:
    pending = tuple(workload(f"w{i}", cpu=1 + i % 3, gpus=(i % 4) / 2, run=i % 2) for i in range(9))
    first = decide(cluster(*pending, nodes=(TWO_CARDS,)))
    assert decide(cluster(*pending, nodes=(TWO_CARDS,))) == first
    assert decide(cluster(*reversed(pending), nodes=(TWO_CARDS,))) == first


def test_what_another_project_holds_is_waited_for_and_named() -> None:
    busy = replace(node(), free=asks(1, 16), foreign=("train in /home/eve",))
    (refused,) = decide(cluster(workload("a", cpu=2), nodes=(busy,))).waiting.values()
    assert refused.code is ReasonCode.WAITING_FOR_CAPACITY
    assert refused.sentence() == "waits for room (cpu: asked 2, free 1); held by train in /home/eve"
    assert never_fits(single(asks(4)), (busy,)) is None


def test_nothing_pending_nothing_decided() -> None:
    assert decide(cluster(holding=(workload("h"),))) == Round()


@pytest.mark.parametrize(
    ("asked", "fits"),
    [
        (asks(4, 16), True),
        (asks(4, 16, 2, 24), True),
        (Resources(0, 0), True),
        (asks(4.001), False),
        (asks(1, 0, 3), False),
        (asks(1, 0, 1, 25), False),
        (asks(1, 0, 0.5, 24), True),
    ],
)
def test_never_fits_asks_an_empty_machine(asked: Resources, fits: bool) -> None:
    reason = never_fits(single(asked), (TWO_CARDS,))
    assert (reason is None) == fits
    assert reason is None or (reason.code is ReasonCode.NEVER_FITS and reason.evidence["asked"] == str(asked))


def test_the_nearest_machine_is_the_one_that_never_fits() -> None:
    nodes: tuple[Node, ...] = (node("small", cpu=1, memory_gi=1), node("large", cpu=2, memory_gi=64))
    reason = never_fits(single(asks(4, 32)), nodes)
    assert reason is not None
    assert reason.evidence["shortfall"] == "cpu: asked 4, has 2"


def test_a_share_of_a_card_is_exact_to_one_thousandth() -> None:
    third = [replace(workload(n), shape=single(Resources(0, 0, 333))) for n in "abcd"]
    decided = words(cluster(*third, nodes=(node(cards_gi=(24,)),)))
    assert decided == {"a": "n1:0", "b": "n1:0", "c": "n1:0", "d": WAITS + "gpu: asked 0.333, free 0.001"}
    assert 3 * (24 * GI * 333 // 1000) <= 24 * GI


def test_of_many_holders_the_first_are_named_and_the_others_counted() -> None:
    held = tuple(workload(f"h{i:02}", cpu=0.1) for i in range(11))
    (reason,) = decide(cluster(workload("a", cpu=4), holding=held)).waiting.values()
    assert reason.evidence["holders"] == "h00, h01, h02, h03, h04, h05, h06, h07, 3 more"


def test_a_shape_that_has_no_room_is_asked_for_once_and_its_workloads_share_a_reason() -> None:
    decided = decide(cluster(workload("a", cpu=4), *(workload(f"w{i}", run=2) for i in range(3)), workload("x", cpu=9)))
    reasons = [decided.waiting[w.attempt] for w in (workload(f"w{i}") for i in range(3))]
    assert reasons[0] is reasons[1] is reasons[2]
    assert reasons[0].code is ReasonCode.WAITING_FOR_CAPACITY
    assert decided.waiting[workload("x").attempt].code is ReasonCode.NEVER_FITS
