"""What the local backend needs to know; made once, by ``app``."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class LocalSettings:
    """Where things are.

    Attributes:
        root: of the attempts' folders.
        content_root: of the content store.
        python: interpreter of the runners.
        path: folders put before the ``PATH`` of commands.
        inventory: file of a pretended machine, see ``machine.node``; None for the real one.
        sockets: private folder for the supervisor's socket; without one every runner is a fresh interpreter.
        ledger: folder of the machine-wide ledger; without one other projects are not seen.
    """

    root: Path
    content_root: Path
    python: str
    path: tuple[str, ...] = ()
    inventory: Path | None = None
    sockets: Path | None = None
    ledger: Path | None = None
