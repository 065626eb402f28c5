"""What the language of conditions refuses."""

import pytest

from trainwright.core.condition import parse


@pytest.mark.parametrize("text", ["...", "auc >= b'x'", "a > 1j", "a[0] > 1", "a ** 2", "a.__class__", "(lambda: 1)()"])
def test_what_is_neither_number_nor_text_nor_name_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"\S"):
        parse(text)


def test_operands_are_found_in_order() -> None:
    assert parse('auc >= production.auc - a["b"] and has("x")').operands == ("auc", "production.auc", "a.b")
