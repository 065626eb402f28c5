"""Durations beyond what a clock can hold."""

import pytest

from trainwright.core.quantity import duration


@pytest.mark.parametrize("text", ["9" * 30 + "d", "9" * 400])
def test_a_duration_that_no_clock_holds_is_refused_in_words(text: str) -> None:
    with pytest.raises(ValueError, match="longer than a duration can be"):
        duration(text)
