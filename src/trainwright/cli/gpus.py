"""``tw gpu``: the map of nodes and devices."""

from typing import TYPE_CHECKING, Annotated

import typer

from trainwright.cli.pipeline import Json
from trainwright.cli.pretending import InventoryOption

if TYPE_CHECKING:
    from trainwright.service.devices import DeviceUse, NodeUse

MOST_NODES = 40
"""In the table; the rest is counted, and all are in ``--json``."""

_BAR = 10
_MARKS = "█▓▒"
"""Of those who share a device, in turn."""

_FOREIGN, _FREE = "▚", "░"
_COLUMNS = ("node", "pool", "cpu", "memory", "gpu", "model", "used", "free", "vram", "held by")


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(gpu)


def gpu(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NODE|POOL...]", help="Show only these.")] = None,
    inventory: InventoryOption = "",
    json: Json = False,
) -> int:
    """Show nodes and devices: what is free, and who holds which share."""
    from trainwright.cli import output
    from trainwright.cli.session import session
    from trainwright.core.errors import NotFoundError
    from trainwright.service.devices import device_map
    from trainwright.service.nearest import did_you_mean

    with session(inventory) as app:
        found = device_map(app.context)
        pretended = app.inventory.path if app.inventory else None
    known = {name for node in found for name in (node.name, node.pool)}
    for name in names or ():
        if name not in known:
            remedy = did_you_mean(name, known, "all of them: tw gpu")
            raise NotFoundError("TW4611", f"there is no node or pool {name}", remedy=remedy)
    shown = [node for node in found if not names or node.name in names or node.pool in names]
    if json:
        output.put_json({"inventory": pretended, "nodes": shown})
        return 0
    if pretended:
        output.say(f"pretended: {pretended}")
    output.table(_COLUMNS, [row for node in shown[:MOST_NODES] for row in _rows(node)])
    if len(shown) > MOST_NODES:
        output.put(f"and {len(shown) - MOST_NODES} more nodes; all: --json, some: tw gpu NODE|POOL")
    for line in _totals(shown):
        output.put(line)
    return 0


def bar(device: "DeviceUse") -> str:
    """Return a device as ten cells: a mark for each tenth that somebody holds, in the order of its shares."""
    cells = ""
    for index, share in enumerate(device.shares):
        cells += _MARKS[index % len(_MARKS)] * max(1, round(share.milli * _BAR / 1000))
    own = sum(share.milli for share in device.shares)
    cells += _FOREIGN * round(max(0, 1000 - own - device.free_milli) * _BAR / 1000)
    return cells[:_BAR].ljust(_BAR, _FREE)


def _rows(node: "NodeUse") -> list[tuple[str, ...]]:
    from trainwright.core.quantity import show_bytes, show_milli

    name = node.name if node.ready else f"{node.name} (not ready)"
    own = (
        _of(show_milli(node.free.cpu_milli), show_milli(node.total.cpu_milli)),
        _of(show_bytes(node.free.memory_bytes), show_bytes(node.total.memory_bytes)),
    )
    foreign = tuple(f"{label} (elsewhere)" for label in node.foreign)
    if not node.devices:
        return [(name, node.pool, *own, "", "", "", "", "", ", ".join((*node.holders, *foreign)))]
    with_device = {share.label for device in node.devices for share in device.shares}
    others = (*(label for label in node.holders if label not in with_device), *foreign)
    rows: list[tuple[str, ...]] = []
    for position, device in enumerate(node.devices):
        held = ", ".join(
            [_share(share.label, share.milli) for share in device.shares] + ([*others] if position == 0 else [])
        )
        head = (name, node.pool, *own) if position == 0 else ("", "", "", "")
        vram = _of(show_bytes(device.free_vram_bytes), show_bytes(device.vram_bytes))
        rows.append((*head, str(device.index), device.model, bar(device), show_milli(device.free_milli), vram, held))
    return rows


def _of(free: str, total: str) -> str:
    """Return what is free of how much; one figure when all of it is."""
    return total if free == total else f"{free}/{total}"


def _share(label: str, milli: int) -> str:
    from trainwright.core.quantity import show_milli

    return label if milli >= 1000 else f"{label} ({show_milli(milli)})"  # noqa: PLR2004 - thousandths of one


def _totals(nodes: "list[NodeUse]") -> list[str]:
    """Return how much of each model is free, beside how much there is."""
    from trainwright.core.quantity import show_milli

    free: dict[str, int] = {}
    total: dict[str, int] = {}
    for device in (device for node in nodes for device in node.devices):
        free[device.model] = free.get(device.model, 0) + max(0, device.free_milli)
        total[device.model] = total.get(device.model, 0) + 1
    return [f"{model}: {show_milli(free[model])} of {count} free" for model, count in total.items()]
