"""The graph of a plan, and what may be left out of it."""

from dataclasses import replace

import pytest

from build import content, plan, register, step
from trainwright.cli.graph_text import draw
from trainwright.core.artifact import ArtifactKind, PinnedData
from trainwright.core.ids import StepName
from trainwright.core.join import Join
from trainwright.plan.graph import Edge, Graph, Node, bare, by_layer, graph_of, layers_of, reduced, without_twins
from trainwright.plan.plan import Group, GroupKind, PlannedInput


def graph(arrows: str) -> Graph:
    """``a>b`` is an arrow, ``a`` a node."""
    pairs = [word.split(">") for word in arrows.split()]
    names = dict.fromkeys(name for pair in pairs for name in pair)
    edges = tuple(Edge(pair[0], pair[1]) for pair in pairs if len(pair) > 1)
    return Graph(tuple(Node(name, name) for name in names), edges)


def arrows(of: Graph) -> str:
    return " ".join(sorted(f"{e.before}>{e.after}" for e in of.edges))


PLAN = plan(
    step("prep", reads=["data.raw"], out={"table": "dataset", "stats": "file"}),
    step("train", reads=["prep.table", "prep.stats"], out={"model": "model"}),
    step("judge", needs=["prep"], reads=["train.model"]),
    register("register"),
    data=(PinnedData("raw", "asked", "address", content("raw")), PinnedData("idle", "b", "c", content("idle"))),
)


def test_a_plan_becomes_boxes_and_arrows_with_what_is_handed_over() -> None:
    found = graph_of(PLAN)
    assert [(n.name, n.kind) for n in found.nodes] == [
        ("prep", "step"), ("train", "step"), ("judge", "step"), ("register", "register")
    ]  # fmt: skip
    assert Edge("prep", "train", "stats, table", data=True) in found.edges
    assert Edge("prep", "judge") in found.edges
    assert Edge("judge", "register") in found.edges
    assert Edge("train", "register", "model", data=True) in found.edges


def test_pinned_data_that_is_read_has_a_box_when_asked_for() -> None:
    found = graph_of(PLAN, data=True)
    assert found.nodes[0] == Node("data.raw", "raw", "data")
    assert found.edges[0] == Edge("data.raw", "prep", "", data=True)
    assert all(node.label != "idle" for node in found.nodes)


GROUPS = ["eval ×3", "more ×N", "tune ↻6", "sub (2 steps)"]


def test_a_step_that_stands_for_several_is_one_box_with_a_mark() -> None:
    each = Group(GroupKind.EACH, (step("eval.*", reads=["train.model", "data.raw"]),), items=(1, 2, 3))
    names = PlannedInput("list.names", StepName("list"), "names", ArtifactKind.FILE)
    of = plan(
        step("list", out={"names": "file"}),
        step("train", out={"model": "model"}),
        replace(step("eval", needs=["train"]), group=each),
        replace(step("more", needs=["list"]), group=Group(GroupKind.EACH, (step("more.*"),), over=names)),
        replace(step("tune", needs=["eval"]), group=Group(GroupKind.LOOP, (step("tune.*"),), max_rounds=6)),
        replace(step("sub", needs=["eval"]), group=Group(GroupKind.ONCE, (step("sub.a"), step("sub.b")))),
        data=PLAN.data,
    )
    found = graph_of(of, data=True)
    assert [node.label for node in found.nodes if node.kind == "group"] == [
        "eval ×3",
        "more ×N",
        "tune ↻6",
        "sub (2 steps)",
    ]
    assert {e for e in found.edges if e.data} == {
        Edge("data.raw", "eval", "", data=True),
        Edge("train", "eval", "model", data=True),
        Edge("list", "more", "names", data=True),
    }
    assert "tune <=6" in "\n".join(draw(graph_of(of), 80, "ascii").lines)


def test_what_follows_a_failure_has_a_kind_of_its_own() -> None:
    of = plan(step("train"), replace(step("train.on_fail", needs=["train"]), join=Join.ONE_FAILED))
    assert [node.kind for node in graph_of(of).nodes] == ["step", "on_fail"]


def test_edges_that_follow_from_others_can_be_left_out() -> None:
    found = graph_of(PLAN)
    assert arrows(reduced(found)) == "judge>register prep>train train>judge"
    assert arrows(reduced(found, keep_data=True)) == "judge>register prep>train train>judge train>register"
    assert all(not edge.data and not edge.label for edge in bare(found).edges)


def test_a_layer_is_the_length_of_the_longest_way() -> None:
    assert layers_of(graph("a>b b>d a>d x>d d>e y")) == {"a": 0, "b": 1, "d": 2, "x": 0, "e": 3, "y": 0}


@pytest.mark.parametrize("arrows", ["a>b b>a", "a>b b>c c>b"])
def test_a_circle_has_no_layers(arrows: str) -> None:
    with pytest.raises(ValueError, match="circle"):
        layers_of(graph(arrows))


def test_an_edge_needs_both_its_nodes() -> None:
    with pytest.raises(ValueError, match="no such node"):
        layers_of(Graph((Node("a", "a"),), (Edge("a", "b"),)))


def test_what_stands_between_the_same_others_shares_a_box() -> None:
    wide = graph(" ".join(f"prep>t{i} t{i}>judge" for i in range(5)) + " prep>odd odd>other")
    found = without_twins(wide)
    assert [node.label for node in found.nodes] == ["prep", "t0 … t4 ×5", "judge", "odd", "other"]
    assert arrows(found) == "odd>other prep>odd prep>t0 t0>judge"


def test_a_shared_box_keeps_the_name_of_what_all_hand_over() -> None:
    edges = tuple(e for i in "123" for e in (Edge("p", i, "table", data=True), Edge(i, "j", f"m{i}", data=True)))
    found = without_twins(Graph(tuple(Node(n, n) for n in "p123j"), edges))
    assert found.edges == (Edge("p", "1", "table", data=True), Edge("1", "j", "", data=True))


def test_at_worst_a_layer_is_one_box() -> None:
    found = by_layer(graph("a>c a>d b>d d>e"))
    assert [node.label for node in found.nodes] == ["a … b ×2", "c … d ×2", "e"]
    assert arrows(reduced(found)) == "a>c c>e"
