"""A graph as a small SVG that reads on light and on dark: boxes bring their own ground, lines are of a middle grey.

It has no style sheet, no script, no font of its own and no identifiers: any number of them may stand in one page.
"""

from collections import defaultdict
from dataclasses import dataclass, field
from html import escape

from trainwright.core.width import cell_width
from trainwright.plan.graph import Edge, Graph, Node, by_layer, reduced, without_twins
from trainwright.plan.layout import Layout, Slot, lay_out, spread

MOST_BOXES = 60
"""More than these are folded: steps that are alike share a box, then the steps of a layer."""

WIDEST = 1000
"""Pixels of a drawing to the right; a wider one goes down."""

_LINE, _INK = "#768390", "#1f2328"
_KINDS = {
    "step": ("#e8f0fa", "#5b7fa6"),
    "register": ("#e2f4e6", "#4a8f5c"),
    "data": ("#f0eafa", "#7d64a8"),
    "on_fail": ("#fbe9e7", "#b3564b"),
    "group": ("#fdf3dc", "#a6803a"),
    "artifact": ("#eceff2", "#768390"),
    "alias": ("#fdf0f5", "#a8557d"),
}
"""Filling and frame of a box; its text is dark on any of them."""

_FONT = "font-family=\"ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace\""
_CELL, _SMALL_CELL = 8, 7
"""Pixels of a character of a box and of a line, at most, in any monospaced font of 13 and 11 pixels."""

_HEIGHT, _LANE, _GAP, _BEND, _MARGIN = 36, 18, 16, 12, 12
"""Of a box; between two lines that leave one box to the right; between two boxes; of a bend; around all, in pixels."""

_CURVE, _STUB = 44, 20
"""Room for lines to change places between two layers; straight piece of a line that has a label beside it."""


@dataclass(frozen=True, slots=True)
class Box:
    """Where a node stands, in pixels."""

    node: Node
    x: int
    y: int
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Curve:
    """A piece of a line from one layer to the next: straight to ``turn``, then a curve; points are (x, y).

    Attributes:
        label: beside its straight part; empty but where it leaves a box.
        head: whether it ends in a box.
    """

    start: tuple[int, int]
    turn: tuple[int, int]
    end: tuple[int, int]
    data: bool
    label: str = ""
    head: bool = False


@dataclass(frozen=True, slots=True)
class Drawing:
    """All that is on the picture.

    Attributes:
        right: whether layers follow one another to the right, else downwards.
        note: what was left out; empty when nothing was.
    """

    width: int
    height: int
    right: bool
    boxes: tuple[Box, ...]
    curves: tuple[Curve, ...]
    note: str = ""


