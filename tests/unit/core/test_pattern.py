"""Patterns of remote paths mean what those of a shell do."""

import glob
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainwright.core.pattern import has_magic, matcher

PATHS = ["a.csv", "b.csv", ".h.csv", "d/a.csv", "d/e/a.csv", "d/.h/a.csv", "a[1].csv", "da/x", "d/e/b.txt", "ab/c/d"]


@pytest.mark.parametrize(
    "pattern",
    [
        "*.csv",
        "**/*.csv",
        "d/*",
        "d/**",
        "**",
        "?.csv",
        "[ab].csv",
        "[!a].csv",
        "d/**/a.csv",
        ".*",
        "*/a.csv",
        "d*",
        "d/*/a.csv",
    ],
)
def test_a_pattern_matches_what_it_matches_on_a_disk(tmp_path: Path, pattern: str) -> None:
    for path in PATHS:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    found = set(glob.glob(pattern, root_dir=tmp_path, recursive=True)) - {""}  # noqa: PTH207 - what we are to equal
    files = {name for name in found if (tmp_path / name).is_file()}
    if not pattern.endswith("**"):  # a folder that matches stands for all it holds
        files |= {path for path in PATHS if any(path.startswith(name.rstrip("/") + "/") for name in found)}
    matches = matcher(pattern)
    assert {path for path in PATHS if matches(path)} == files


@given(st.text(alphabet="ab*?[]!^-.\\/", max_size=12), st.text(alphabet="ab./", max_size=12))
def test_no_pattern_breaks_the_matcher(pattern: str, path: str) -> None:
    assert matcher(pattern)(path) in {True, False}


def test_a_text_without_magic_matches_itself_only() -> None:
    assert not has_magic("a.csv")
    assert matcher("a.csv")("a.csv")
    assert not matcher("a.csv")("aXcsv")


def test_a_range_that_ends_before_it_begins_holds_no_letter() -> None:
    assert not matcher("[z-a]")("b")
    assert matcher("[!z-a]")("b")
    assert not matcher("[[-?]x")("[x")
    assert matcher("[a-cx-]")("b")
    assert matcher("[a-cx-]")("-")
