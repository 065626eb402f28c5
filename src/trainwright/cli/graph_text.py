"""A graph drawn with lines and boxes of text, as wide as the terminal at most."""

from collections import defaultdict
from dataclasses import dataclass, field, replace

from trainwright.cli.graph_routes import Routes, least_size, nets_of, route
from trainwright.core.width import cell_width, cut
from trainwright.plan.graph import Graph, bare, by_layer, reduced, without_twins
from trainwright.plan.layout import Layout, Slot, lay_out, spread

MOST_BOXES = 60
"""More than these are no longer followed by eye: steps that are alike share a box, then the steps of a layer."""

_NORTH, _EAST, _SOUTH, _WEST = 1, 2, 4, 8
_LINES = " ╵╶└╷│┌├╴┘─┴┐┤┬┼"
"""Each line character stands where the bits of its directions say."""

_ASCII = " |-+||++-+-+++++"
_FANCY = _LINES + "▼▶…×"

_GAP_DOWN, _GAP_RIGHT = 2, 0
"""Between two boxes of a layer: columns when it goes down, rows when it goes to the right."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A drawing.

    Attributes:
        lines: of text, without blanks at their ends.
        width: columns of the longest.
        note: what was left out to make it fit; empty when nothing was.
    """

    lines: tuple[str, ...]
    width: int
    note: str = ""


def draw(graph: Graph, columns: int, encoding: str) -> Picture:
    """Return the lowest drawing that fits ``columns``: downwards or to the right, folded as far as it has to be.

    Edges that follow from others are left out. A crossing shows the upright line alone; lines that meet show it.
    """
    fancy = _can_say(_FANCY, encoding)
    full = bare(graph)
    twins, layers = without_twins(full), by_layer(full)
    if len(full.nodes) <= MOST_BOXES:
        fitting = _fitting(_sayable(full, columns, encoding), columns, fancy=fancy)
        if fitting:
            return fitting
    count = f"{len(full.nodes)} steps in {{}} boxes: "
    if len(twins.nodes) <= MOST_BOXES and len(twins.nodes) < len(full.nodes):
        fitting = _fitting(_sayable(twins, columns, encoding), columns, fancy=fancy)
        if fitting:
            note = count.format(len(twins.nodes)) + "steps that stand between the same others share one"
            return replace(fitting, note=note)
    picture = _picture(_sayable(layers, columns, encoding), down=True, fancy=fancy)
    few = len(layers.nodes) < len(full.nodes)
    return replace(picture, note=count.format(len(layers.nodes)) + "one a layer" if few else "")


def _fitting(graph: Graph, columns: int, *, fancy: bool) -> Picture | None:
    """Return the lower one of the two drawings that fit; None when neither does."""
    found = (_picture(graph, down=down, fancy=fancy) for down in (True, False))
    return min((p for p in found if p.width <= columns), key=lambda p: len(p.lines), default=None)


def _can_say(text: str, encoding: str) -> bool:
    try:
        text.encode(encoding)
    except (UnicodeError, LookupError):
        return False
    return True


def _sayable(graph: Graph, columns: int, encoding: str) -> Graph:
    """Return the graph with labels that the terminal can show, none wider than it."""
    mark = "…" if _can_say("…", encoding) else "..."
    nodes = []
    for node in graph.nodes:
        label = node.label
        if not _can_say(label, encoding):
            plain = label.replace("…", "...").replace("×", "x").replace("↻", "<=")
            label = plain.encode("ascii", "backslashreplace").decode()
        nodes.append(replace(node, label=cut(label, max(columns - 6, 4), mark)))
    return Graph(tuple(nodes), graph.edges)


def _picture(graph: Graph, *, down: bool, fancy: bool) -> Picture:
    layout = lay_out(reduced(graph))
    nets = nets_of(layout)
    entering: dict[Slot, int] = defaultdict(int)
    for net in (net for channel in nets for net in channel):
        for slot in net.targets:
            entering[slot] += 1
    sizes = dict.fromkeys((slot for layer in layout.layers for slot in layer), 1)
    for slot, node in enumerate(layout.nodes):
        sizes[slot] = max(least_size(entering[slot]), cell_width(node.label) + 4 if down else 3)
    gap = _GAP_DOWN if down else _GAP_RIGHT
    routes = route(layout, nets, sizes, spread(layout, sizes, gap), gap)
    sheet = _Sheet(down=down)
    _draw_all(sheet, layout, routes, sizes)
    return sheet.picture(fancy=fancy)


def _draw_all(sheet: "_Sheet", layout: Layout, routes: Routes, sizes: dict[Slot, int]) -> None:
    """Draw layer by layer: its boxes and bends, then the channel behind it."""
    major = 0
    for depth, layer in enumerate(layout.layers):
        nodes = [node for slot in layer if (node := layout.node(slot))]
        thick = 3 if sheet.down else max(cell_width(node.label) for node in nodes) + 4
        for slot in layer:
            node = layout.node(slot)
            if node is None:
                sheet.line(("bend", slot), (major, routes.outs[slot]), (major + thick - 1, routes.outs[slot]))
            else:
                sheet.box(node.label, (major, routes.begins[slot]), (major + thick - 1, sizes[slot]))
        major += thick
        if depth < len(routes.nets):
            major = _draw_channel(sheet, layout, routes, depth, major)


