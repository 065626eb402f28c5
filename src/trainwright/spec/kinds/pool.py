"""``kind: Pool``: nodes of one kind, what they cost, and how many there may be."""

from typing import Annotated

from pydantic import Field, PlainValidator, WithJsonSchema

from trainwright.core import quantity
from trainwright.core.node import WHOLE, Device, Node
from trainwright.core.pool import Pool
from trainwright.core.resources import Resources
from trainwright.spec.findings import WrongValueError, show
from trainwright.spec.kinds.kind import Kind, SpecModel

MOST_NODES = 100_000
_AMOUNT = {"type": ["string", "number"]}


def _read(reads: str) -> PlainValidator:
    def check(value: object) -> object:
        try:
            return getattr(quantity, reads)(value)
        except (ValueError, TypeError) as error:
            raise WrongValueError("TW1016", str(error)) from error

    return PlainValidator(check)


class GpusModel(SpecModel):
    """The GPUs of one node."""

    count: Annotated[int, Field(ge=1, le=64)] = 1
    model: Annotated[str, Field(min_length=1, max_length=100)]
    memory: Annotated[int, _read("memory_bytes"), WithJsonSchema(_AMOUNT)]


class NodeModel(SpecModel):
    """What one node has."""

    cpu: Annotated[int, _read("cpu_milli"), WithJsonSchema(_AMOUNT)]
    memory: Annotated[int, _read("memory_bytes"), WithJsonSchema(_AMOUNT)]
    gpus: GpusModel | None = None
    isolation: list[str] = Field(default_factory=list)


class PoolModel(SpecModel):
    """Nodes of one kind, what they cost, and how many there may be."""

    backend: Annotated[str, Field(min_length=1, max_length=100)] = "local"
    node: NodeModel | None = None
    min: Annotated[int, Field(ge=0, le=MOST_NODES)] = 0
    max: Annotated[int, Field(ge=0, le=MOST_NODES)] = 0
    price: Annotated[float | int, Field(ge=0)] = 0.0
    provision: Annotated[object, _read("duration"), WithJsonSchema(_AMOUNT)] | None = None
    spot: bool = False


def _value(name: str, model: PoolModel) -> Pool:
    if model.max < model.min:
        remedy = "write max: at least as large as min:"
        raise WrongValueError("TW1017", f"max: {show(model.max)} is less than min: {model.min}", remedy=remedy)
    if model.max and model.node is None:
        raise WrongValueError(
            "TW1012", "max: without node:", remedy="say what a new node has: node: {cpu: 8, memory: 32Gi}"
        )
    seconds = 120.0 if model.provision is None else model.provision.total_seconds()  # type: ignore[attr-defined]  # a timedelta
    node = None if model.node is None else node_of(name, name, model.node)
    return Pool(name, model.backend, node, model.min, model.max, float(model.price), seconds, model.spot)


def node_of(name: str, pool: str, model: NodeModel) -> Node:
    """Return an empty node of this kind."""
    gpus = model.gpus
    devices = (
        () if gpus is None else tuple(Device(i, gpus.model, gpus.memory, WHOLE, gpus.memory) for i in range(gpus.count))
    )
    total = Resources(model.cpu, model.memory, len(devices) * WHOLE)
    return Node(name, total, total, devices, pool=pool, isolation=tuple(sorted(model.isolation)))


KIND = Kind("Pool", "nodes of one kind, what they cost, and how many there may be", PoolModel, _value)
