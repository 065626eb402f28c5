"""What the local backend needs to know; made once, by ``app``."""

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from trainwright.plugins.backends.local.inventory import Inventory
from trainwright.plugins.backends.local.ledger import PRETENDED


@dataclass(frozen=True, slots=True)
class LocalSettings:
    """Where things are.

    Attributes:
        root: of the attempts' folders.
        content_root: of the content store.
        python: interpreter of the runners.
        path: folders put before the ``PATH`` of commands.
        inventory: pretended nodes; None for the real machine.
        sockets: private folder for the supervisor's socket; without one every runner is a fresh interpreter.
        home: state folder; an engine of it is called back to life by an attempt that ends after its engine died.
        project: that such an engine works for.
        warm: packages that may be imported ahead of the functions that ask for them; none switches that off.
        environments: folder in which environments of steps are built; without one such steps cannot start.
        strict: hash all data by reference before each use, not only what looks different.
        ledger: folder of the machine-wide ledger; without one other projects are not seen.
    """

    root: Path
    content_root: Path
    python: str
    path: tuple[str, ...] = ()
    inventory: Inventory | None = None
    sockets: Path | None = None
    ledger: Path | None = None
    home: Path | None = None
    project: str = ""
    warm: frozenset[str] = frozenset()
    environments: Path | None = None
    strict: bool = False

    def books(self) -> Path | None:
        """Return the folder of the ledger for these nodes: those who pretend the same share what they pretend."""
        if self.ledger is None or self.inventory is None:
            return self.ledger
        return self.ledger / f"{PRETENDED}{sha256(self.inventory.path.encode()).hexdigest()[:16]}"

    def variables(self) -> dict[str, str]:
        """Return the variables with which an engine of this very place is started; it finds the inventory there."""
        places = {
            "TW_HOME": self.home,
            "TW_RUNTIME_DIR": self.sockets,
            "TW_MACHINE_DIR": self.ledger,
            "TW_ENVS_DIR": self.environments,
        }
        return {
            "TW_PROJECT": self.project,
            "TW_WARM": ",".join(sorted(self.warm)) or "off",
            **({"TW_STRICT": "1"} if self.strict else {}),
            **{k: str(v.absolute()) for k, v in places.items() if v is not None},
        }