def _draw_channel(sheet: "_Sheet", layout: Layout, routes: Routes, depth: int, start: int) -> int:
    """Draw the nets behind a layer; return where the next layer begins."""
    used = [routes.tracks[net] for net in routes.nets[depth] if net in routes.tracks]
    tracks = max(used, default=-1) + 1
    step, first = (1, start) if sheet.down else (2, start + 1)
    end = start + (tracks + 1 if sheet.down else 2 * tracks + 2 if tracks else 3)
    for net in routes.nets[depth]:
        track = first + step * routes.tracks.get(net, 0)
        places = routes.ends(net)
        if len(places) > 1:
            sheet.line(net, (track, min(places)), (track, max(places)))
        for slot in net.sources:
            sheet.line(net, (start - 1, routes.outs[slot]), (track, routes.outs[slot]))
        for slot in net.targets:
            bend = layout.node(slot) is None
            sheet.line(net, (track, routes.ports[net, slot]), (end if bend else end - 1, routes.ports[net, slot]))
            if not bend:
                sheet.arrow((end - 1, routes.ports[net, slot]))
    return end


@dataclass(slots=True)
class _Sheet:
    """Cells, addressed by (major, minor): downwards major is the row, to the right it is the column.

    Attributes:
        lines: of each cell, what its lines are part of and the directions in which they leave it.
        texts: what stands in cells instead of a line, by row and column.
    """

    down: bool
    lines: dict[tuple[int, int], dict[object, int]] = field(default_factory=lambda: defaultdict(dict))
    texts: dict[tuple[int, int], str] = field(default_factory=dict)
    arrows: set[tuple[int, int]] = field(default_factory=set)

    def line(self, of: object, start: tuple[int, int], end: tuple[int, int]) -> None:
        """Draw a straight line between the middles of two cells; a line to its own cell is none."""
        (row, column), (last_row, last_column) = sorted([self._cell(start), self._cell(end)])
        for at in range(row, last_row):
            self._add((at, column), of, _SOUTH)
            self._add((at + 1, column), of, _NORTH)
        for at in range(column, last_column):
            self._add((row, at), of, _EAST)
            self._add((row, at + 1), of, _WEST)

    def box(self, label: str, start: tuple[int, int], extent: tuple[int, int]) -> None:
        """Draw a box from a corner; ``extent`` is the last major place and the size along the layer."""
        row, column = self._cell(start)
        last_row, last_column = self._cell((extent[0], start[1] + extent[1] - 1))
        for at in (row, last_row):
            self._frame((at, column), (at, last_column))
        for at in (column, last_column):
            self._frame((row, at), (last_row, at))
        middle = (row + last_row) // 2
        at = column + 1 + (last_column - column - 1 - cell_width(label)) // 2
        self.texts[middle, at] = label

    def arrow(self, cell: tuple[int, int]) -> None:
        """Put the head of an arrow into a cell."""
        self.arrows.add(self._cell(cell))

    def picture(self, *, fancy: bool) -> Picture:
        """Return what was drawn, in box-drawing characters or in ASCII."""
        marks, head = (_LINES, "▼" if self.down else "▶") if fancy else (_ASCII, "v" if self.down else ">")
        cells = {cell: marks[_seen(lines)] for cell, lines in self.lines.items()}
        cells |= dict.fromkeys(self.arrows, head) | self.texts
        rows: dict[int, dict[int, str]] = defaultdict(dict)
        for (row, column), text in cells.items():
            rows[row][column] = text
        lines = [_row(rows[row]) for row in range(max(rows, default=-1) + 1)]
        return Picture(tuple(lines), max(map(cell_width, lines), default=0))

    def _cell(self, place: tuple[int, int]) -> tuple[int, int]:
        return place if self.down else (place[1], place[0])

    def _frame(self, start: tuple[int, int], end: tuple[int, int]) -> None:
        self.line("box", *((start, end) if self.down else (start[::-1], end[::-1])))

    def _add(self, cell: tuple[int, int], of: object, direction: int) -> None:
        self.lines[cell][of] = self.lines[cell].get(of, 0) | direction


def _seen(lines: dict[object, int]) -> int:
    """Return the directions that a cell shows: of two lines that cross, the upright one alone."""
    together = 0
    for directions in lines.values():
        together |= directions
    crossing = len(lines) > 1 and sorted(lines.values()) == [_NORTH | _SOUTH, _EAST | _WEST]
    return _NORTH | _SOUTH if crossing else together


def _row(cells: dict[int, str]) -> str:
    text, at = "", 0
    for column in sorted(cells):
        if column >= at:  # a label covers the cells behind its first one
            text += " " * (column - at) + cells[column]
            at = column + cell_width(cells[column])
    return text
