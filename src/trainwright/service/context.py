"""What every use case works with; made once, by ``app``."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from trainwright.core.clock import Clock
from trainwright.core.ids import IdSource, ProjectName
from trainwright.ports.backend import Backend, SupportsFiles
from trainwright.ports.content import ContentStore, SupportsArrivals, SupportsParts, SupportsSearch, SupportsUpkeep
from trainwright.store.database import Database
from trainwright.store.sources import Sources

if TYPE_CHECKING:
    from trainwright.ports.source import DataSource


class LocalBackend(Backend, SupportsFiles, Protocol):
    """A backend on this machine."""

    def warm_up(self) -> None:
        """Get ready in the background for a first start that is near."""
        ...


class LocalStore(ContentStore, SupportsArrivals, SupportsParts, SupportsSearch, SupportsUpkeep, Protocol):
    """A content store on this machine; all projects of a state folder share it."""


@dataclass(frozen=True, slots=True)
class Context:
    """One project as one person sees it.

    Attributes:
        actor: who is asking; goes into records and audit.
        sources: URI scheme → source.
        environ: the process's environment, for the tools that capturing calls.
        warm: packages that may be imported ahead of functions; none when that is switched off.
        here: working directory; relative paths that people type start here.
        sources_of_code: reads captured code trees.
        home: state folder.
        environments: folder in which this user's environments are built on this machine.
    """

    database: Database
    content: LocalStore
    backend: LocalBackend
    clock: Clock
    ids: IdSource
    project: ProjectName
    actor: str
    sources: Mapping[str, "DataSource"]
    environ: Mapping[str, str]
    here: Path
    sources_of_code: Sources
    home: Path
    environments: Path
    warm: frozenset[str] = frozenset()
