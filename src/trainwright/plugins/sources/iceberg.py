"""Iceberg tables, pinned to a snapshot: ``iceberg:/path``, ``iceberg+s3://…``, ``iceberg://CATALOG/NAMESPACE.TABLE``."""

import gzip
import json
import os
from pathlib import Path
from typing import Any

from trainwright.core.errors import NotFoundError, SpecError, TrainwrightError, TransientBackendError
from trainwright.ports.source import DataSource, Snapshot, host_of, library_missing, words_of
from trainwright.runtime import tables
from trainwright.runtime.errors import ContentError

_GZIP = b"\x1f\x8b"


class IcebergSource:
    """Resolves a table to its id and snapshot, by its own metadata; steps read it where it is."""

    schemes: tuple[str, ...] = ("iceberg", "iceberg+s3", "iceberg+gs", "iceberg+abfss", "iceberg+az", "iceberg+file")

    def locate(self, uri: str, base: Path, *, reference: bool = False) -> Snapshot:  # noqa: ARG002 - always one
        """Return the snapshot behind ``uri``, the current one when it names none. See ``DataSource.locate``.

        Args:
            uri: of a table, with ``?snapshot=ID``, ``?ref=BRANCH-OR-TAG`` or neither. The newest metadata file of a
                folder counts; by its catalog (``iceberg://``) a table is found as the catalog has it.
            base: where relative paths start.
            reference: of no effect.

        Raises:
            SpecError: TW4304 no table, or an unknown word after ``?``.
            NotFoundError: TW4301 a library is missing; TW4306 no such table; TW4307 no such snapshot, or none yet.
            BackendError: TW6401 it cannot be reached or read.
        """
        place, _, query = uri.partition("?")
        key, _, wanted = query.partition("=")
        location = _location(place, base)
        if not location or (query and (key not in {"snapshot", "ref"} or not wanted)):
            remedy = "write iceberg:/path/to/table, with ?snapshot=ID or ?ref=NAME when it is not the current one"
            raise SpecError("TW4304", f"{uri!r} names no Iceberg table and snapshot", where=uri, remedy=remedy)
        metadata = _metadata(uri, location)
        snapshot = _snapshot(metadata, key, wanted, uri, location)
        if location.startswith("iceberg://"):
            pinned = location
        else:
            pinned = f"iceberg+{location}" if "://" in location else f"iceberg:{location}"
        return Snapshot("iceberg", f"{pinned}?snapshot={snapshot}", snapshot, table=str(metadata["table-uuid"]))


def _location(place: str, base: Path) -> str:
    scheme, _, rest = place.partition(":")
    transport = scheme.partition("+")[2]
    if transport and transport != "file":
        return f"{transport}:{rest}" if rest.strip("/") else ""
    if not transport and rest.startswith("//") and not rest.startswith("///"):
        catalog, _, table = rest[2:].partition("/")
        return place if catalog and table else ""
    path = rest.removeprefix("//")
    return os.path.normpath(base / path) if path.strip("/") else ""


def _metadata(uri: str, location: str) -> dict[str, Any]:
    """Return the metadata of the table, as its file has it."""
    try:
        if location.startswith("iceberg://"):
            text = tables.catalog_table(location).metadata.model_dump_json(by_alias=True).encode()
        else:
            text = tables.read_bytes(tables.iceberg_metadata(location))
        found: dict[str, Any] = json.loads(gzip.decompress(text) if text.startswith(_GZIP) else text)
    except TrainwrightError:
        raise
    except ImportError as error:
        name = error.name or "pyiceberg"
        raise library_missing(name, uri, "pyiceberg" if name.startswith("pyiceberg") else name) from error
    except ContentError as error:
        raise SpecError("TW4304", error.message, where=uri, remedy=error.remedy) from error
    except (FileNotFoundError, NotADirectoryError) as error:
        raise _nothing(uri, location) from error
    except Exception as error:
        if type(error).__name__ in {"NoSuchTableError", "NoSuchNamespaceError"}:
            raise _nothing(uri, location) from error
        message = f"{host_of(location, os.environ)} fails for {location}: {words_of(error)}"
        remedy = "check the address, the network and the credentials"
        raise TransientBackendError("TW6401", message, where=uri, remedy=remedy) from error
    return found


def _snapshot(metadata: dict[str, Any], key: str, wanted: str, uri: str, location: str) -> str:
    known = {str(one["snapshot-id"]) for one in metadata.get("snapshots") or ()}
    current = metadata.get("current-snapshot-id")
    if key == "ref":
        refs = metadata.get("refs") or {}
        if wanted not in refs:
            remedy = f"it has {', '.join(sorted(refs)) or 'none'}"
            raise NotFoundError("TW4307", f"the table {location} has no ref {wanted}", where=uri, remedy=remedy)
        return str(refs[wanted]["snapshot-id"])
    found = wanted or ("" if current is None else str(current))
    if found not in known:
        newest = f"its current one is {current}" if str(current) in known else "it has none yet: write to it first"
        what = f"no snapshot {wanted}" if wanted else "no snapshot"
        raise NotFoundError("TW4307", f"the table {location} has {what}", where=uri, remedy=newest)
    return found


def _nothing(uri: str, location: str) -> NotFoundError:
    remedy = "name the folder that holds metadata/, or iceberg://CATALOG/NAMESPACE.TABLE"
    return NotFoundError("TW4306", f"there is no Iceberg table at {location}", where=uri, remedy=remedy)


_: DataSource = IcebergSource()
