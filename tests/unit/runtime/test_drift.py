"""Drift: figures by their formulas, worked out by hand or by brute force."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trainwright.runtime.drift import drift, kolmogorov_smirnov, psi, psi_of_numbers, total_variation

VALUES = st.lists(st.integers(-20, 20).map(float), min_size=1, max_size=40)


def test_the_index_of_shares_is_the_one_worked_out_by_hand() -> None:
    # -0.15 ln 0.4 - 0.05 ln 0.8 + 0.05 ln 1.2 + 0.15 ln 1.6
    assert psi([0.25] * 4, [0.1, 0.2, 0.3, 0.4]) == pytest.approx(0.2282178, abs=1e-6)
    assert psi([0.5, 0.5], [0.5, 0.5]) == 0
    assert psi([1, 0], [0, 1]) == pytest.approx(2 * (1 - 1e-4) * math.log(1e4)), "an empty bin counts as 0.0001"


def test_the_distance_of_distributions_is_the_one_worked_out_by_hand() -> None:
    assert kolmogorov_smirnov(np.array([3.0, 4, 5, 6]), np.array([1.0, 2, 3, 4])) == 0.5
    assert kolmogorov_smirnov(np.array([1.0]), np.array([2.0])) == 1
    assert total_variation([0.5, 0.5, 0], [0.25, 0.25, 0.5]) == 0.5


@settings(deadline=None)
@given(VALUES, VALUES)
def test_the_distance_is_that_of_its_definition(new: list[float], old: list[float]) -> None:
    points = {*new, *old}
    wanted = max(abs(sum(v <= x for v in new) / len(new) - sum(v <= x for v in old) / len(old)) for x in points)
    assert kolmogorov_smirnov(np.array(new), np.array(old)) == pytest.approx(wanted)


@settings(deadline=None)
@given(VALUES, st.integers(2, 12))
def test_what_did_not_move_has_an_index_of_nothing(values: list[float], bins: int) -> None:
    array = np.array(values)
    assert psi_of_numbers(array, array, bins) == 0
    assert psi_of_numbers(array[::-1], array, bins) == 0


def test_numbers_are_counted_into_bins_of_equal_counts_of_the_earlier_table() -> None:
    old, new = np.arange(100.0), np.arange(100.0) + 10
    # edges at 24, 49, 74 (lower of ranks 24.75, 49.5, 74.25): 25 each before, 15, 25, 25, 35 after
    assert psi_of_numbers(new, old, 4) == pytest.approx(psi([0.25] * 4, [0.15, 0.25, 0.25, 0.35]))
    few = np.array([0.0, 0, 1, 1])
    assert psi_of_numbers(np.array([0.0, 1, 1, 2]), few, 4) == pytest.approx(psi([0.5, 0.5, 0], [0.25, 0.5, 0.25]))


def test_infinities_are_numbers_at_the_ends() -> None:
    old = np.array([*range(20), math.inf, -math.inf], dtype=float)
    assert psi_of_numbers(old, old) == 0
    assert kolmogorov_smirnov(old, old) == 0


def test_columns_are_compared_by_what_they_are() -> None:
    old = pd.DataFrame({"n": [1.0, 2, 3, 4], "t": ["a", "a", "b", "b"], "gone": 1, "void": [None] * 4})
    new = pd.DataFrame({"n": [3.0, 4, 5, None], "t": ["a", "a", "a", "c"], "more": 2, "void": ["x"] * 4})
    found = drift(new, old, name="d")
    assert found["d.n.ks"] == pytest.approx(2 / 3 - 1 / 2 + 1 / 3)
    assert found["d.n.null_rate_change"] == 0.25
    assert found["d.t.total_variation"] == 0.5
    assert found["d.t.psi"] == pytest.approx(psi([0.5, 0.5, 0], [0.75, 0, 0.25]))
    assert (found["d.columns_added"], found["d.columns_removed"], found["d.row_ratio"]) == (1, 1, 1)
    assert math.isnan(found["d.void.psi"])
    assert math.isnan(found["d.max_psi"]), "what is not known passes no gate"
    assert drift(new, old, columns=["t"])["drift.max_psi"] == found["d.t.psi"]
    with pytest.raises(KeyError, match="gone is not in both"):
        drift(new, old, columns=["gone"])


def test_a_table_has_not_drifted_from_itself() -> None:
    table = pd.DataFrame({"n": range(50), "t": list("ab") * 25, "b": [True, False] * 25})
    found = drift(table, table)
    assert {value for name, value in found.items() if name.count(".") == 2} == {0}
    assert (found["drift.max_psi"], found["drift.row_ratio"]) == (0, 1)
