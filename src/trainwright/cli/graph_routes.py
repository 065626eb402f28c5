"""Where the lines of a drawn graph run on a grid of cells, so that each line can be followed by eye.

Layers lie one behind the other along the *major* axis (down, or to the right); ``minor`` is the place along a layer.
Between two layers lies a channel. Links from several slots to the same targets share one line there, a *net*: it leaves
each source straight, runs along one track of the channel, and enters each target straight. No two nets ever share a
column, so they meet only where they cross.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from trainwright.plan.layout import Layout, Slot


@dataclass(frozen=True, slots=True)
class Net:
    """Lines from each of the sources to each of the targets, all of neighbouring layers."""

    sources: tuple[Slot, ...]
    targets: tuple[Slot, ...]


@dataclass(slots=True)
class Routes:
    """Where everything stands along its layer.

    Attributes:
        begins: of each slot.
        outs: where a slot's line leaves it.
        ports: where a net enters one of its targets.
        nets: of the channel behind each layer but the last.
        tracks: of each net; a net that runs straight has none.
    """

    begins: dict[Slot, int]
    outs: dict[Slot, int] = field(default_factory=dict)
    ports: dict[tuple[Net, Slot], int] = field(default_factory=dict)
    nets: list[list[Net]] = field(default_factory=list)
    tracks: dict[Net, int] = field(default_factory=dict)

    def ends(self, net: Net) -> set[int]:
        """Return every place along the layer where the net leaves or enters something."""
        return {*(self.outs[slot] for slot in net.sources), *(self.ports[net, slot] for slot in net.targets)}


def nets_of(layout: Layout) -> list[list[Net]]:
    """Return the nets of each channel, in the order of their first sources."""
    targets: dict[Slot, list[Slot]] = defaultdict(list)
    for before, after in layout.links:
        targets[before].append(after)
    found = []
    for layer in layout.layers[:-1]:
        shared: dict[tuple[Slot, ...], list[Slot]] = defaultdict(list)
        for slot in layer:
            if slot in targets:
                shared[tuple(sorted(targets[slot]))].append(slot)
        found.append([Net(tuple(sources), to) for to, sources in shared.items()])
    return found


def route(
    layout: Layout, nets: list[list[Net]], sizes: Mapping[Slot, int], begins: Mapping[Slot, int], gap: int
) -> Routes:
    """Return where the lines run; slots are moved along their layer where a net had no column of its own.

    Args:
        layout: of the graph.
        nets: of the layout.
        sizes: of each slot along its layer: 1 for a bend, ``least_size`` or more for a node.
        begins: where each slot would like to begin.
        gap: least distance of two slots.
    """
    routes = Routes(dict(begins), nets=nets)
    for depth, layer in enumerate(layout.layers):
        entering: dict[Slot, list[Net]] = defaultdict(list)
        taken: dict[int, Net] = {}
        for net in nets[depth - 1] if depth else ():
            taken.update({routes.outs[slot]: net for slot in net.sources})
            for slot in net.targets:
                entering[slot].append(net)
        at = 0
        for slot in layer:
            come = sorted(entering[slot], key=lambda net: _mean([routes.outs[s] for s in net.sources]))
            begin, inside = max(at, routes.begins[slot]), 0 if layout.node(slot) is None else 1
            while (ports := _ports(begin + inside, begin + sizes[slot] - inside, come, taken)) is None:
                begin += 1
            routes.ports.update({(net, slot): port for net, port in zip(come, ports, strict=True)})
            routes.begins[slot] = begin
            routes.outs[slot] = begin + sizes[slot] // 2
            at = begin + sizes[slot] + gap
        if depth:
            _choose_tracks(routes, nets[depth - 1])
    return routes


def least_size(entering: int) -> int:
    """Return how large a node has to be along its layer for so many nets to enter it."""
    return max(3, 2 * entering + 1)


def _ports(start: int, end: int, nets: Sequence[Net], taken: Mapping[int, Net]) -> list[int] | None:
    """Return a column for each net in ``start..end-1``, in order; None when there are too few.

    Args:
        start: first column.
        end: behind the last one.
        nets: that enter here, from left to right.
        taken: columns in which nets come down into this channel; no other net may enter there.
    """
    ports: list[int] = []
    middle = (start + end - 1) // 2
    for index, net in enumerate(nets):
        first = ports[-1] + 1 if ports else start
        free = [c for c in range(first, end - (len(nets) - 1 - index)) if taken.get(c, net) == net]
        if not free:
            return None
        straight = [c for c in free if c in taken]
        wanted = min(straight, key=lambda c: abs(c - middle)) if straight else middle + 2 * index - (len(nets) - 1)
        ports.append(min(free, key=lambda c: abs(c - wanted)))
    return ports


def _choose_tracks(routes: Routes, nets: Sequence[Net]) -> None:
    """Give each net of one channel a track, so that few lines cross and few tracks are needed."""
    order: list[Net] = []
    for net in nets:
        if len(routes.ends(net)) > 1:
            costs = [
                sum(_crossings(routes, other, net) for other in order[:place])
                + sum(_crossings(routes, net, other) for other in order[place:])
                for place in range(len(order) + 1)
            ]
            order.insert(costs.index(min(costs)), net)
    for place, net in enumerate(order):
        low, high = min(routes.ends(net)), max(routes.ends(net))
        above = (other for other in order[:place] if min(routes.ends(other)) <= high + 1)
        touching = (routes.tracks[other] for other in above if max(routes.ends(other)) >= low - 1)
        routes.tracks[net] = max(touching, default=-1) + 1


def _crossings(routes: Routes, upper: Net, lower: Net) -> int:
    """Return how often two nets cross when one has a track before the other's."""
    low, high = min(routes.ends(upper)), max(routes.ends(upper))
    count = sum(low < routes.outs[slot] < high for slot in lower.sources)
    low, high = min(routes.ends(lower)), max(routes.ends(lower))
    return count + sum(low < routes.ports[upper, slot] < high for slot in upper.targets)


def _mean(places: Sequence[int]) -> float:
    return sum(places) / len(places)
