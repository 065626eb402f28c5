"""The graph of a plan as a small value: boxes and arrows, before anybody says where they stand.

A node is whatever becomes one box: a step, pinned data, a fan-out, a loop, a sub-pipeline.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from trainwright.core.join import Join
from trainwright.plan.plan import GroupKind, Plan, PlannedInput, PlannedStep


@dataclass(frozen=True, slots=True)
class Node:
    """One box.

    Attributes:
        name: identifies it.
        label: what is written on it: ``train``, ``train ×12`` for members, ``train ↻6`` for rounds.
        kind: ``step``, ``register``, ``data``, ``group`` or ``on_fail``: how it looks, never where it stands.
    """

    name: str
    label: str
    kind: str = "step"


@dataclass(frozen=True, slots=True)
class Edge:
    """One arrow.

    Attributes:
        label: the outputs that are handed over; empty for an order without data.
        data: whether anything is handed over.
    """

    before: str
    after: str
    label: str = ""
    data: bool = False


@dataclass(frozen=True, slots=True)
class Graph:
    """Boxes and arrows without a circle; the order of the nodes settles every tie of the layout."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]


def graph_of(plan: Plan, *, data: bool = False) -> Graph:
    """Return the graph of a plan: its steps in its order; a step that stands for several is one box.

    Args:
        plan: any.
        data: whether pinned data has boxes too.
    """
    nodes = [Node(step.name, step.name + _mark(step), _kind(step)) for step in plan.steps]
    edges: list[Edge] = []
    for step in plan.steps:
        read: dict[str, set[str]] = {}
        for given in _inputs(step):
            if given.step is not None:
                read.setdefault(given.step, set()).add(given.output)
            elif data:
                edges.append(Edge(f"data.{given.output}", step.name, "", data=True))
        labels = {name: ", ".join(sorted(outputs)) for name, outputs in read.items()}
        edges += [Edge(name, step.name, labels.get(name, ""), name in labels) for name in step.needs]
    used = {edge.before for edge in edges}
    sources = [Node(f"data.{entry.name}", entry.name, "data") for entry in plan.data if f"data.{entry.name}" in used]
    return Graph((*sources, *nodes), tuple(dict.fromkeys(edges)))


def _kind(step: PlannedStep) -> str:
    if step.join is Join.ONE_FAILED:
        return "on_fail"
    return "group" if step.group else "register" if step.registration else "step"


def _mark(step: PlannedStep) -> str:
    """Return how often a step is made: `` ×12`` members, `` ↻6`` rounds at most, `` (3 steps)`` of a sub-pipeline."""
    group = step.group
    if group is None:
        return ""
    match group.kind:
        case GroupKind.EACH:
            return f" ×{'N' if group.items is None else len(group.items)}"
        case GroupKind.LOOP:
            return f" ↻{group.max_rounds}"
        case GroupKind.ONCE:
            return f" ({len(group.body)} step{'s' if len(group.body) > 1 else ''})"


def _inputs(step: PlannedStep) -> Iterator[PlannedInput]:
    """Yield what a step reads, and what the steps that it stands for read."""
    yield from step.inputs
    if step.group is not None:
        if step.group.over is not None:
            yield step.group.over
        for inner in step.group.body:
            yield from _inputs(inner)


def bare(graph: Graph) -> Graph:
    """Return the same order without what is handed over."""
    return Graph(graph.nodes, tuple(dict.fromkeys(Edge(edge.before, edge.after) for edge in graph.edges)))


def layers_of(graph: Graph) -> dict[str, int]:
    """Return the layer of each node: the length of the longest way to it, 0 for what needs nothing.

    Raises:
        ValueError: the graph has a circle, or an edge to a node that it has not.
    """
    after = _neighbours(graph)
    waiting = {node.name: 0 for node in graph.nodes}
    for edge in graph.edges:
        if edge.before not in waiting or edge.after not in waiting:
            raise ValueError(f"an edge from {edge.before} to {edge.after}, and no such node")
    for other in (other for others in after.values() for other in others):
        waiting[other] += 1
    layers = {name: 0 for name, count in waiting.items() if count == 0}
    ready = list(layers)
    for name in ready:
        for other in after[name]:
            layers[other] = max(layers.get(other, 0), layers[name] + 1)
            waiting[other] -= 1
            if waiting[other] == 0:
                ready.append(other)
    if len(ready) < len(waiting):
        raise ValueError("the graph has a circle")
    return {node.name: layers[node.name] for node in graph.nodes}


def reduced(graph: Graph, *, keep_data: bool = False) -> Graph:
    """Return the graph without the edges that follow from others.

    Args:
        graph: any.
        keep_data: whether an edge that hands something over stays even so.
    """
    layers = layers_of(graph)
    place = {name: 1 << index for index, name in enumerate(layers)}
    after = _neighbours(graph)
    reach: dict[str, int] = {}  # sets of nodes as the bits of one integer
    implied = set()
    for name in sorted(layers, key=layers.__getitem__, reverse=True):
        reach[name] = 0
        for other in sorted(after[name], key=layers.__getitem__):  # the nearest first: what it reaches is implied
            if reach[name] & place[other]:
                implied.add((name, other))
            reach[name] |= place[other] | reach[other]
    stays = (e for e in graph.edges if (e.before, e.after) not in implied or (keep_data and e.data))
    return Graph(graph.nodes, tuple(stays))


def without_twins(graph: Graph) -> Graph:
    """Return the graph with one box for all nodes that follow, and are followed by, the same others."""
    before: dict[str, set[str]] = {node.name: set() for node in graph.nodes}
    after: dict[str, set[str]] = {node.name: set() for node in graph.nodes}
    for edge in graph.edges:
        before[edge.after].add(edge.before)
        after[edge.before].add(edge.after)
    around = {name: (frozenset(before[name]), frozenset(after[name])) for name in before}
    return _grouped(graph, around)


def by_layer(graph: Graph) -> Graph:
    """Return the graph with one box a layer."""
    return _grouped(graph, layers_of(graph))


def _grouped(graph: Graph, keys: Mapping[str, object]) -> Graph:
    """Return one box for all nodes of the same key; it stands where the first of them stood."""
    members: dict[object, list[Node]] = {}
    for node in graph.nodes:
        members.setdefault(keys[node.name], []).append(node)
    of = {node.name: nodes[0].name for nodes in members.values() for node in nodes}
    edges: dict[tuple[str, str], Edge] = {}
    for edge in graph.edges:
        pair = of[edge.before], of[edge.after]
        known = edges.get(pair, edge)
        edges[pair] = Edge(*pair, edge.label if edge.label == known.label else "", edge.data or known.data)
    return Graph(tuple(map(_one_box, members.values())), tuple(edges.values()))


def _one_box(nodes: list[Node]) -> Node:
    if len(nodes) == 1:
        return nodes[0]
    first, last = nodes[0], nodes[-1]
    return Node(first.name, f"{first.label} … {last.label} ×{len(nodes)}", "group")


def _neighbours(graph: Graph) -> dict[str, list[str]]:
    """Return what comes right after each node, each once."""
    after: dict[str, dict[str, None]] = {node.name: {} for node in graph.nodes}
    for edge in graph.edges:
        after.setdefault(edge.before, {})[edge.after] = None
    return {name: list(others) for name, others in after.items()}
