"""From what a data source found to content: stored, brought in, or pinned where it is."""

from pathlib import Path
from typing import Protocol

from trainwright.core.artifact import Content
from trainwright.core.errors import BackendError
from trainwright.ports.content import USUAL, ContentStore, Intake, SupportsArrivals
from trainwright.ports.source import FileSet, Located, RemoteFiles, Snapshot, no_reference


class Progress(Protocol):
    """Somebody who wants to know how far it is."""

    def begin(self, files: int, size_bytes: int | None) -> None:
        """Be told how much is listed; the bytes are None when not every size is known."""
        ...

    def arrived(self, size_bytes: int | None) -> None:
        """Be told of one file: its bytes when it came, None when it was here already."""
        ...


class _Silence:
    def begin(self, files: int, size_bytes: int | None) -> None:
        """Be told nothing that matters."""

    def arrived(self, size_bytes: int | None) -> None:
        """Be told nothing that matters."""


SILENT: Progress = _Silence()
"""Nobody."""


class Store(ContentStore, SupportsArrivals, Protocol):
    """A content store that takes what comes from elsewhere."""


def store(
    content: Store, located: Located, asked: str, how: Intake = USUAL, progress: Progress = SILENT
) -> tuple[Content, str]:
    """Return the content, and what stands for its origin in the record.

    Args:
        content: where it goes.
        located: as a source found it.
        asked: the URI or path that a person wrote.
        how: whether files of this machine are refused, and how much may be copied.
        progress: told of each remote file.

    Raises:
        DeniedError: TW3511 more would be copied than may be.
        SpecError: TW2112 there is nothing to refer to.
        BackendError: it cannot be read or stored, or changed meanwhile.
    """
    match located:
        case Snapshot():
            return content.put_snapshot(located), located.uri
        case RemoteFiles():
            return _bring(content, located, how, progress), located.uri
        case FileSet() | Path() if how.reference:
            raise no_reference(asked)
        case FileSet(root, paths, source):
            return content.put_files(root, paths, how), source
        case Path():
            return content.put(located, how), asked if "://" in asked else str(located)


def _bring(content: Store, remote: RemoteFiles, how: Intake, progress: Progress) -> Content:
    sizes = [file.size_bytes for file in remote.files]
    known = [size for size in sizes if size is not None]
    progress.begin(len(sizes), sum(known) if len(known) == len(sizes) else None)
    fetched = False

    def arrived(size_bytes: int | None) -> None:
        nonlocal fetched
        fetched = fetched or size_bytes is not None
        progress.arrived(size_bytes)

    stored = content.receive(remote, arrived, how)
    if fetched and remote.again() != remote.files:
        raise BackendError(
            "TW6401",
            f"{remote.uri} changed while it was read",
            where=remote.uri,
            remedy="add it again when nobody writes to it; what is here already is not fetched again",
        )
    return stored
