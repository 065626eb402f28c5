"""Parts of plans, and what differs between two."""

import pytest

from build import plan, step
from trainwright.core.errors import NotFoundError
from trainwright.plan.difference import Difference, differences
from trainwright.plan.part import part_of
from trainwright.plan.plan import Plan

CHAIN = plan(step("a"), step("b", needs=["a"]), step("c", needs=["a"]), step("d", needs=["b"]), params={"C": 1})


def names(of: Plan) -> list[str]:
    return [s.name for s in of.steps]


def test_a_part_has_a_step_and_all_that_comes_before_it() -> None:
    assert names(part_of(CHAIN, ["d"])) == ["a", "b", "d"]
    assert names(part_of(CHAIN, ["c"])) == ["a", "c"]
    assert part_of(CHAIN, ["c", "d"]) == CHAIN


def test_a_part_of_an_unknown_step_names_the_nearest() -> None:
    with pytest.raises(NotFoundError) as caught:
        part_of(plan(step("train"), step("prep")), ["trian"])
    assert "did you mean train?" in str(caught.value)


def test_equal_plans_do_not_differ() -> None:
    assert differences(CHAIN, CHAIN) == ()


def test_what_differs_is_named_by_its_path() -> None:
    other = plan(step("a", timeout_s=5.0), step("b", needs=["a"]), step("e", needs=["a"]), params={"C": 2, "k": "x"})
    assert differences(CHAIN, other) == (
        Difference("params.C", "1", "2"),
        Difference("params.k", "", '"x"'),
        Difference("steps.a.timeout_s", "", "5.0"),
        Difference("steps.c", "c", ""),
        Difference("steps.d", "d", ""),
        Difference("steps.e", "", "e"),
    )
