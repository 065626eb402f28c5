"""How near is near enough, and how sure is sure."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainwright.core.codec import canonical_json, from_json, to_json
from trainwright.core.ids import RunId
from trainwright.core.reproduction import EXACTLY, Gap, Grade, Reproduced, Tolerance, grade_of, tolerance_of

numbers = st.floats(-1e9, 1e9)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (0, EXACTLY),
        ("0", EXACTLY),
        (0.001, Tolerance(0.001)),
        ("1e-3", Tolerance(0.001)),
        ("1%", Tolerance(0.01, relative=True)),
        ("0.5 %", Tolerance(0.005, relative=True)),
    ],
)
def test_a_tolerance_is_a_distance_or_a_part(written: object, meant: Tolerance) -> None:
    assert tolerance_of(written) == meant


@pytest.mark.parametrize("written", [-0.1, "-1%", "nan", "inf", float("inf"), "much", "", "%", "1%%", True, None, [1]])
def test_anything_else_is_no_tolerance(written: object) -> None:
    with pytest.raises(ValueError, match="is no tolerance"):
        tolerance_of(written)


@given(numbers, numbers)
def test_without_a_tolerance_only_equal_numbers_pass(before: float, now: float) -> None:
    assert EXACTLY.allows(before, now) == (before == now)


@given(numbers, st.floats(0, 100), st.floats(-1, 1), st.booleans())
def test_what_is_within_the_distance_passes_and_what_is_well_beyond_does_not(
    before: float, amount: float, part: float, relative: bool
) -> None:
    tolerance = Tolerance(amount, relative)
    most = amount * abs(before) if relative else amount
    assert tolerance.allows(before, before)
    now = before + part * most
    if abs(now - before) <= most:
        assert tolerance.allows(before, now)
    beyond = before + 2 * most + 1
    assert not tolerance.allows(before, beyond)


def test_decimal_numbers_at_the_very_distance_pass() -> None:
    assert tolerance_of("0.001").allows(0.8, 0.801)
    assert tolerance_of("10%").allows(0.3, 0.33)


@pytest.mark.parametrize("amount", [0.0, 1e300])
def test_not_a_number_and_infinity_equal_themselves_alone(amount: float) -> None:
    odd = (math.nan, math.inf, -math.inf, 1.0)
    for place, before in enumerate(odd):
        assert [Tolerance(amount).allows(before, now) for now in odd] == [place == n for n in range(len(odd))]


def test_the_grade_is_that_of_the_worst_gap() -> None:
    gaps = {grade: Gap("code", "x", grade) for grade in Grade}
    assert grade_of([]) is grade_of([gaps[Grade.EXACT]]) is Grade.EXACT
    assert grade_of([gaps[Grade.SAME_ENVIRONMENT], gaps[Grade.EXACT]]) is Grade.SAME_ENVIRONMENT
    assert grade_of(reversed(gaps.values())) is Grade.BEST_EFFORT


def test_what_a_run_reproduces_survives_json() -> None:
    gap = Gap("hardware", "other", Grade.SAME_ENVIRONMENT)
    value = Reproduced(RunId("r1"), gap.best, (gap,), {"auc": Tolerance(0.01, relative=True)}, "sha256:0")
    assert from_json(Reproduced, to_json(value)) == value
    assert '"run":"r1"' in canonical_json(value)
