"""Every code block of the README, the contributing page and the documentation, run as it stands.

A page is one test: its blocks run in order in a fresh folder that holds a copy of the examples and the state. What the
comments before a block mean is in CONTRIBUTING.md, "Documentation".
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from ruamel.yaml import YAML
from shell import runtime_folder

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
LIMIT_S = 60
RUNNABLE = frozenset({"bash", "python"})
KNOWN = RUNNABLE | {"yaml", "json", "text"}

BLOCK = re.compile(
    r"(?P<comments>(?:^<!--[^\n]*-->\s*\n)*)^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
COMMENT = re.compile(r"<!-- (?P<key>file|exits|prints|not run)(?:: (?P<value>.*?))? -->")

KEEP = """\
cd "$(cat "$PAGE_STATE/folder")"
[ ! -f "$PAGE_STATE/variables" ] || . "$PAGE_STATE/variables"
trap 'code=$?; pwd > "$PAGE_STATE/folder"; export -p > "$PAGE_STATE/variables"; exit $code' EXIT
set -e
"""
"""Before each bash block: go on where the one before it ended."""


@dataclass(frozen=True)
class Block:
    """One fenced block with what the comments before it say."""

    language: str
    text: str
    says: Mapping[str, str]
    line: int


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [
        Block(
            found["language"],
            found["text"],
            {c["key"]: c["value"] or "" for c in COMMENT.finditer(found["comments"])},
            text.count("\n", 0, found.start("language")) + 1,
        )
        for found in BLOCK.finditer(text)
    ]


def runs(page: Path) -> bool:
    return any(b.language in RUNNABLE and not {"not run", "file"} & b.says.keys() for b in blocks(page))


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def environment(state: Path) -> dict[str, str]:
    env = {key: value for key, value in os.environ.items() if not key.startswith("TW_")}
    path = os.pathsep.join([str(Path(sys.executable).parent), env.get("PATH", "")])
    own = {"TW_MACHINE_DIR": str(state / "machine"), "TW_RUNTIME_DIR": runtime_folder()}
    return {**env, **own, "PATH": path, "PAGE_STATE": str(state), "TW_ACTOR": "reader", "COLUMNS": "100"}


@pytest.mark.slow
def weight(page: Path) -> object:
    """What a newcomer reads first is tried by `make test`, all other pages by `make test-all`."""
    return pytest.param(page, id=name(page), marks=() if page.name == "README.md" else pytest.mark.heavy)


@pytest.mark.parametrize("page", [weight(p) for p in PAGES if runs(p)])
def test_every_block_does_what_the_page_says(page: Path, tmp_path: Path) -> None:
    folder, state = tmp_path / "page", tmp_path / "state"
    shutil.copytree(
        ROOT / "examples", folder / "examples", ignore=shutil.ignore_patterns("__pycache__", ".trainwright")
    )
    (folder / ".trainwright").mkdir()  # so that no state folder further up is found
    state.mkdir()
    (state / "folder").write_text(str(folder))
    printed = ""
    for block in blocks(page):
        place = f"{name(page)}:{block.line}"
        if "file" in block.says:
            (Path((state / "folder").read_text().strip()) / block.says["file"]).write_text(block.text, encoding="utf-8")
        elif "prints" in block.says:
            assert not missing(block.text, printed), f"{place}: {missing(block.text, printed)} not in\n{printed}"
        elif block.language in RUNNABLE and "not run" not in block.says:
            code, printed = run(block, state)
            wanted = int(block.says.get("exits", "0"))
            assert code == wanted, f"{place}: exit code {code}, not {wanted}\n{printed}"


def run(block: Block, state: Path) -> tuple[int, str]:
    command = ["bash", "-c", KEEP + block.text] if block.language == "bash" else [sys.executable, "-c", block.text]
    done = subprocess.run(
        command,
        cwd=(state / "folder").read_text().strip(),
        env=environment(state),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    return done.returncode, done.stdout


def missing(promised: str, printed: str) -> list[str]:
    """Return the promised lines that no printed line is, ``…`` standing for anything."""
    there = [" ".join(line.split()) for line in printed.splitlines()]
    wanted = [" ".join(line.split()) for line in promised.splitlines() if line.strip()]
    patterns = {line: re.compile(".*".join(re.escape(part) for part in line.split("…"))) for line in wanted}
    return [line for line, pattern in patterns.items() if not any(map(pattern.fullmatch, there))]


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_block_is_of_a_known_kind(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    found = blocks(page)
    assert text.count("\n```") == 2 * len(found), "a fence is not closed, or a block has an indent"
    for block in found:
        assert block.language in KNOWN, f"{name(page)}:{block.line}: {block.language or 'no'} language"
        assert "prints" not in block.says or block.language == "text"
        assert not {"exits", "not run"} & block.says.keys() or block.language in RUNNABLE
        assert block.says.get("not run") != "", "say why it is not run"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_documents_shown_can_be_read(page: Path) -> None:
    for block in blocks(page):
        if block.language == "yaml":
            YAML(typ="safe").load(block.text)
        elif block.language == "json":
            json.loads(block.text)


def test_a_promise_that_is_not_kept_is_found() -> None:
    assert missing("a … c\nb", "x\n  a  b c\n") == ["b"]
    assert missing("a.c", "abc") == ["a.c"]
    assert missing("a … c", "d a b c") == ["a … c"]
