"""Any graph: its layers, its drawing as text (read back by following the lines), and its picture."""

import os
import subprocess
import sys
from collections import defaultdict
from itertools import combinations, pairwise
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trainwright.cli.graph_text import draw
from trainwright.notebook.svg import Box, Curve, arrange, svg
from trainwright.plan.graph import Edge, Graph, Node, by_layer, layers_of, reduced, without_twins
from trainwright.plan.layout import crossings, lay_out, spread

LINES = " ╵╶└╷│┌├╴┘─┴┐┤┬┼"
NORTH, EAST, SOUTH, WEST = (-1, 0), (0, 1), (1, 0), (0, -1)
BITS = {NORTH: 1, EAST: 2, SOUTH: 4, WEST: 8}
ENDLESS = 10**6


@st.composite
def graphs(draw: st.DrawFn, most: int = 14) -> Graph:
    """Nodes in an order in which every edge goes on; labels of all lengths."""
    count = draw(st.integers(1, most))
    names = [f"n{index:02}" + "x" * draw(st.integers(0, 9)) for index in range(count)]
    pairs = [(i, j) for i in range(count) for j in range(i + 1, count)]
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=2 * count)) if pairs else []
    labels = st.sampled_from(["", "table", "a-long-output", "model"])
    edges = []
    for i, j in chosen:
        label = draw(labels)
        edges.append(Edge(names[i], names[j], label, data=bool(label)))
        if draw(st.integers(0, 9)) == 9:
            edges.append(Edge(names[i], names[j], "beside", data=True))
    return Graph(tuple(Node(n, n) for n in draw(st.permutations(names))), tuple(edges))


def reach(of: Graph) -> set[tuple[str, str]]:
    found = {(e.before, e.after) for e in of.edges}
    while more := {(a, d) for a, b in found for c, d in found if b == c} - found:
        found |= more
    return found


@given(graphs(most=9))
@settings(max_examples=60, deadline=None)
def test_the_reduction_orders_the_same_with_the_fewest_edges(of: Graph) -> None:
    small = reduced(of)
    assert reach(small) == reach(of)
    for edge in small.edges:
        others = tuple(e for e in small.edges if (e.before, e.after) != (edge.before, edge.after))
        assert reach(Graph(of.nodes, others)) != reach(of)
    assert {e for e in of.edges if e.data} <= set(reduced(of, keep_data=True).edges)


@given(graphs())
@settings(max_examples=80, deadline=None)
def test_every_edge_goes_from_layer_to_layer(of: Graph) -> None:
    layout, layer = lay_out(of), layers_of(of)
    place = {slot: depth for depth, slots in enumerate(layout.layers) for slot in slots}
    assert {n.name: place[i] for i, n in enumerate(of.nodes)} == layer
    assert all(place[after] == place[before] + 1 for before, after in layout.links)
    steps = defaultdict(set)
    for (before, after), edges in layout.links.items():
        for edge in edges:
            steps[edge].add((before, after))
    names = {n.name: i for i, n in enumerate(of.nodes)}
    for edge in of.edges:
        at = names[edge.before]
        for _ in range(layer[edge.after] - layer[edge.before]):
            at = dict(steps[edge])[at]
        assert at == names[edge.after]


@given(graphs())
@settings(max_examples=80, deadline=None)
def test_the_order_crosses_no_more_than_the_one_it_began_with(of: Graph) -> None:
    layout = lay_out(of)
    links, place = list(layout.links), {s: i for slots in layout.layers for i, s in enumerate(slots)}
    depth = {s: d for d, slots in enumerate(layout.layers) for s in slots}
    crossing = sum(
        depth[a] == depth[c] and (place[a] - place[c]) * (place[b] - place[d]) < 0
        for (a, b), (c, d) in combinations(links, 2)
    )
    assert crossings(layout.layers, links) == crossing
    assert crossing <= crossings([sorted(slots) for slots in layout.layers], links)


@given(graphs(), st.integers(0, 5), st.data())
@settings(max_examples=60, deadline=None)
def test_nothing_overlaps_along_a_layer(of: Graph, gap: int, data: st.DataObject) -> None:
    layout = lay_out(of)
    sizes = {slot: data.draw(st.integers(1, 9)) for slots in layout.layers for slot in slots}
    begins = spread(layout, sizes, gap)
    assert min(begins.values()) == 0
    for slots in layout.layers:
        for left, right in pairwise(slots):
            assert begins[left] + sizes[left] + gap <= begins[right]