def svg(graph: Graph, title: str) -> str:
    """Return the picture of a graph as the text of an SVG file; same graph, same text."""
    drawing = arrange(graph)
    width, height = drawing.width, drawing.height + (20 if drawing.note else 0)
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}" style="max-width:100%;height:auto"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" {_FONT} font-size="13">',
        f"<title>{escape(title)}</title>",
        *(_curve(curve, right=drawing.right) for curve in drawing.curves),
        *dict.fromkeys(_label(curve, right=drawing.right) for curve in drawing.curves if curve.label),
        *map(_box, drawing.boxes),
    ]
    if drawing.note:
        at = f'x="{_MARGIN}" y="{drawing.height + 8}"'
        parts.append(f'<text {at} font-size="11" fill="{_LINE}">{escape(drawing.note)}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def arrange(graph: Graph) -> Drawing:
    """Return where everything stands: to the right when that is not wider than ``WIDEST``, else downwards."""
    folded, note = _folded(graph)
    layout = lay_out(reduced(folded, keep_data=True))
    right = _Arrangement(layout, right=True).drawing(note)
    return right if right.width <= WIDEST else _Arrangement(layout, right=False).drawing(note)


def _folded(graph: Graph) -> tuple[Graph, str]:
    if len(graph.nodes) <= MOST_BOXES:
        return graph, ""
    twins = without_twins(graph)
    folded, how = (twins, "alike") if len(twins.nodes) <= MOST_BOXES else (by_layer(graph), "of one layer")
    return folded, f"{len(graph.nodes)} steps in {len(folded.nodes)} boxes: steps {how} share one"


@dataclass(slots=True)
class _Arrangement:
    """Places in terms of (major, minor): major goes from layer to layer, minor along a layer."""

    layout: Layout
    right: bool
    ports: dict[Slot, list[tuple[str, bool]]] = field(default_factory=dict)
    sizes: dict[Slot, int] = field(default_factory=dict)
    begins: dict[Slot, int] = field(default_factory=dict)
    layers: list[tuple[int, int, int]] = field(default_factory=list)

    def drawing(self, note: str) -> Drawing:
        """Return it in pixels."""
        self._ports()
        self.sizes = {s: self._size(s) for layer in self.layout.layers for s in layer}
        self.begins = spread(self.layout, self.sizes, _GAP)
        self._stack()
        boxes = [
            self._box(slot, start)
            for layer, (start, _, _) in zip(self.layout.layers, self.layers, strict=True)
            for slot in layer
            if self.layout.node(slot)
        ]
        place = {slot: depth for depth, layer in enumerate(self.layout.layers) for slot in layer}
        curves = [
            self._curve(place[before], before, after, edge)
            for (before, after), edges in self.layout.links.items()
            for edge in {(e.label, e.data): e for e in edges}.values()
        ]
        ends = [self.begins[slot] + size for slot, size in self.sizes.items()]
        along = max(ends, default=0) + 2 * _MARGIN
        across = (self.layers[-1][1] if self.layers else 0) + _MARGIN
        width, height = (across, along) if self.right else (along, across)
        return Drawing(width, height, self.right, tuple(boxes), tuple(curves), note)

    def _ports(self) -> None:
        """List what leaves each node: one port for each thing that it hands over, in the order of where it goes."""
        found: dict[Slot, dict[tuple[str, bool], None]] = defaultdict(dict)
        place = {slot: index for layer in self.layout.layers for index, slot in enumerate(layer)}
        for (before, _), edges in sorted(self.layout.links.items(), key=lambda link: place[link[0][1]]):
            found[before].update(dict.fromkeys((edge.label, edge.data) for edge in edges))
        self.ports = {slot: list(ports) for slot, ports in found.items()}

    def _room(self, label: str) -> int:
        """Return the room of a port along the side of its box."""
        return _LANE if self.right or not label else _SMALL_CELL * cell_width(label) + _LANE

    def _size(self, slot: Slot) -> int:
        node = self.layout.node(slot)
        if node is None:
            return _BEND
        ports = sum(self._room(label) for label, _ in self.ports.get(slot, ()))
        return max(ports + 8, _HEIGHT if self.right else self._width(node))

    def _stack(self) -> None:
        """Place the layers: where each begins, where it ends, and where lines may begin to turn behind it."""
        major = _MARGIN
        for layer in self.layout.layers:
            nodes = [node for slot in layer if (node := self.layout.node(slot))]
            end = major + (max(map(self._width, nodes)) if self.right else _HEIGHT)
            labels = [cell_width(label) for s in layer if self.layout.node(s) for label, _ in self.ports.get(s, ())]
            longest = max(labels, default=0)
            turn = end + (0 if not longest else _SMALL_CELL * longest + 10 if self.right else _STUB)
            self.layers.append((major, end, turn))
            major = turn + _CURVE

    def _box(self, slot: Slot, start: int) -> Box:
        node = self.layout.nodes[slot]
        minor, size = _MARGIN + self.begins[slot], self.sizes[slot]
        if self.right:
            return Box(node, start, minor, self._width(node), size)
        return Box(node, minor, start, size, _HEIGHT)

    def _curve(self, depth: int, before: Slot, after: Slot, edge: Edge) -> Curve:
        start, end, turn = self.layers[depth]
        source = self.layout.node(before)
        if source is not None:
            start = start + self._width(source) if self.right else end
        leaves, enters = self._leaves(before, edge), _MARGIN + self.begins[after] + self.sizes[after] // 2
        return Curve(
            start=self._point(start, leaves),
            turn=self._point(turn, leaves),
            end=self._point(self.layers[depth + 1][0], enters),
            data=edge.data,
            label=edge.label if source else "",
            head=self.layout.node(after) is not None,
        )

    def _leaves(self, slot: Slot, edge: Edge) -> int:
        """Return where along its layer a line leaves a slot."""
        at = _MARGIN + self.begins[slot] + self.sizes[slot] // 2
        if self.layout.node(slot) is None:
            return at
        rooms = [self._room(label) for label, _ in self.ports[slot]]
        index = self.ports[slot].index((edge.label, edge.data))
        if self.right:
            return at - sum(rooms) // 2 + sum(rooms[:index]) + rooms[index] // 2
        return at - sum(rooms) // 2 + sum(rooms[:index]) + _LANE // 2 if len(rooms) > 1 or edge.label else at

    @staticmethod
    def _width(node: Node) -> int:
        return _CELL * cell_width(node.label) + 24

    def _point(self, major: int, minor: int) -> tuple[int, int]:
        return (major, minor) if self.right else (minor, major)


def _box(box: Box) -> str:
    fill, frame = _KINDS.get(box.node.kind, _KINDS["step"])
    shape = f'x="{box.x}" y="{box.y}" width="{box.width}" height="{box.height}"'
    round_ = box.height // 2 if box.node.kind == "data" else 5
    middle = f'x="{box.x + box.width // 2}" y="{box.y + box.height // 2 + 4}"'
    rect = f'<rect {shape} rx="{round_}" fill="{fill}" stroke="{frame}"/>'
    if box.node.kind == "group":  # a second sheet behind the first
        rect = f'<rect {shape} rx="{round_}" fill="{fill}" stroke="{frame}" transform="translate(4,4)"/>{rect}'
    text = f'<text {middle} text-anchor="middle" fill="{_INK}">'
    return f"<g>{rect}{text}{escape(box.node.label)}</text></g>"


def _curve(curve: Curve, *, right: bool) -> str:
    (x, y), (turn_x, turn_y), (end_x, end_y) = curve.start, curve.turn, curve.end
    half = (end_x - turn_x) // 2 if right else (end_y - turn_y) // 2
    bends = (
        f"{turn_x + half},{turn_y} {end_x - half},{end_y}"
        if right
        else f"{turn_x},{turn_y + half} {end_x},{end_y - half}"
    )
    dash = "" if curve.data else ' stroke-dasharray="5 4"'
    path = f'<path d="M{x},{y} L{turn_x},{turn_y} C{bends} {end_x},{end_y}" fill="none" stroke="{_LINE}"{dash}/>'
    if not curve.head:
        return path
    wings = (
        f"{end_x - 8},{end_y - 4} {end_x - 8},{end_y + 4}"
        if right
        else f"{end_x - 4},{end_y - 8} {end_x + 4},{end_y - 8}"
    )
    return f'{path}<polygon points="{end_x},{end_y} {wings}" fill="{_LINE}"/>'


def _label(curve: Curve, *, right: bool) -> str:
    x, y = (curve.start[0] + 5, curve.start[1] - 4) if right else (curve.start[0] + 5, curve.start[1] + 14)
    return f'<text x="{x}" y="{y}" font-size="11" fill="{_LINE}">{escape(curve.label)}</text>'
