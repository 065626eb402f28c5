"""Tables that keep versions of their own, read at the version that a run has pinned: Delta and Iceberg."""

from __future__ import annotations

import os

from trainwright.runtime.errors import ContentError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_CATALOG = "iceberg://"
_METADATA = ".metadata.json"


def arrow(kind: str, location: str, version: str, table: str) -> Any:  # noqa: ANN401 - a table of pyarrow
    """Return the table as it was at that version.

    Args:
        kind: ``delta`` or ``iceberg``.
        location: path or URI, as the step was given it.
        version: number or snapshot id.
        table: identity that it has to have; empty for any.

    Raises:
        ContentError: the version is gone, or another table is in its place.
        ImportError: the library for it is not installed; says which.
    """
    return _delta(location, version, table) if kind == "delta" else _iceberg(location, version, table)


def storage_options(environ: Mapping[str, str], location: str) -> dict[str, str]:
    """Return what the object store of Delta has to be told beside its own variables: that an endpoint is plain HTTP."""
    endpoint = environ.get("AWS_ENDPOINT_URL_S3") or environ.get("AWS_ENDPOINT_URL", "")
    if not location.startswith(("s3:", "s3a:")) or not endpoint:
        return {}
    return {"AWS_ENDPOINT_URL": endpoint, **({"AWS_ALLOW_HTTP": "true"} if endpoint.startswith("http:") else {})}


def iceberg_metadata(location: str) -> str:
    """Return the path or URI of the newest metadata file of a table that has no catalog.

    Args:
        location: of the table, or of a metadata file.

    Raises:
        FileNotFoundError: there is no table.
        ContentError: two writers left metadata of the same number, and only their catalog knows which holds.
    """
    if location.endswith(_METADATA):
        return location
    fs, folder = _opened(location.rstrip("/") + "/metadata")
    try:
        with fs.open(folder + "/version-hint.text", "rb") as file:
            number = int(file.read().decode("ascii").strip())
    except (FileNotFoundError, ValueError):
        number = -1
    found: dict[int, list[str]] = {}
    for path in fs.ls(folder, detail=False):
        name = path.rpartition("/")[2]
        if name.endswith((_METADATA, ".metadata.json.gz")):
            digits = name.lstrip("v").partition(".")[0].partition("-")[0]
            if digits.isdecimal():
                found.setdefault(int(digits), []).append(name)
    if not found:
        raise FileNotFoundError(f"no metadata file in {location}/metadata")
    newest = found.get(number) or found[max(found)]
    if len(newest) > 1:
        message = f"the table {location} has two newest metadata files, {' and '.join(sorted(newest))}"
        raise ContentError(message, "name the table by its catalog: iceberg://CATALOG/NAMESPACE.TABLE, or one of them")
    return f"{location.rstrip('/')}/metadata/{newest[0]}"


def read_bytes(location: str) -> bytes:
    """Return the bytes of a small file, local or not.

    Raises:
        FileNotFoundError: there is none.
        OSError: it cannot be read.
    """
    fs, path = _opened(location)
    with fs.open(path, "rb") as file:
        data: bytes = file.read()
    return data


def catalog_table(location: str) -> Any:  # noqa: ANN401 - a table of pyiceberg
    """Return the table behind ``iceberg://CATALOG/NAMESPACE.TABLE``, by the catalogs that pyiceberg is configured for.

    Raises:
        ImportError: pyiceberg is not installed.
        Exception: whatever the catalog raises.
    """
    from pyiceberg.catalog import load_catalog

    name, _, table = location[len(_CATALOG) :].partition("/")
    return load_catalog(name).load_table(table)


def _opened(location: str) -> tuple[Any, str]:
    from fsspec.core import url_to_fs

    fs, path = url_to_fs(location, skip_instance_cache=True, use_listings_cache=False)
    return fs, path


def _delta(location: str, version: str, table: str) -> Any:  # noqa: ANN401
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError, TableNotFoundError

    try:
        found = DeltaTable(location, version=int(version), storage_options=storage_options(os.environ, location))
        _refuse_another(location, table, str(found.metadata().id))
        return found.to_pyarrow_table()
    except (DeltaError, TableNotFoundError, FileNotFoundError, OSError) as error:
        raise _gone(location, version, error) from error


def _iceberg(location: str, version: str, table: str) -> Any:  # noqa: ANN401
    from pyiceberg.exceptions import NoSuchTableError
    from pyiceberg.table import StaticTable

    try:
        if location.startswith(_CATALOG):
            found = catalog_table(location)
        else:
            found = StaticTable.from_metadata(iceberg_metadata(location))
        _refuse_another(location, table, str(found.metadata.table_uuid))
        if found.metadata.snapshot_by_id(int(version)) is None:
            raise _gone(location, version, "the table has no such snapshot any more")
        return found.scan(snapshot_id=int(version)).to_arrow()
    except (NoSuchTableError, OSError) as error:
        raise _gone(location, version, error) from error


def _refuse_another(location: str, wanted: str, found: str) -> None:
    if wanted and wanted != found:
        message = f"the table at {location} is another one than the run has pinned: {found}, not {wanted}"
        raise ContentError(message, "pin the new table")


def _gone(location: str, version: str, why: object) -> ContentError:
    words = " ".join(str(why).split())[:300]
    return ContentError(
        f"version {version} of the table {location} cannot be read any more: {words}",
        "it was vacuumed or expired: pin a version that is there; the table is not copied here",
    )
