"""Who holds what of which node and device: the map behind ``tw gpu``."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from trainwright.core.ids import AttemptId
from trainwright.core.node import WHOLE, Device, Node, take, vram_share_bytes
from trainwright.core.resources import Resources
from trainwright.core.run import Attempt
from trainwright.core.workload import Assignment
from trainwright.lifecycle.retry import resources_of
from trainwright.service.context import Context
from trainwright.store import runs


@dataclass(frozen=True, slots=True)
class Share:
    """What one attempt of the project holds of a device.

    Attributes:
        label: ``pipeline#number/step``.
        milli: thousandths of the device.
    """

    attempt: AttemptId
    label: str
    milli: int
    vram_bytes: int


@dataclass(frozen=True, slots=True)
class DeviceUse:
    """One device, with what is free of it for this project and who of it holds the rest."""

    index: int
    model: str
    vram_bytes: int
    free_milli: int
    free_vram_bytes: int
    shares: tuple[Share, ...]


@dataclass(frozen=True, slots=True)
class NodeUse:
    """One node.

    Attributes:
        foreign: who holds a part of it that is not in this project's books.
        holders: labels of this project's attempts on it, also of those without a device.
    """

    name: str
    pool: str
    ready: bool
    total: Resources
    free: Resources
    isolation: tuple[str, ...]
    foreign: tuple[str, ...]
    holders: tuple[str, ...]
    devices: tuple[DeviceUse, ...]


@dataclass(frozen=True, slots=True)
class _Held:
    attempt: AttemptId
    label: str
    asked: Resources
    places: tuple[Assignment, ...]


def device_map(context: Context) -> tuple[NodeUse, ...]:
    """Return every node with its devices, in the backend's order.

    Raises:
        SpecError, NotFoundError: the inventory cannot be used.
        BackendError: the database cannot be read.
    """
    nodes = context.backend.nodes()
    return _mapped(nodes, _held(context, nodes))


def inventory_words(nodes: Iterable[Node]) -> str:
    """Return what there is in a few words: ``2 nodes, 8 H100``."""
    known = list(nodes)
    models: dict[str, int] = {}
    for device in (device for node in known for device in node.devices):
        models[device.model] = models.get(device.model, 0) + 1
    parts = [f"{count} {model}" for model, count in models.items()] or ["no GPU"]
    return ", ".join([f"{len(known)} node{'s' if len(known) > 1 else ''}", *parts])


def _held(context: Context, nodes: tuple[Node, ...]) -> list[_Held]:
    held = []
    with context.database.reading() as rows:
        plans = {}
        for attempt, run in runs.holding(rows, context.project):
            if run.plan_digest not in plans:
                plans[run.plan_digest] = runs.plan(rows, run.project, run.plan_digest)
            asked = resources_of(plans[run.plan_digest].step(attempt.step), attempt.ooms)
            label = f"{run.pipeline}#{run.number}/{attempt.step}"
            held.append(_Held(attempt.id, label, asked, _places(attempt, nodes)))
    return held


def _places(attempt: Attempt, nodes: tuple[Node, ...]) -> tuple[Assignment, ...]:
    places: tuple[Assignment, ...] = getattr(attempt, "places", ())
    return places or ((Assignment(nodes[0].name, attempt.devices),) if nodes else ())


def _mapped(nodes: tuple[Node, ...], held: list[_Held]) -> tuple[NodeUse, ...]:
    on: dict[str, list[tuple[_Held, Assignment]]] = {}
    for one in held:
        for place in one.places:
            on.setdefault(place.node, []).append((one, place))
    return tuple(_node_use(node, on.get(node.name, [])) for node in nodes)


def _node_use(node: Node, held: list[tuple[_Held, Assignment]]) -> NodeUse:
    left = node
    for one, place in held:
        left = take(left, one.asked, place.devices)
    free: Mapping[int, Device] = {device.index: device for device in left.devices}
    return NodeUse(
        name=node.name,
        pool=node.pool,
        ready=node.ready,
        total=node.total,
        free=left.free,
        isolation=node.isolation,
        foreign=node.foreign,
        holders=tuple(dict.fromkeys(one.label for one, _ in held)),
        devices=tuple(
            DeviceUse(
                device.index,
                device.model,
                device.vram_bytes,
                free[device.index].free_milli,
                free[device.index].free_vram_bytes,
                tuple(
                    Share(one.attempt, one.label, min(one.asked.gpu_milli, WHOLE), vram_share_bytes(one.asked, device))
                    for one, place in held
                    if device.index in place.devices
                ),
            )
            for device in node.devices
        ),
    )
