"""Where things come from and what became of them: one graph from raw source to alias, of nodes and edges."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum

from trainwright.core.artifact import GateResult

REUSED = "reused"
"""Name of the edge from the attempt that made something to one that was answered with it."""


class NodeKind(StrEnum):
    """What a node of the graph stands for; part of the JSON that people read, so never renamed."""

    SOURCE = "source"  # where raw data lay: a path or URI
    FILE = "file"  # one file, by its bytes
    DATASET = "dataset"
    SLICE = "slice"  # a part of a dataset version
    RUN = "run"  # a run, a group of its steps, or a collection: several that are asked for as one
    ATTEMPT = "attempt"
    ARTIFACT = "artifact"
    MODEL = "model"
    ALIAS = "alias"
    RELEASE = "release"


class Direction(StrEnum):
    """Which way the graph was walked."""

    UP = "up"
    DOWN = "down"


@dataclass(frozen=True, slots=True)
class Code:
    """The code that ran.

    Attributes:
        commit: empty outside a repository.
        tree: digest of all files that belong to it.
        dirty: whether it is not just what was committed.
    """

    commit: str
    tree: str
    dirty: bool


@dataclass(frozen=True, slots=True)
class Facets:
    """What is known of a node beside its name; what a kind does not have stays empty.

    Attributes:
        at: when it came to be: added, begun, registered, moved.
        by: who did that, or asked for it.
        reason: of an alias that was moved.
        run: of an attempt, its run's id; ``number`` and ``pipeline`` are that run's.
        state: of a run or attempt.
        fingerprint: digest of the run's.
        params: digest of the run's parameters.
        gates: checks on an attempt's results, or on a model before it was registered.
        reused_from: the attempt that really made what this one stands for, ``runs:/run/step/number``.
        same_content: addresses of other dataset versions with equal content, sorted; they are other nodes.
        equal_outputs: outputs elsewhere in the project with equal content; they are other nodes.
    """

    at: datetime | None = None
    by: str = ""
    reason: str = ""
    run: str = ""
    number: int | None = None
    pipeline: str = ""
    state: str = ""
    fingerprint: str = ""
    params: str = ""
    code: Code | None = None
    gates: tuple[GateResult, ...] = ()
    reused_from: str = ""
    same_content: tuple[str, ...] = ()
    equal_outputs: int = 0


@dataclass(frozen=True, slots=True)
class LineageNode:
    """One thing in the graph.

    Attributes:
        address: what it is, unique in the graph: two things of equal content are two nodes.
        digest: of its content; empty where there is none, or where it was not always the same.
        note: what a person wants to know beside the name; may be empty.
    """

    address: str
    kind: NodeKind
    digest: str = ""
    note: str = ""
    facets: Facets = field(default_factory=Facets)


@dataclass(frozen=True, slots=True)
class LineageEdge:
    """``after`` came of ``before``.

    Attributes:
        name: what it is called there: the input's name, the output's, the path of a file, ``reused``; may be empty.
        digest: of the content that went over; empty when none did.
    """

    before: str
    after: str
    name: str = ""
    digest: str = ""


@dataclass(frozen=True, slots=True)
class Impact:
    """How far something reaches, all of it counted, also what the graph leaves out.

    Attributes:
        runs: whose attempts came of it.
        attempts: of those.
        models: names of models with a version that came of it, sorted.
        versions: of those models.
        aliases: addresses of the aliases that point at one of the versions now, sorted.
    """

    runs: int = 0
    attempts: int = 0
    models: tuple[str, ...] = ()
    versions: int = 0
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Lineage:
    """The part of the graph that lies behind or before one thing.

    Attributes:
        asked: the address as given.
        root: the address of the node it means.
        nodes: the root first, then by distance.
        edges: from cause to effect, whatever the direction of the walk.
        impact: of a walk down; None of one up.
        omitted_runs: older runs that were counted and are not in the graph.
    """

    asked: str
    direction: Direction
    root: str
    nodes: tuple[LineageNode, ...]
    edges: tuple[LineageEdge, ...]
    impact: Impact | None = None
    omitted_runs: int = 0

    def node(self, address: str) -> LineageNode:
        """Return the node of that address.

        Raises:
            KeyError: there is none.
        """
        return self.by_address()[address]

    def by_address(self) -> dict[str, LineageNode]:
        """Return address → node."""
        return {node.address: node for node in self.nodes}

    def next(self) -> dict[str, list[str]]:
        """Return address → addresses one step further from the root, each once, in a fixed order."""
        found: dict[str, dict[str, None]] = {node.address: {} for node in self.nodes}
        for edge in self.edges:
            here, there = (edge.after, edge.before) if self.direction is Direction.UP else (edge.before, edge.after)
            found[here][there] = None
        return {address: list(others) for address, others in found.items()}


class Weaver:
    """Collects nodes and edges, each once; only for use inside one function."""

    def __init__(self) -> None:
        self.nodes: dict[str, LineageNode] = {}
        self.edges: dict[tuple[str, str, str], LineageEdge] = {}

    def add(self, node: LineageNode) -> str:
        """Add a node unless its address is known; return the address."""
        return self.nodes.setdefault(node.address, node).address

    def link(self, before: str, after: str, name: str = "", digest: str = "") -> None:
        """Add an edge unless it is known."""
        self.edges.setdefault((before, after, name), LineageEdge(before, after, name, digest))

    def told(self, asked: str, root: str, direction: Direction) -> Lineage:
        """Return what can be reached from ``root``."""
        whole = Lineage(asked, direction, root, tuple(self.nodes.values()), tuple(self.edges.values()))
        return _ordered(whole, distances(whole))


def distances(lineage: Lineage) -> dict[str, int]:
    """Return address → steps from the root, nearest first; what cannot be reached is not in it."""
    further = lineage.next()
    found = {lineage.root: 0}
    ready = [lineage.root]
    for address in ready:
        for other in further[address]:
            if other not in found:
                found[other] = found[address] + 1
                ready.append(other)
    return found


def within_depth(lineage: Lineage, depth: int) -> Lineage:
    """Return the part at most ``depth`` steps from the root; its impact stays that of the whole."""
    near = {address: steps for address, steps in distances(lineage).items() if steps <= depth}
    return _ordered(lineage, near)


def _ordered(lineage: Lineage, kept: Mapping[str, int]) -> Lineage:
    nodes = lineage.by_address()
    edges = _between(lineage.edges, kept)
    return replace(lineage, nodes=tuple(nodes[address] for address in kept), edges=edges)


def _between(edges: Iterable[LineageEdge], kept: Mapping[str, int]) -> tuple[LineageEdge, ...]:
    return tuple(edge for edge in edges if edge.before in kept and edge.after in kept)
