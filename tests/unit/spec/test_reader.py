"""Text to plain values with places."""

import pytest

from trainwright.core.errors import SpecError
from trainwright.spec.reader import MOST_VALUES, read


def refused(text: str) -> str:
    with pytest.raises(SpecError) as caught:
        read(text, "f.yaml")
    return str(caught.value)


def test_plain_values_follow_the_one_typing_rule() -> None:
    tree = read("[1e-4, 1E3, no, on, 22:30, 2026-03-29, 010, 1.10, '010', true, ~, 0x1F, !!str 7]", "f")
    assert tree.value == [1e-4, 1e3, "no", "on", "22:30", "2026-03-29", 10, 1.1, "010", True, None, 31, "7"]


def test_every_value_has_its_place() -> None:
    tree = read("a:\n  b: [1, x]\nc: |\n  text\n", "f.yaml")
    assert str(tree.positions["a"]) == "f.yaml:1:1"
    assert str(tree.positions["a.b.1"]) == "f.yaml:2:10"
    assert str(tree.positions["c"]) == "f.yaml:3:4"


def test_a_merge_is_shallow_and_silent() -> None:
    tree = read(
        "base: &b {gpu: 1, env: {A: 1, B: 2}}\na: {<<: *b, gpu: 4, env: {B: 9}}\nb: {<<: [*b, {x: 1, gpu: 2}]}", "f"
    )
    assert isinstance(tree.value, dict)
    assert tree.value["a"] == {"gpu": 4, "env": {"B": 9}}
    assert tree.value["b"] == {"gpu": 1, "env": {"A": 1, "B": 2}, "x": 1}
    assert tree.habits == []


@pytest.mark.parametrize(
    "text", ["a: {k: 1, k: 2}", "a:\n - k: 1\n   j: 2\n   k: 3", "k: 1\n'k': 2", "é: 1\ne\u0301: 2"]
)
def test_a_key_written_twice_is_refused_at_any_depth(text: str) -> None:
    assert "duplicate key" in refused(text)


def test_aliases_that_stand_for_billions_are_refused() -> None:
    lines = ["a0: &a0 [x]"] + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    assert f"more than {MOST_VALUES} values" in refused("\n".join(lines))


def test_aliases_that_nest_without_end_are_refused() -> None:
    lines = ["a0: &a0 [x]"] + [f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, 2000)]
    assert "levels deep" in refused("\n".join(lines))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: &x [*x]", "inside what it stands for"),
        ("a: *x", "no anchor &x"),
        ("a: !foo 1", "the tag !foo"),
        ("a: !!python/object:os.system x", "tag:yaml.org,2002:python/object:os.system"),
        ("a: 1\n---\nb: 2", "a second document"),
        ("? [a]\n: 1", "cannot be a key"),
        ("x: " + "[" * 10_000, "levels deep"),
        ("a:\n\tb: 1", "a tab"),
        ("a: 'x", "close what line 1 opens"),
        ("a: \0", "U+0000"),
        ("", "the file is empty"),
        ("# nothing\n", "the file is empty"),
        ('a: "\\ud83d"', "half of a surrogate pair"),
        ("a: " + "9" * 5000, "5000 digits"),
        ("a: b: c", "a colon and a space"),
        ("<<: [1]\na: 1", "takes a mapping"),
        ("a: &a {x: 1}\nb: {<<: *a, <<: *a}", "<< is written twice"),
        ("%YAML 1.1\n---\n- {}: 1", "cannot be a key"),
    ],
)
def test_what_is_not_yaml_or_not_used_is_refused_in_words(text: str, words: str) -> None:
    assert words in refused(text)


def test_a_byte_order_mark_is_skipped() -> None:
    assert read("\ufeffa: 1", "f").value == {"a": 1}
