"""``tw plan --graph``: drawn in the terminal, or written as a picture."""

from xml.etree import ElementTree as ET

import pytest
from shell import Shell

PIPELINE = """\
pipeline: two-ways
steps:
  准备: {run: "echo > ${{ out.table }}", out: {table: dataset}}
  训练模型: {run: "cat ${{ 准备.table }}"}
  other: {run: "cat ${{ 准备.table }}"}
  last: {run: "true", depends_on: [训练模型, other, 准备]}
"""
DRAWN = """\
            ┌──────────┐
         ┌─▶│  other   ├─┐  ┌──────┐
┌──────┐ │  └──────────┘ ├─▶│ last │
│ 准备 ├─┤  ┌──────────┐ │  └──────┘
└──────┘ └─▶│ 训练模型 ├─┘
            └──────────┘
"""


@pytest.fixture(scope="module")
def tw(tmp_path_factory):
    with Shell(tmp_path_factory.mktemp("graph")) as shell:
        shell.write("p.yaml", PIPELINE)
        yield shell


def test_the_graph_is_drawn_without_edges_that_follow_from_others(tw):
    said = tw.run("plan", "p.yaml", "--graph", code=0)
    assert said.out == DRAWN
    assert said.err == ""


def test_a_narrow_terminal_gets_a_drawing_that_goes_down(tw):
    said = tw.run("plan", "p.yaml", "--graph", code=0, COLUMNS="30")
    assert "▼" in said.out
    assert "▶" not in said.out


def test_what_is_no_utf_8_gets_ascii(tw):
    said = tw.run("plan", "p.yaml", "--graph", code=0, PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert said.out.isascii()
    assert "->| " in said.out


def test_a_picture_is_written_with_what_is_handed_over(tw):
    said = tw.run("plan", "p.yaml", "--graph", "--svg", "graph.svg", code=0)
    assert (said.out, said.err) == ("", "wrote graph.svg\n")
    root = ET.fromstring((tw.folder / "graph.svg").read_text(encoding="utf-8"))
    texts = [element.text for element in root.iter() if element.tag.endswith("text")]
    assert set(texts) == {"准备", "训练模型", "other", "last", "table"}
    assert len([element for element in root.iter() if element.get("stroke-dasharray")]) == 2
    again = tw.run("plan", "p.yaml", "--graph", "--svg", "again.svg", PYTHONHASHSEED="3", code=0)
    assert again.err == "wrote again.svg\n"
    assert (tw.folder / "again.svg").read_bytes() == (tw.folder / "graph.svg").read_bytes()


def test_a_picture_that_cannot_be_written_says_so(tw):
    said = tw.run("plan", "p.yaml", "--svg", "nowhere/graph.svg", code=2)
    assert "error[TW2110]: nowhere/graph.svg cannot be written: No such file or directory" in said.err


def test_a_wide_fan_out_is_folded_and_says_so(tw):
    steps = "".join(f"  t{i:03}: {{run: echo, depends_on: [prep]}}\n" for i in range(70))
    tw.write("wide.yaml", f"pipeline: wide\nsteps:\n  prep: {{run: echo}}\n{steps}")
    said = tw.run("plan", "wide.yaml", "--graph", code=0)
    assert "t000 … t069 ×70" in said.out
    assert said.err == "71 steps in 2 boxes: steps that stand between the same others share one\n"