@given(graphs())
@settings(max_examples=120, deadline=None)
def test_the_lines_of_the_text_lead_where_the_edges_do(of: Graph) -> None:
    expected = {(e.before, e.after) for e in reduced(of).edges}
    for columns in (ENDLESS, 60):
        picture = draw(of, columns, "utf-8")
        assert picture.width == max(map(len, picture.lines))
        if picture.note:
            continue
        assert picture.width <= columns
        assert followed(picture.lines, [n.name for n in of.nodes]) == expected
        plain = draw(of, columns, "ascii")
        assert [len(line) for line in plain.lines] == [len(line) for line in picture.lines]
        assert all(line.isascii() for line in plain.lines)


@given(graphs(), st.integers(12, 40))
@settings(max_examples=60, deadline=None)
def test_a_drawing_is_never_wider_than_the_terminal(of: Graph, columns: int) -> None:
    picture = draw(of, columns, "utf-8")
    assert picture.width <= columns


def followed(lines: tuple[str, ...], names: list[str]) -> set[tuple[str, str]]:
    """Follow the lines of a drawing from every box; boxes are found by their labels."""
    grid = defaultdict(lambda: " ", {(r, c): ch for r, line in enumerate(lines) for c, ch in enumerate(line)})
    inside: dict[tuple[int, int], str] = {}
    frames: dict[str, tuple[int, int, int, int]] = {}
    for name in names:
        row = next(r for r, line in enumerate(lines) if name in line.replace("│", " ").split())
        column = next(c for c in range(len(lines[row])) if lines[row][c:].startswith(name) and lines[row][c - 1] == " ")
        left = next(c for c in range(column - 1, -1, -1) if grid[row, c] != " ")
        right = next(c for c in range(column + len(name), ENDLESS) if grid[row, c] != " ")
        top = next(r for r in range(row, -1, -1) if grid[r, left] == "┌")
        bottom = next(r for r in range(row, ENDLESS) if grid[r, left] == "└")
        frames[name] = (top, left, bottom, right)
        inside.update({(r, c): name for r in range(top, bottom + 1) for c in range(left, right + 1)})
    found = set()
    for name, (top, left, bottom, right) in frames.items():
        starts = [(bottom, c, SOUTH) for c in range(left + 1, right) if grid[bottom, c] == "┬"]
        starts += [(r, right, EAST) for r in range(top + 1, bottom) if grid[r, right] == "├"]
        assert len(starts) <= 1
        for row, column, way in starts:
            found |= {(name, inside[end]) for end in ends(grid, (row, column), way)}
    return found


def ends(grid: dict[tuple[int, int], str], start: tuple[int, int], way: tuple[int, int]) -> set[tuple[int, int]]:
    """Return where the arrows stand that a line leads to; it never goes back the way layers follow one another."""
    back = NORTH if way == SOUTH else WEST
    left, seen, found = [(start, way)], set(), set()
    while left:
        (row, column), (down, right) = left.pop()
        cell = (row + down, column + right)
        if (cell, (down, right)) in seen:
            continue
        seen.add((cell, (down, right)))
        sign = grid[cell]
        if sign in "▼▶":
            found.add((cell[0] + (sign == "▼"), cell[1] + (sign == "▶")))
        elif sign == "│" and right:  # a crossing: the upright line covers the other
            left.append((cell, (down, right)))
        else:
            bits = LINES.index(sign)
            assert bits & BITS[-down, -right], "a line that ends in nothing"
            ways = [w for w, bit in BITS.items() if bits & bit and w not in {(-down, -right), back}]
            left += [(cell, w) for w in ways]
    return found


@given(graphs(most=20))
@settings(max_examples=80, deadline=None)
def test_no_box_of_a_picture_overlaps_and_no_line_crosses_one(of: Graph) -> None:
    drawing = arrange(of)
    for box, other in combinations(drawing.boxes, 2):
        apart = box.x + box.width < other.x or other.x + other.width < box.x
        assert apart or box.y + box.height < other.y or other.y + other.height < box.y
    for box in drawing.boxes:
        assert box.x >= 0
        assert box.y >= 0
        assert box.x + box.width <= drawing.width
        assert box.y + box.height <= drawing.height
        for curve in drawing.curves:
            assert not any(within(box, point) for point in points(curve, right=drawing.right))


