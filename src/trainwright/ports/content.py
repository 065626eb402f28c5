"""The port to the content store: bytes by what they are."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from trainwright.core.artifact import Content
from trainwright.core.ids import Digest

if TYPE_CHECKING:  # every command imports this; what comes from elsewhere is rare
    from trainwright.ports.source import RemoteFiles, Snapshot


@dataclass(frozen=True, slots=True)
class Intake:
    """How a file or folder is taken in.

    Attributes:
        strict: hash every file again, also those that look as they did when they were hashed.
        any_size: copy more than the limit of the store.
        reference: record where the bytes are and copy none.
        progress: called now and then with files and bytes done, and files and bytes in all.
    """

    strict: bool = False
    any_size: bool = False
    reference: bool = False
    progress: Callable[[int, int, int, int], None] | None = None


USUAL = Intake()


class ContentStore(Protocol):
    """Keeps files and folders under the digest of their manifest."""

    def put(self, path: Path, how: Intake = USUAL) -> Content:
        """Store a file or folder, or record it by reference; equal content is equal, and stored once.

        Raises:
            DeniedError: TW3511 more than the limit would be copied; nothing was.
            BackendError: unreadable, changed while it was read, holds a link that leads outside, or no space left.
        """
        ...

    def put_files(self, root: Path, paths: tuple[str, ...], how: Intake | None = None) -> Content:
        """Store these files under ``root`` as one folder; ``paths`` are relative, with ``/``.

        Args:
            root: of the files.
            paths: of each.
            how: as for ``put``, but nothing is remembered or referred to; None takes any amount.

        Raises:
            DeniedError: TW3511 more than the limit would be copied; nothing was.
            BackendError: as ``put``.
        """
        ...

    def has(self, digest: Digest) -> bool:
        """Tell whether the manifest and every blob it names are there, by name and size."""
        ...

    def origin(self, digest: Digest) -> Path | None:
        """Return where content by reference is read; None for what is in the store."""
        ...

    def verify(self, digest: Digest) -> bool:
        """Tell whether the content is whole and is what its digest says; large content may take a while.

        Bytes that nobody touched since they were last hashed are not read again. What is damaged is moved out of the
        way, so that storing the same content anew replaces it.
        """
        ...

    def blob(self, sha256: str) -> bytes:
        """Return the bytes of one file, by the hash that ``entries`` gives.

        Raises:
            NotFoundError: no such file, or it is damaged.
        """
        ...

    def entries(self, digest: Digest) -> tuple[tuple[str, int, str], ...]:
        """Return path, bytes and sha256 of each file, sorted by path.

        Raises:
            NotFoundError: no such manifest.
        """
        ...

    def read(self, digest: Digest, name: str) -> bytes:
        """Return the bytes of a stored file, or of the file ``name`` at the top of a stored folder; for small ones.

        Raises:
            NotFoundError: no such manifest.
            BackendError: there is no such file, or its bytes are missing or altered.
        """
        ...

    def export(self, digest: Digest, target: Path) -> Path:
        """Copy the content out; ``target`` must not exist yet. Return the file or folder written.

        Raises:
            NotFoundError: no such manifest.
            BackendError: a blob is missing or altered.
        """
        ...


class SupportsArrivals(Protocol):
    """A store that takes what is not on this machine's disk."""

    def receive(self, remote: "RemoteFiles", arrived: Callable[[int | None], None], how: Intake = USUAL) -> Content:
        """Fetch remote files, several at a time, each byte hashed; those that are here and unchanged are not fetched.

        What came before a failure or a kill is not fetched again.

        Args:
            remote: what is to be stored.
            arrived: told the bytes of each file that came, None for one that was here.
            how: whether more than the limit may come.

        Raises:
            DeniedError: TW3511 more than the limit would come; nothing did.
            BackendError: TW6402 a name leads elsewhere; a file is not as listed, or no space left; as ``remote.read``.
        """
        ...

    def snapshot(self, digest: Digest) -> "Snapshot | None":
        """Return what a digest stands for when that is a foreign snapshot; None for files and folders.

        Raises:
            NotFoundError: no such manifest.
        """
        ...

    def put_snapshot(self, snapshot: "Snapshot") -> Content:
        """Store what a foreign snapshot is called; it has no files and no bytes here.

        Raises:
            BackendError: no space left.
        """
        ...


@dataclass(frozen=True, slots=True)
class Amount:
    """So many things of so many bytes together."""

    count: int = 0
    size_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Swept:
    """What a sweep removed, or would remove.

    Attributes:
        manifests, blobs: stored content.
        trees: read-only working copies.
        drafts: leftovers of what was killed while it wrote.
        unreadable: manifests that are kept and damaged; while there is one, no blob goes.
    """

    manifests: Amount = Amount()
    blobs: Amount = Amount()
    trees: Amount = Amount()
    drafts: Amount = Amount()
    unreadable: tuple[Digest, ...] = ()


@dataclass(frozen=True, slots=True)
class Flaw:
    """One thing in the store that is not as it should be.

    Attributes:
        kind: ``blob`` (damaged), ``missing`` (a blob), ``manifest`` (damaged), ``tree`` (a working copy that was
            changed), ``draft`` (a leftover) or ``reference`` (what was added by reference changed or is gone).
        path: of it.
        digests: of the content that needs it.
    """

    kind: str
    path: Path
    digests: tuple[Digest, ...] = ()


class SupportsParts(Protocol):
    """A store whose content can be taken apart without a copy."""

    def put_part(self, digest: Digest, paths: Collection[str]) -> Content:
        """Store some files of stored content as content of its own; nothing is copied.

        Raises:
            NotFoundError: no such manifest.
            BackendError: a path is not in it, or no space left.
        """
        ...

    def place(self, sha256: str) -> Path:
        """Return where the bytes of one file lie, by the hash that ``entries`` gives; nobody may write there.

        Raises:
            NotFoundError: no such file.
        """
        ...


class SupportsSearch(Protocol):
    """A store that can be asked where a file is."""

    def holding(self, sha256: str, among: Collection[Digest]) -> dict[Digest, tuple[str, ...]]:
        """Return those contents that hold a file of this hash, with its paths there; quick also for large ones.

        Content whose files are not listed in this store is passed over.
        """
        ...


class SupportsUpkeep(Protocol):
    """A store that can be cleaned and mended."""

    def sweep(self, keep: Collection[Digest], now: datetime, *, dry_run: bool) -> Swept:
        """Remove what is neither kept nor was stored in the last hour, and what only that needed.

        Waits for whoever publishes. Killed at any moment it leaves everything kept whole.

        Raises:
            BackendError: something cannot be removed.
        """
        ...

    def inspect(self, now: datetime, *, deep: bool) -> tuple[Flaw, ...]:
        """Return every flaw, by kind and path; ``deep`` reads every byte, else only sizes are compared.

        Raises:
            BackendError: the store cannot be read.
        """
        ...

    def mend(self, flaws: Collection[Flaw], spare: Collection[Digest]) -> None:
        """Set damaged blobs and manifests aside, remove damaged working copies but those of ``spare``, and leftovers.

        Raises:
            BackendError: something cannot be moved or removed.
        """
        ...
