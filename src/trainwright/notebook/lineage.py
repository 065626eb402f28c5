"""The lineage of something as boxes and arrows, for the layout that every drawing has."""

from trainwright.core.lineage import REUSED, Lineage, LineageNode, NodeKind
from trainwright.plan.graph import Edge, Graph, Node

_KINDS = {
    NodeKind.SOURCE: "data",
    NodeKind.FILE: "data",
    NodeKind.DATASET: "data",
    NodeKind.SLICE: "data",
    NodeKind.RUN: "group",
    NodeKind.ATTEMPT: "step",
    NodeKind.ARTIFACT: "artifact",
    NodeKind.MODEL: "register",
    NodeKind.ALIAS: "alias",
    NodeKind.RELEASE: "alias",
}

_LONGEST = 48
"""Characters of a label; the end of a longer one is what tells it apart."""


def picture(lineage: Lineage) -> Graph:
    """Return the boxes of a lineage, causes before effects; what was only reused is led to by a dashed line."""
    nodes = tuple(Node(node.address, _label(node), _KINDS[node.kind]) for node in lineage.nodes)
    edges = (Edge(edge.before, edge.after, "", data=edge.name != REUSED) for edge in lineage.edges)
    return Graph(nodes, tuple(dict.fromkeys(edges)))


def _label(node: LineageNode) -> str:
    text = node.address
    if node.kind is NodeKind.ATTEMPT:
        _, step, number = text.removeprefix("runs:/").split("/")
        facets = node.facets
        text = f"{facets.pipeline} #{facets.number} {step}" if facets.number else step
        text += f" (try {number})" if number != "1" else ""
    elif node.kind is NodeKind.ARTIFACT:
        text = "/".join(text.split("/")[2:])
    return text if len(text) <= _LONGEST else f"…{text[1 - _LONGEST :]}"
