"""Data in object stores and remote file systems: whatever fsspec knows, such as ``s3://bucket/prefix/*.parquet``.

Keys are told apart and listed here, not by ``fsspec.find``: that takes ``a`` and ``a/`` for one.
"""

import os
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from trainwright.core.errors import BackendError, NotFoundError, SpecError, TrainwrightError, TransientBackendError
from trainwright.core.pattern import has_magic, matcher
from trainwright.ports.source import (
    DataSource,
    Located,
    RemoteFile,
    RemoteFiles,
    Snapshot,
    host_of,
    library_missing,
    no_reference,
    words_of,
)

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

_BLOCK_BYTES = 8 << 20
_CHUNK_BYTES = 1 << 20
_LISTERS = 8
_VERSION = "?versionId="
_EXTRAS = {"s3": "s3", "s3a": "s3", "gs": "gcs", "gcs": "gcs", "abfs": "azure", "abfss": "azure", "az": "azure"}
_TAGS = ("ETag", "etag", "generation", "md5Hash", "content_md5", "VersionId", "version_id")


def _connect(uri: str) -> tuple["AbstractFileSystem", str]:
    from fsspec.core import url_to_fs

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that a library could be newer is no news about the data
        fs, path = url_to_fs(uri, skip_instance_cache=True)
    return fs, path


class ObjectSource:
    """Lists what is there and hands the files over; the content store fetches those that it does not have.

    Args:
        connect: URI → file system and path in it; a test gives its own.
        environ: where credentials and endpoints come from; the libraries read it themselves.
    """

    schemes: tuple[str, ...] = (
        *("s3", "s3a", "gs", "gcs", "abfs", "abfss", "adl", "az", "oci", "oss", "tos", "hdfs", "webhdfs", "dbfs"),
        *("memory", "ftp", "sftp", "ssh", "smb", "webdav", "lakefs"),
    )

    def __init__(self, connect: Callable[[str], tuple["AbstractFileSystem", str]] = _connect) -> None:
        self._connect = connect

    def locate(self, uri: str, base: Path, *, reference: bool = False) -> Located:  # noqa: ARG002 - of the port
        """Return the files behind ``uri``, or one version of an object. See ``DataSource.locate``.

        Args:
            uri: of an object, of a prefix, or a pattern with ``*``, ``?``, ``[…]``, ``**``. With ``?versionId=…``
                a version of an object of S3, which is referred to.
            base: of no effect: these URIs are absolute.
            reference: refer to the present version of an object of S3.

        Raises:
            SpecError: TW2112 there are no versions; TW4304 the URI names nothing.
            NotFoundError: TW4301 a library is missing; TW4305 nothing matches; TW4306 nothing is there; TW4307 no such
                version.
            BackendError: TW6401 it cannot be reached, or refuses; TW6402 the listing names what leads elsewhere.
        """
        plain, mark, version = uri.partition(_VERSION)
        if not plain.partition("://")[2].strip("/"):
            remedy = "write SCHEME://BUCKET/KEY, a prefix with / at its end, or a pattern"
            raise SpecError("TW4304", f"{uri!r} names no object", where=uri, remedy=remedy)
        with _told(uri):
            if mark or reference:
                return self._version(plain, version)
            fs, path = self._connect(plain)
            single, files = _look(fs, path, plain)
        if not files:
            raise _nothing(plain)

        def again() -> tuple[RemoteFile, ...]:
            with _told(uri):
                return _look(fs, path, plain)[1]

        origin = f"{host_of(plain, os.environ)} {plain.rstrip('/')}"
        return RemoteFiles(plain, origin, single, files, lambda file: _read(fs, file, uri), again)

    def _version(self, uri: str, version: str) -> Snapshot:
        scheme, _, key = uri.partition("://")
        if scheme not in {"s3", "s3a"}:
            raise no_reference(uri)
        fs, path = self._connect(f"s3://{key}")
        if not hasattr(fs, "version_aware"):
            raise no_reference(uri)
        fs.version_aware = True
        info = fs.info(path, **({"version_id": version} if version else {}))
        found = info.get("VersionId") or ""
        if info.get("type") == "directory" or (not version and found in {"", "null"}):
            raise no_reference(uri)
        if version and found != version:
            remedy = "list them: aws s3api list-object-versions, or leave ?versionId= out for the present one"
            raise NotFoundError("TW4307", f"{uri} has no version {version}", where=uri, remedy=remedy)
        return Snapshot("s3", f"s3://{key}{_VERSION}{found}", found, file=key.rpartition("/")[2])


