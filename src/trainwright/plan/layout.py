"""Where the boxes of a graph stand: layers, the order in them, and places along them (Sugiyama, Tagawa, Toda 1981).

Layers are longest paths; an edge over several layers bends in each of them; the order in a layer follows the
barycentres of its neighbours; places come as near to the neighbours as the order allows. One layout serves every
picture: a renderer says how large its boxes are and draws. Same graph, same layout: the order of the nodes settles
every tie.
"""

from bisect import bisect_right, insort
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from trainwright.plan.graph import Edge, Graph, Node, layers_of

ROUNDS = 8
"""Of sweeps down and up; pictures stop changing after about four."""

_STRAIGHT = 8
"""How much more a bend wants to stand in line with the next bend than a box with its neighbours."""

Slot = int
"""A place in a layer: a node by its position in the graph, or, behind those, a bend of a long edge."""

_Near = defaultdict[Slot, list[Slot]]


@dataclass(frozen=True, slots=True)
class Layout:
    """Layers of slots and the short edges between them.

    Attributes:
        nodes: of the graph; a slot below their number is the node at that position.
        layers: slots of each layer, in order.
        links: pairs of slots of neighbouring layers, each once, in a fixed order, with the edge that they are part of.
            Edges that hand over the same from the same node share their bends, and the first of them stands for all.
    """

    nodes: tuple[Node, ...]
    layers: tuple[tuple[Slot, ...], ...]
    links: Mapping[tuple[Slot, Slot], tuple[Edge, ...]]

    def node(self, slot: Slot) -> Node | None:
        """Return the node in a slot; None for a bend."""
        return self.nodes[slot] if slot < len(self.nodes) else None


def lay_out(graph: Graph) -> Layout:
    """Return layers with few crossings.

    Raises:
        ValueError: as ``layers_of``.
    """
    layer = layers_of(graph)
    slots = {node.name: index for index, node in enumerate(graph.nodes)}
    layers: list[list[Slot]] = [[] for _ in range(max(layer.values(), default=-1) + 1)]
    for node in graph.nodes:
        layers[layer[node.name]].append(slots[node.name])
    bends: dict[tuple[str, str, bool, int], Slot] = {}
    links: dict[tuple[Slot, Slot], tuple[Edge, ...]] = {}
    for edge in graph.edges:
        at = slots[edge.before]
        for depth in range(layer[edge.before] + 1, layer[edge.after]):
            key = (edge.before, edge.label, edge.data, depth)
            if key not in bends:
                bends[key] = len(graph.nodes) + len(bends)
                layers[depth].append(bends[key])
            links[at, bends[key]] = (*links.get((at, bends[key]), ()), edge)
            at = bends[key]
        last = (at, slots[edge.after])
        links[last] = (*links.get(last, ()), edge)
    return Layout(graph.nodes, _ordered(layers, list(links)), links)


def crossings(layers: Sequence[Sequence[Slot]], links: Sequence[tuple[Slot, Slot]]) -> int:
    """Return how many pairs of links cross."""
    place = {slot: (depth, index) for depth, layer in enumerate(layers) for index, slot in enumerate(layer)}
    count, seen, depth = 0, list[int](), -1
    for (at, _), (_, right) in sorted((place[before], place[after]) for before, after in links):
        if at != depth:
            seen, depth = [], at
        count += len(seen) - bisect_right(seen, right)
        insort(seen, right)
    return count


def spread(layout: Layout, sizes: Mapping[Slot, int], gap: int) -> dict[Slot, int]:
    """Return where each slot begins along its layer, from 0, in the unit of ``sizes``.

    Args:
        layout: any.
        sizes: of each slot along its layer.
        gap: least distance between two of them.
    """
    before, after = _sides(layout.links)
    first = len(layout.nodes)
    begins: dict[Slot, int] = {}
    for layer in layout.layers:
        at = 0
        for slot in layer:
            begins[slot] = at
            at += sizes[slot] + gap
    for sweep in range(2 * ROUNDS + 1):
        down = sweep % 2 == 0
        near = before if down else after
        for layer in layout.layers if down else reversed(layout.layers):
            wanted, weights = [], []
            for slot in layer:
                pulls = [(begins[n] + sizes[n] // 2, _STRAIGHT if min(n, slot) >= first else 1) for n in near[slot]]
                weight = sum(pull for _, pull in pulls)
                centre = sum(at * pull for at, pull in pulls) // weight if pulls else begins[slot] + sizes[slot] // 2
                wanted.append(centre - sizes[slot] // 2)
                weights.append(weight or 1)
            begins.update(zip(layer, _apart(wanted, weights, [sizes[slot] + gap for slot in layer]), strict=True))
    least = min(begins.values(), default=0)
    return {slot: at - least for slot, at in begins.items()}


def _ordered(layers: list[list[Slot]], links: Sequence[tuple[Slot, Slot]]) -> tuple[tuple[Slot, ...], ...]:
    """Sweep down and up; the order with the fewest crossings so far is kept."""
    before, after = _sides(links)
    best, fewest = [list(layer) for layer in layers], crossings(layers, links)
    for sweep in range(2 * ROUNDS):
        if not fewest:
            break
        down = sweep % 2 == 0
        near = before if down else after
        place = {slot: index for layer in layers for index, slot in enumerate(layer)}
        for layer in layers[1:] if down else reversed(layers[:-1]):
            weight = {
                slot: sum(place[n] for n in near[slot]) / len(near[slot]) if near[slot] else place[slot]
                for slot in layer
            }
            layer.sort(key=weight.__getitem__)  # stable: a tie is left as it stands
            place.update({slot: index for index, slot in enumerate(layer)})
        count = crossings(layers, links)
        if count < fewest:
            best, fewest = [list(layer) for layer in layers], count
    return tuple(tuple(layer) for layer in best)


def _sides(links: Iterable[tuple[Slot, Slot]]) -> tuple[_Near, _Near]:
    """Return the slots linked to each one from the layer before and from the layer after."""
    before: _Near = defaultdict(list)
    after: _Near = defaultdict(list)
    for left, right in links:
        before[right].append(left)
        after[left].append(right)
    return before, after


def _apart(wanted: Sequence[int], weights: Sequence[int], steps: Sequence[int]) -> list[int]:
    """Return places nearest to the wanted ones, each at least its predecessor's step behind it.

    Least squares under an order: blocks that press on one another are merged and stand at their mean (pool adjacent
    violators, Ayer et al. 1955).
    """
    blocks: list[tuple[int, int, int]] = []  # sum of weighted wishes, weight, members; wishes as if steps were nothing
    offset = 0
    offsets = []
    for wish, weight, step in zip(wanted, weights, steps, strict=True):
        offsets.append(offset)
        total, heavy, count = (wish - offset) * weight, weight, 1
        while blocks and blocks[-1][0] * heavy > total * blocks[-1][1]:
            more, mass, members = blocks.pop()
            total, heavy, count = total + more, heavy + mass, count + members
        blocks.append((total, heavy, count))
        offset += step
    places = [total // heavy for total, heavy, count in blocks for _ in range(count)]
    return [place + offset for place, offset in zip(places, offsets, strict=True)]
