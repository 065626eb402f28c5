"""What the language of conditions refuses."""

import pytest

from trainwright.core.condition import judge, parse


@pytest.mark.parametrize("text", ["...", "auc >= b'x'", "a > 1j", "a[0] > 1", "a ** 2", "a.__class__", "(lambda: 1)()"])
def test_what_is_neither_number_nor_text_nor_name_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"\S"):
        parse(text)


def test_operands_are_found_in_order() -> None:
    assert parse('auc >= production.auc - a["b"] and has("x")').operands == ("auc", "production.auc", "a.b")


METRICS = {"table.failed_checks": 2.0, "table.age.null_rate": 0.1, "table.flipper length.null_rate": 0.2,
           "table.a.b.null_rate": 0.3, "a": 1.0, "a.b": 2.0, "abs.x": -4.0, "prep": {"table.rows": 5.0}}  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "table.failed_checks == 2",
        "table.age.null_rate + table.failed_checks > 2",
        'table["flipper length"].null_rate == 0.2',
        'table["a.b"].null_rate == 0.3',
        "a == 1 and a.b == 2",
        "abs(abs.x) == 4",
        "prep.table.rows == 5",
        "max(table.failed_checks, a) == 2 and table.failed_checks in [1, 2]",
        'has("table.failed_checks") and not has("table") and not has("table.failed")',
        "0 <= table.age.null_rate <= 0.1",
    ],
)
def test_a_name_may_have_dots_in_it(text: str) -> None:
    assert judge(parse(text), METRICS).verdict == "passed"  # type: ignore[arg-type]


def test_a_part_of_a_name_is_missing() -> None:
    for text in ("table > 0", "table.age > 0", "table.failed_checks.x > 0", "b > 0"):
        assert judge(parse(text), METRICS).verdict == "missing"  # type: ignore[arg-type]
