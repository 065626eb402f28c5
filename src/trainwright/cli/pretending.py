"""What commands say that begin work on pretended nodes."""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from trainwright.app import App

InventoryOption = Annotated[
    str, typer.Option("--inventory", metavar="FILE", help="Pretend the nodes of this file; commands still run here.")
]


def refuse_elsewhere(app: "App") -> None:
    """Let work begin unless this process asked for an inventory while the project's work is on something else.

    Raises:
        ConflictError: it did.
    """
    from trainwright.core.errors import ConflictError

    if app.elsewhere:
        raise ConflictError(
            "TW5801",
            f"unfinished work of this project is on {app.elsewhere}, not on {app.settings.inventory}",
            remedy="wait for it (tw ps) or stop it; or leave --inventory and TW_INVENTORY out",
        )


def begin(app: "App") -> None:
    """Let work begin here, and say so once when the nodes are pretended.

    Raises:
        ConflictError: the project's unfinished work is on other nodes.
        SpecError, NotFoundError: the inventory cannot be used.
    """
    from trainwright.cli import output

    refuse_elsewhere(app)
    if app.inventory is None:
        return
    from trainwright.service.devices import inventory_words

    output.say(
        f"pretending {inventory_words(app.inventory.nodes())} ({app.inventory.path}): commands are plain processes of "
        "this machine, and their cpu and memory are not limited"
    )
    if app.inventory.flaw:
        output.say(f"warning: the inventory stays as it was: {app.inventory.flaw}")