@contextmanager
def _told(uri: str) -> Iterator[None]:
    """Turn whatever a library raises into our own errors."""
    scheme = uri.partition("://")[0]
    host = host_of(uri, os.environ)
    try:
        yield
    except TrainwrightError:
        raise
    except ImportError as error:
        name = error.name or scheme
        extra = _EXTRAS.get(scheme)
        raise library_missing(name, uri, f"'trainwright[{extra}]'" if extra else f"fsspec[{scheme}]") from error
    except (FileNotFoundError, NotADirectoryError) as error:
        if _VERSION in uri:
            remedy = "list the versions: aws s3api list-object-versions"
            raise NotFoundError("TW4307", f"there is no {uri}", where=uri, remedy=remedy) from error
        raise _nothing(uri) from error
    except PermissionError as error:
        remedy = "check the credentials (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, or those of this store) and rights"
        raise BackendError("TW6401", f"{host} refuses {uri}: {words_of(error)}", where=uri, remedy=remedy) from error
    except Exception as error:  # libraries raise what they like, and none of it is the person's to read as a traceback
        remedy = "check the address, the network and the credentials, and try again"
        raise TransientBackendError(
            "TW6401", f"{host} fails for {uri}: {words_of(error)}", where=uri, remedy=remedy
        ) from error


def _look(fs: "AbstractFileSystem", path: str, uri: str) -> tuple[bool, tuple[RemoteFile, ...]]:
    """Return whether it is one object, and the files behind it, sorted."""
    fs.invalidate_cache()
    info: dict[str, object] | None = {"type": "directory"} if uri.endswith("/") else _info(fs, path)
    if info is not None and info["type"] != "directory":
        return True, (_file(info, path, path.rstrip("/").rpartition("/")[2]),)
    folder, pattern = path.rstrip("/"), ""
    if info is None:
        if not has_magic(path):
            return False, ()
        folder, pattern = _split(path)
    found = [_file(info, info["name"], _below(info["name"], folder, uri)) for info in _walk(fs, folder, uri)]
    files = [file for file in found if file.path and not (file.path.endswith("/") and not file.size_bytes)]
    if pattern:
        matches = matcher(pattern)
        files = [file for file in files if matches(file.path)]
        if not files:
            remedy = f"look what there is below {uri.partition('*')[0].rpartition('/')[0]}"
            why = (
                "* and ? stand for letters within a name, ** for any folders; names that begin with a dot are left out"
            )
            raise NotFoundError("TW4305", f"no object matches {uri}", where=uri, why=why, remedy=remedy)
    return False, tuple(sorted(files, key=lambda file: file.path))


def _info(fs: "AbstractFileSystem", path: str) -> dict[str, object] | None:
    try:
        found: dict[str, object] = fs.info(path)
    except FileNotFoundError:
        return None
    return found


def _walk(fs: "AbstractFileSystem", top: str, uri: str) -> Iterator[dict[str, object]]:
    """Yield what is known of every file below a folder, one level after the other."""
    level = [top]
    with ThreadPoolExecutor(_LISTERS, thread_name_prefix="listing") as pool:
        while level:
            below = []
            for folder, infos in zip(level, pool.map(lambda folder: fs.ls(folder, detail=True), level), strict=True):
                for info in infos:
                    name = str(info["name"])
                    if info["type"] != "directory":
                        yield info
                    elif name.strip("/") != folder.strip("/"):
                        below.append(name)
                    elif name.endswith("/"):
                        raise _leads_elsewhere(uri, name)
            level = below


def _split(path: str) -> tuple[str, str]:
    parts = path.split("/")
    first = next(place for place, part in enumerate(parts) if has_magic(part))
    return "/".join(parts[:first]), "/".join(parts[first:])


def _below(name: object, folder: str, uri: str) -> str:
    """Return what comes after the folder; empty for the folder itself."""
    inside = str(name).lstrip("/")
    prefix = folder.strip("/") + "/"
    if inside + "/" == prefix:
        return ""
    if not inside.startswith(prefix):
        raise _leads_elsewhere(uri, str(name))
    return inside[len(prefix) :]


def _file(info: dict[str, object], key: object, path: str) -> RemoteFile:
    size = info.get("size")
    tag = next((str(info[name]).strip('"') for name in _TAGS if info.get(name)), "")
    if tag.startswith("W/"):
        tag = ""  # weak: bytes may differ
    return RemoteFile(path, str(key), size if isinstance(size, int) else None, tag)


def _read(fs: "AbstractFileSystem", file: RemoteFile, uri: str) -> Iterator[bytes]:
    with _told(uri), fs.open(file.key, "rb", block_size=_BLOCK_BYTES) as source:
        while chunk := source.read(_CHUNK_BYTES):
            yield chunk


def _nothing(uri: str) -> NotFoundError:
    remedy = "check the bucket and the spelling; keys know upper and lower case"
    return NotFoundError("TW4306", f"nothing is at {uri}", where=uri, remedy=remedy)


def _leads_elsewhere(uri: str, name: str) -> BackendError:
    remedy = "rename the object: its path has to make sense as files in a folder"
    return BackendError("TW6402", f"the listing of {uri} names {name!r}", where=uri, remedy=remedy)


_: DataSource = ObjectSource()
