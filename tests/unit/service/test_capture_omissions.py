"""Patterns of ``.twignore`` mean what they mean to git."""

import os
import subprocess
from pathlib import Path

import pytest

from trainwright.service.capture.folder import read_folder
from trainwright.service.capture.omissions import Rule, parse_rule, without_ignored

PATHS = (
    *(
        "a.py",
        "a.md",
        "docs/a.md",
        "docs/b/a.md",
        "docs/b/c.txt",
        "data/raw/x",
        "x/data/y",
        "data.py",
        "#a",
        "!a",
        "a b",
    ),
    *(
        "sp ",
        "a*b",
        "a]b",
        "a-b",
        "build/x/y",
        "src/build/z",
        "lib/foo/bar",
        "lib/x/foo/bar",
        "log/keep",
        "log/drop",
        "ü",
    ),
)
PATTERNS = (
    *("*.md", "/*.md", "docs/", "docs/**", "**/a.md", "docs/**/a.md", "data", "data/", "/data", "data/raw", "raw/"),
    *(
        "a?b",
        "a[*]b",
        "a[!*]b",
        "a[]]b",
        "a[x-z]b",
        "a[^x]b",
        r"a\*b",
        r"\#a",
        r"\!a",
        "# comment",
        "",
        "a b",
        "a.py  ",
    ),
    *(r"sp\ ", "build", "lib/**/foo", "log/*\n!log/keep", "log\n!log/keep", "*\n!*.py", "**", "*/", "a[&|~]b"),
    *("a[", "a**b", "docs/*", "x/**/y", "**/b", "/"),
)


def rules(text: str) -> tuple[Rule, ...]:
    return tuple(rule for line in text.split("\n") if (rule := parse_rule(line)))


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("tree")
    subprocess.run(("git", "-C", str(top), "init", "-q"), check=True)
    for path in PATHS:
        (top / path).parent.mkdir(parents=True, exist_ok=True)
        (top / path).write_text("")
    return top


@pytest.mark.parametrize("text", PATTERNS)
def test_a_pattern_means_what_it_means_to_git(tree: Path, text: str) -> None:
    (tree / ".git/info/exclude").write_text(text + "\n")
    asked = ("git", "-C", str(tree), "ls-files", "-z", "--others", "--exclude-from=.git/info/exclude")
    listed = subprocess.run(asked, check=True, capture_output=True).stdout
    expected = {path for path in os.fsdecode(listed).split("\0") if path}
    assert set(without_ignored(rules(text), PATHS)) == expected


def test_a_state_folder_stands_apart_wherever_it_lies(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    for name in ("state.db", ".gitignore", "engine.log"):
        (tmp_path / "home" / name).write_text("")
    (tmp_path / "train.py").write_text("")
    assert read_folder(tmp_path, 10) == ("train.py",)
