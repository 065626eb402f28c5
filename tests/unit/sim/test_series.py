"""A quantity over time in a few hundred means."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainwright.sim.series import FIRST_SPAN_S, MOST_SPANS, Series, common_span_s

STEPS = st.lists(st.tuples(st.floats(0, 50_000), st.integers(-5, 20)), min_size=1, max_size=30)


@given(steps=STEPS)
def test_means_add_up_to_the_total_whatever_the_span(steps):
    series, at, total, before = Series(), 0.0, 0.0, 0
    for wait, value in steps:
        total += before * wait
        at += wait
        series.set(at, value)
        before = value
    span = common_span_s(at)
    means = series.means(at, span)
    lengths = [min(span, at - i * span) for i in range(len(means))]
    assert series.total == pytest.approx(total)
    assert sum(m * n for m, n in zip(means, lengths, strict=True)) == pytest.approx(total, abs=1e-6)


def test_a_span_gets_longer_before_there_are_too_many():
    series = Series()
    series.set(0, 3)
    end = FIRST_SPAN_S * MOST_SPANS * 5
    means = series.means(end, common_span_s(end))
    assert len(means) <= MOST_SPANS
    assert set(means) == {3.0}


def test_what_is_added_and_taken_away_again_leaves_nothing():
    series = Series()
    series.add(10, 2)
    series.add(20, -2)
    assert series.total == 20
    assert sum(series.means(600, FIRST_SPAN_S)) * FIRST_SPAN_S == 20
