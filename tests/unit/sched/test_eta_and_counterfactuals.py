"""When work may start, and what would let it start now."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from build import NOW, asks, cluster, node, workload
from trainwright.core.ids import AttemptId
from trainwright.core.snapshot import ClusterSnapshot
from trainwright.core.window import Window
from trainwright.core.workload import Contract, Isolation, PodSet, Shape, Standing, Workload, single
from trainwright.sched.counterfactual import counterfactuals
from trainwright.sched.eta import start_range
from trainwright.sched.policy import DEFAULT_POLICY
from trainwright.sched.round import schedule

EIGHT = node("n1", cpu=32, memory_gi=64, cards_gi=(24,) * 8)
W = AttemptId("w")


def later(minutes: float) -> datetime:
    return NOW + timedelta(minutes=minutes)


def runs(name: str, cpu: float, expected: float | None, most: float | None, began: float = 0) -> Workload:
    """Work that holds room; times in minutes."""
    seconds = [None if m is None else m * 60 for m in (expected, most)]
    held = workload(name, cpu=cpu)
    contract = Contract(expected_s=seconds[0], most_s=seconds[1])
    return replace(
        held,
        contract=contract,
        standing=Standing(cluster(holding=(held,)).holding[held.attempt].standing.places, later(-began)),
    )


def waits(shape: Shape, **changes: object) -> Workload:
    return replace(workload("w"), shape=shape, **changes)  # type: ignore[arg-type]


def test_work_starts_when_enough_of_those_who_run_have_ended() -> None:
    holding = (runs("a", 2, 10, 30), runs("b", 2, 20, 60, began=5))
    found = start_range(cluster(workload("w", cpu=4), holding=holding), DEFAULT_POLICY, NOW, W)
    assert (found.earliest, found.latest) == (later(15), later(55))
    found = start_range(cluster(workload("w", cpu=2), holding=holding), DEFAULT_POLICY, NOW, W)
    assert (found.earliest, found.latest) == (later(10), later(30))
    assert "nothing else is submitted" in found.assumption


def test_who_goes_first_is_looked_at_too() -> None:
    before = replace(workload("first", cpu=4, run=0), contract=Contract(expected_s=600.0))
    world = cluster(before, workload("w", cpu=4), holding=(runs("a", 4, 10, 10),))
    found = start_range(world, DEFAULT_POLICY, NOW, W)
    assert found.earliest == later(20)


def test_an_end_that_nobody_states_is_named() -> None:
    found = start_range(cluster(workload("w", cpu=4), holding=(runs("a", 4, None, None),)), DEFAULT_POLICY, NOW, W)
    assert (found.earliest, found.latest) == (None, None)
    assert "a state no end" in found.assumption


def test_a_window_is_waited_for() -> None:
    shut = replace(workload("w"), contract=Contract(window=Window(60, 120)))
    assert start_range(cluster(shut), DEFAULT_POLICY, NOW, W).earliest == later(60)


def test_what_fits_now_can_start_now() -> None:
    assert start_range(cluster(workload("w")), DEFAULT_POLICY, NOW, W).latest == NOW


@pytest.mark.parametrize(
    ("shape", "says"),
    [
        (single(asks(1, 0, 8)), ["gpu: 4"]),
        (single(asks(64)), ["cpu: 28"]),
        (single(asks(1, 128)), ["memory: 64Gi"]),
        (Shape((PodSet(asks(1, 0, 2), 3, 3),)), ["gpu: 1", "workers: 2"]),
        (Shape((PodSet(asks(1, 0, 1), models=("H100",)),)), ["any gpu_model"]),
        (replace(single(asks(1, 0, 1)), isolation=Isolation.MIG), ["isolation: none"]),
        (replace(single(asks(1, 0, 1)), pools=("other",)), ["any pool"]),
        (single(asks(64, 0, 8)), []),
    ],
)
def test_each_change_that_would_help_is_named_with_its_number(shape: Shape, says: list[str]) -> None:
    held = tuple(workload(f"h{i}", gpus=1, devices=(i,)) for i in range(4))
    world = cluster(waits(shape), nodes=(EIGHT,), holding=held)
    assert [c.says for c in counterfactuals(world, DEFAULT_POLICY, NOW, W)] == says


@st.composite
def busy_worlds(draw: st.DrawFn) -> ClusterSnapshot:
    held = tuple(
        workload(f"h{i}", cpu=draw(st.integers(1, 8)), gpus=1, devices=(i,)) for i in range(draw(st.integers(0, 8)))
    )
    others = tuple(
        workload(f"o{i}", cpu=draw(st.integers(1, 16)), gpus=draw(st.sampled_from([0, 0.5, 1, 2, 4]))) for i in range(3)
    )
    asked = asks(draw(st.integers(1, 64)), draw(st.sampled_from([0, 32, 100])), draw(st.sampled_from([0, 0.5, 2, 8])))
    return cluster(*others, waits(Shape((PodSet(asked, 2, 2),))), nodes=(EIGHT,), holding=held)


@given(busy_worlds())
@settings(max_examples=60)
def test_every_counterfactual_proves_true_when_it_is_submitted(world: ClusterSnapshot) -> None:
    if W not in schedule(world, DEFAULT_POLICY, NOW).waiting:
        return
    for found in counterfactuals(world, DEFAULT_POLICY, NOW, W):
        submitted = replace(found.workload, attempt=AttemptId("new"), label="new")
        tried = replace(world, pending=world.pending.minus([W]).plus({submitted.attempt: submitted}))
        assert submitted.attempt in {p.attempt for p in schedule(tried, DEFAULT_POLICY, NOW).placements}, found.says
