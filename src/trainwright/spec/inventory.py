"""A pretended inventory: the nodes that a project schedules on, instead of the machine that it is on.

A file has ``nodes:``, each a node or ``count:`` equal ones, or it is the keys of a single node.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, Field, PlainValidator, ValidationError, WithJsonSchema
from pydantic_core import ErrorDetails

from trainwright.core import quantity
from trainwright.core.node import WHOLE, Device, Node
from trainwright.core.resources import Resources
from trainwright.spec.findings import Findings, WrongValueError, refuse, shape, show, suggest
from trainwright.spec.kinds.kind import SpecModel
from trainwright.spec.kinds.pool import MOST_NODES, GpusModel
from trainwright.spec.models import names_of
from trainwright.spec.names import check_name
from trainwright.spec.reader import Tree, read
from trainwright.spec.shape import place, translate

NUMBER = "{n}"
"""In the name of several nodes: stands for 1, 2, …"""

ALONE = "local"
"""Name of a node that has none."""


def _amount(what: str) -> PlainValidator:
    read_amount = quantity.cpu_milli if what == "cpu" else quantity.memory_bytes

    def check(value: object) -> int:
        try:
            return read_amount(value)  # type: ignore[arg-type]  # anything but an amount is refused there
        except (ValueError, TypeError) as error:
            raise WrongValueError("TW1016", str(error)) from error

    return PlainValidator(check)


def _listed(value: object) -> object:
    return [value] if isinstance(value, dict) else value


_AMOUNT = WithJsonSchema({"type": ["string", "number"]})


class NodeModel(SpecModel):
    """One node, or several equal ones; cpu and memory that it leaves out are those of the real machine."""

    name: str = ""
    count: Annotated[int, Field(ge=1, le=MOST_NODES)] = 1
    cpu: Annotated[int, _amount("cpu"), _AMOUNT] | None = None
    memory: Annotated[int, _amount("memory"), _AMOUNT] | None = None
    gpus: Annotated[list[GpusModel], BeforeValidator(_listed)] | None = None
    isolation: list[Literal["soft", "mps", "mig"]] = Field(default_factory=list)
    pool: Annotated[str, Field(min_length=1, max_length=100)] = "local"
    has: list[str] = Field(default_factory=list)
    ready: bool = True


class InventoryModel(SpecModel):
    """All nodes."""

    nodes: Annotated[list[NodeModel], Field(min_length=1)]


_MODELS: dict[int, type[BaseModel]] = {1: InventoryModel, 2: NodeModel, 3: GpusModel}


def load(text: str, file: str, real: Node) -> tuple[Node, ...]:
    """Return the nodes that an inventory describes, with nothing taken, in its order.

    Args:
        text: of the file; YAML, and so JSON too.
        file: its name as the person typed it; only shown.
        real: the machine that it stands in for.

    Raises:
        SpecError: the first problem in the order of the file, with its line and column.
    """
    tree = read(text, file)
    if not isinstance(tree.value, dict):
        remedy = "begin with nodes:"
        refuse(tree.where(""), "TW1002", f"the inventory holds {shape(tree.value)}, not a mapping", remedy=remedy)
    findings = Findings()
    alone = "nodes" not in tree.value
    model = _validated(NodeModel if alone else InventoryModel, tree, findings)
    findings.raise_first()
    if isinstance(model, NodeModel):
        gpus = None if model.gpus is None and real.devices else model.gpus
        found = [_node(name, model, real, keep=gpus is None) for _, name in _names(model, "", tree, findings)]
    else:
        assert isinstance(model, InventoryModel)  # there are no findings  # noqa: S101
        found = []
        seen: dict[str, str] = {}
        for index, one in enumerate(model.nodes):
            for path, name in _names(one, f"nodes.{index}", tree, findings):
                if name in seen:
                    wrong = WrongValueError("TW1003", f"two nodes are called {show(name)}", remedy="rename one of them")
                    findings.add(tree.where(path), wrong)
                seen[name] = path
                found.append(_node(name, one, real))
    findings.raise_first()
    return tuple(found)


def _names(model: NodeModel, path: str, tree: Tree, findings: Findings) -> Iterator[tuple[str, str]]:
    """Yield the path of the name of each node of an entry, and the name."""
    where = f"{path}.name" if path else "name"
    pattern = model.name
    if not pattern and path:
        findings.add(tree.where(path), WrongValueError("TW1012", "name: is missing", remedy="add name:"))
        return
    pattern = pattern or ALONE
    if model.count > 1 and NUMBER not in pattern:
        pattern = f"{pattern}-{NUMBER}"
    try:
        check_name(pattern.replace(NUMBER, "1"), "node")
    except WrongValueError as wrong:
        findings.add(tree.where(where), wrong)
        return
    for number in range(1, model.count + 1):
        yield where, pattern.replace(NUMBER, str(number))


def _node(name: str, model: NodeModel, real: Node, *, keep: bool = False) -> Node:
    devices = real.devices if keep else tuple(_devices(model.gpus or []))
    cpu = real.total.cpu_milli if model.cpu is None else model.cpu
    memory = real.total.memory_bytes if model.memory is None else model.memory
    total = Resources(cpu, memory, len(devices) * WHOLE)
    return Node(
        name,
        total,
        replace(total),
        devices,
        pool=model.pool,
        isolation=tuple(sorted(set(model.isolation))),
        has=tuple(sorted(set(model.has))),
        ready=model.ready,
    )


def _devices(gpus: list[GpusModel]) -> Iterator[Device]:
    kinds = [kind for kind in gpus for _ in range(kind.count)]
    for index, kind in enumerate(kinds):
        yield Device(index, kind.model, kind.memory, WHOLE, kind.memory)


def _validated(model: type[SpecModel], tree: Tree, findings: Findings) -> SpecModel | None:
    try:
        return model.model_validate(tree.value)
    except ValidationError as error:
        for problem in error.errors(include_url=False):
            path, depth = "", 1 if model is InventoryModel else 2
            for part in problem["loc"]:
                below = f"{path}.{part}" if path else str(part)
                path = below if below in tree.positions or below in tree.keys else path
                depth += part == "gpus" or (isinstance(part, int) and path.count(".") == 1)
            findings.add(place(tree, path, problem), _in_our_words(problem, path, _MODELS[min(depth, 3)]))
        return None


def _in_our_words(problem: ErrorDetails, path: str, owner: type[BaseModel]) -> WrongValueError:
    key = path.rpartition(".")[2]
    if problem["type"] == "missing":
        lacking = str(problem["loc"][-1])
        return WrongValueError("TW1012", f"{lacking}: is missing", remedy=f"add {lacking}:")
    if problem["type"] == "extra_forbidden":
        return WrongValueError("TW1010", f"unknown key {key!r} in an inventory", remedy=suggest(key, names_of(owner)))
    return translate(problem, path)