def points(curve: Curve, *, right: bool) -> list[tuple[float, float]]:
    (x0, y0), (x1, y1), (x3, y3) = curve.start, curve.turn, curve.end
    half_x, half_y = ((x3 - x1) / 2, 0) if right else (0, (y3 - y1) / 2)
    found = [(x0 + (x1 - x0) * t / 10, y0 + (y1 - y0) * t / 10) for t in range(11)]
    for step in range(21):
        t = step / 20
        parts = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3)
        xs, ys = (x1, x1 + half_x, x3 - half_x, x3), (y1, y1 + half_y, y3 - half_y, y3)
        found.append(
            (sum(p * x for p, x in zip(parts, xs, strict=True)), sum(p * y for p, y in zip(parts, ys, strict=True)))
        )
    return found


def within(box: Box, point: tuple[float, float]) -> bool:
    """Inside, edges not counted: that is where lines begin and end."""
    return box.x < point[0] < box.x + box.width and box.y < point[1] < box.y + box.height


@given(graphs(most=8), st.text(max_size=20).filter(lambda t: t.isprintable()))
@settings(max_examples=40, deadline=None)
def test_a_picture_is_xml_whatever_the_names_are(of: Graph, text: str) -> None:
    hostile = Node(of.nodes[0].name, f'<script>alert("{text}")</script>&', "data")
    root = ET.fromstring(svg(Graph((hostile, *of.nodes[1:]), of.edges), "</title><script>"))
    assert {e.tag.rpartition("}")[2] for e in root.iter()} <= {"svg", "title", "g", "rect", "text", "path", "polygon"}
    assert any(e.text == hostile.label for e in root.iter())
    dashed = [e for e in root.iter() if e.get("stroke-dasharray")]
    assert bool(dashed) == any(not e.data for e in reduced(of, keep_data=True).edges)
    assert {e.text for e in root.iter()} >= {e.label for e in reduced(of, keep_data=True).edges if e.label}


@given(graphs(most=12))
@settings(max_examples=40, deadline=None)
def test_folding_keeps_the_order(of: Graph) -> None:
    for folded in (without_twins(of), by_layer(of)):
        layers_of(folded)  # no circle
        assert sum(int(n.label.rpartition("×")[2]) if n.kind == "group" else 1 for n in folded.nodes) == len(of.nodes)


WIDE = """
import random
from trainwright.cli.graph_text import draw
from trainwright.notebook.svg import svg
from trainwright.plan.graph import Edge, Graph, Node
for seed in range(12):
    chance = random.Random(seed)
    names = [f"s{i}" for i in range(4 * (seed + 1))]
    found = [(chance.choice(names[:i]), n) for i, n in enumerate(names) if i for _ in "ab"]
    pairs = {pair: chance.choice(["", "o", "p"]) for pair in found}
    edges = tuple(Edge(a, b, o, bool(o)) for (a, b), o in pairs.items())
    graph = Graph(tuple(Node(n, n) for n in names), edges)
    print(svg(graph, "t"), *draw(graph, 80, "utf-8").lines, sep="\\n")
"""


@pytest.mark.slow
def test_hash_seeds_do_not_move_a_line() -> None:
    texts = [
        subprocess.run(
            [sys.executable, "-c", WIDE], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("0", "1", "77")
    ]
    assert len(texts[0]) > 10_000
    assert texts[1:] == texts[:1] * 2


@pytest.mark.parametrize("count", [61, 200, 1000])
def test_a_large_fan_out_is_one_box_and_says_so(count: int) -> None:
    names = [f"train-{i:04}" for i in range(count)]
    edges = tuple(e for n in names for e in (Edge("prep", n, "table", data=True), Edge(n, "judge", "model", data=True)))
    wide = Graph((Node("prep", "prep"), *(Node(n, n) for n in names), Node("judge", "judge")), edges)
    picture = draw(wide, 80, "utf-8")
    assert f"train-0000 … {names[-1]} ×{count}" in picture.lines[1]
    assert picture.note == f"{count + 2} steps in 3 boxes: steps that stand between the same others share one"
    assert f"{count + 2} steps in 3 boxes" in svg(wide, "t")


def test_many_steps_that_are_not_alike_become_one_box_a_layer() -> None:
    names = [f"s{i:03}" for i in range(90)]
    edges = tuple(Edge(names[i // 3], names[i]) for i in range(1, 90))
    picture = draw(Graph(tuple(Node(n, n) for n in names), edges), 80, "utf-8")
    assert picture.note.startswith("90 steps in ")
    assert picture.note.endswith("one a layer")
