"""The port to places where raw data lives.

A source turns a URI into one of four frozen values: a path on this machine, a set of files below a folder, remote files
that are brought in, or a foreign snapshot, whose version is the version and which nobody copies.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeAlias

from trainwright.core.errors import NotFoundError, SpecError

_COLOUR = re.compile(r"\x1b\[[0-9;]*m|↳")


@dataclass(frozen=True, slots=True)
class FileSet:
    """Some files below a folder of this machine, which together are one folder of content.

    Attributes:
        root: absolute.
        paths: relative to it, with ``/``, sorted; a folder among them stands for all it holds.
        source: what stands for them in the record, such as the pattern with its absolute folder.
    """

    root: Path
    paths: tuple[str, ...]
    source: str


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """One file that a listing names. Listings are not trusted: the content store refuses what leads elsewhere.

    Attributes:
        path: in the content, relative, with ``/``.
        key: what the source itself calls it.
        size_bytes: as listed; None when it is not known.
        tag: changes whenever the bytes do (ETag, generation, version); empty when there is nothing like it.
    """

    path: str
    key: str
    size_bytes: int | None = None
    tag: str = ""


@dataclass(frozen=True, slots=True)
class RemoteFiles:
    """Files that have to be brought in.

    Attributes:
        uri: for the record; without credentials.
        origin: tells one server's files from another's of the same name, such as the endpoint.
        single: whether it is one file, not a folder.
        files: as listed.
        read: yields the bytes of one, in pieces; may be called from several threads at once.
        again: lists once more, to notice what changed meanwhile.
    """

    uri: str
    origin: str
    single: bool
    files: tuple[RemoteFile, ...]
    read: Callable[[RemoteFile], Iterator[bytes]]
    again: Callable[[], tuple[RemoteFile, ...]]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A version of something that keeps versions of its own; no byte of it is stored here.

    Equal snapshots are equal content; so every field counts.

    Attributes:
        kind: ``git``, ``s3``, ``hf``, ``delta``, ``iceberg``.
        uri: leads to this very snapshot, now and later.
        version: what the other side calls it: a commit, a version id, a number.
        table: identity of the table; a new one in the old one's place is another. Empty for what is no table.
        file: name of the one file that it is; empty for a folder or table.
    """

    kind: str
    uri: str
    version: str
    table: str = ""
    file: str = ""


Located: TypeAlias = Path | FileSet | RemoteFiles | Snapshot


class DataSource(Protocol):
    """Turns a URI of its schemes into something that can be stored or pinned.

    Used by clients only: the control plane never opens a URI that came with a request.

    1. Equal content gives the equal digest, whatever the order in which it is listed.
    2. Changed content gives another digest.
    3. What is missing is a ``NotFoundError`` with a remedy.
    4. Relative URIs start at ``base``, where the scheme has relative ones.
    5. A transport that fails is a ``BackendError`` which names the host.
    6. The ``uri`` of a snapshot leads to the same snapshot.

    Attributes:
        schemes: that it knows, such as ``("s3", "gs")``.
    """

    schemes: tuple[str, ...]

    def locate(self, uri: str, base: Path, *, reference: bool = False) -> Located:
        """Return what is behind ``uri``; relative ones start at ``base``.

        Args:
            uri: of one of the schemes; holds no credentials.
            base: absolute folder.
            reference: pin the present version instead of bringing the bytes in, where the other side has versions.

        Raises:
            SpecError: it is no URI of this source, or what it names has no versions to refer to.
            NotFoundError: nothing is there, or a library is missing.
            BackendError: the other side cannot be reached, refuses, or fails.
        """
        ...


def library_missing(library: str, uri: str, install: str) -> NotFoundError:
    """Return the error for a source whose optional library is not installed."""
    return NotFoundError(
        "TW4301", f"the package {library} is not installed", where=uri, remedy=f"pip install {install}"
    )


def host_of(uri: str, environ: Mapping[str, str]) -> str:
    """Return the machine behind a URI, for messages: of S3 the endpoint that the environment names."""
    scheme, _, rest = uri.partition("://")
    if scheme in {"s3", "s3a"}:
        endpoint = environ.get("AWS_ENDPOINT_URL_S3") or environ.get("AWS_ENDPOINT_URL", "")
        return endpoint.partition("://")[2].rpartition("@")[2].partition("/")[0] or "amazonaws.com"
    return rest.partition("/")[0] or "this machine"


def words_of(error: BaseException) -> str:
    """Return what a library's error says, in one line without colours; at most 300 characters."""
    return " ".join(_COLOUR.sub("", str(error)).split())[:300] or type(error).__name__


def no_reference(uri: str) -> SpecError:
    """Return the error for a place that keeps no versions."""
    return SpecError(
        "TW2112",
        f"{uri} keeps no versions that could be referred to",
        where=uri,
        why="by reference goes what has versions of its own: git, S3 with versioning, Delta, Iceberg, Hugging Face",
        remedy="leave --reference out: the bytes are stored then",
    )
