"""What parts of a table hold adds up to what the whole holds."""

import math
import statistics
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainwright.core.table import SKETCH, Column, Table, smallest, together, types_of

NUMBERS = st.lists(st.floats(-1e6, 1e6), max_size=30)


def column(values: Sequence[float], name: str = "a") -> Column:
    mean = statistics.fmean(values) if values else 0.0
    return Column(
        name, "double" if values else "null", len(values), 0,
        low=min(values, default=None), high=max(values, default=None), count=len(values), mean=mean,
        spread=sum((v - mean) ** 2 for v in values), sketch=smallest(hash((v, "x")) % 2**64 for v in values),
    )  # fmt: skip


@given(st.lists(NUMBERS, min_size=1, max_size=5))
def test_parts_add_up_to_the_whole(parts: list[list[float]]) -> None:
    everything = [value for part in parts for value in part]
    (found,) = together(Table(len(p), (column(p),)) for p in parts).columns
    whole = column(everything)
    assert (found.rows, found.low, found.high, found.count) == (whole.rows, whole.low, whole.high, whole.count)
    assert found.sketch == whole.sketch
    assert found.mean == pytest.approx(whole.mean, rel=1e-9, abs=1e-6)
    assert found.spread == pytest.approx(whole.spread, rel=1e-6, abs=1e-3)
    if len(everything) > 1:
        assert found.std == pytest.approx(statistics.stdev(everything), rel=1e-6, abs=1e-4)


def test_a_column_that_a_part_lacks_counts_as_null_there() -> None:
    table = together([Table(2, (column([1, 2], "a"),)), Table(3, (column([1, 2, 3], "b"),))])
    assert [(c.name, c.rows, c.nulls, c.type) for c in table.columns] == [("a", 5, 3, "double"), ("b", 5, 2, "double")]


def test_types_that_differ_are_told() -> None:
    assert types_of(["int64", "double"]) == "double"
    assert types_of(["int64|string", "null", "int64"]) == "int64|string"
    assert types_of(["null", "null"]) == "null"


def test_numbers_and_texts_have_no_order() -> None:
    text = Column("a", "string", 1, 0, low="x", high="y")
    (found,) = together([Table(1, (column([1.0]),)), Table(1, (text,))]).columns
    assert (found.low, found.high, found.type) == (None, None, "double|string")


@given(st.integers(1, 5000))
def test_distinct_values_are_exact_up_to_the_sketch_and_near_beyond(count: int) -> None:
    found = Column("a", "int64", count, 0, sketch=smallest(mixed(value) for value in range(count)))
    if count < SKETCH:
        assert found.is_exact
        assert found.distinct == count
    else:
        assert abs(found.distinct - count) < 5 * count / math.sqrt(SKETCH)


def mixed(value: int) -> int:
    value = (value + 0x9E3779B97F4A7C15) % 2**64
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) % 2**64
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) % 2**64
    return value ^ (value >> 31)
