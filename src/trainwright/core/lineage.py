"""Where things come from: one graph from raw source to alias."""

from dataclasses import dataclass, field
from enum import StrEnum


class NodeKind(StrEnum):
    """What a node of the graph stands for."""

    SOURCE = "source"
    DATASET = "dataset"
    STEP = "step"
    ARTIFACT = "artifact"
    MODEL = "model"
    ALIAS = "alias"


@dataclass(frozen=True, slots=True)
class LineageNode:
    """One thing in the graph.

    Attributes:
        address: unique: ``models/digits@candidate``, ``runs:/id/train``, ``datasets/digits@1``, a URI.
        note: what a person wants to know beside the name; may be empty.
        digest: of its content; empty for steps and aliases.
        made_from: what it directly came from, in order.
    """

    address: str
    kind: NodeKind
    note: str = ""
    digest: str = ""
    made_from: tuple["LineageNode", ...] = field(default=())
