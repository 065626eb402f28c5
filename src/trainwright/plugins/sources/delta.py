"""Delta tables, pinned to a version: ``delta:/path?version=3``, ``delta+s3://bucket/table``.

The library decides what the newest version is: the log alone does not say it when a checkpoint has replaced its files.
"""

import os
from pathlib import Path

from trainwright.core.errors import NotFoundError, SpecError, TransientBackendError
from trainwright.ports.source import DataSource, Snapshot, host_of, library_missing, words_of
from trainwright.runtime.tables import storage_options


class DeltaSource:
    """Resolves a table to its id and version; steps read it where it is."""

    schemes: tuple[str, ...] = ("delta", "delta+s3", "delta+gs", "delta+abfss", "delta+az", "delta+file")

    def locate(self, uri: str, base: Path, *, reference: bool = False) -> Snapshot:  # noqa: ARG002 - always one
        """Return the version behind ``uri``, the newest when it names none. See ``DataSource.locate``.

        Args:
            uri: ``delta:path`` or ``delta+SCHEME://…``, with ``?version=N`` or without.
            base: where relative paths start.
            reference: of no effect.

        Raises:
            SpecError: TW4304 no path, or a version that is no number.
            NotFoundError: TW4301 deltalake is missing; TW4306 no such table; TW4307 no such version.
            BackendError: TW6401 it cannot be reached.
        """
        place, _, query = uri.partition("?")
        version = query.removeprefix("version=")
        location = _location(place, base)
        if not location or (query and not (query.startswith("version=") and version.isdecimal())):
            remedy = "write delta:/path/to/table?version=3, or leave ?version= out for the newest"
            raise SpecError("TW4304", f"{uri!r} names no Delta table and version", where=uri, remedy=remedy)
        table, number = _read(uri, location, version)
        written = location if "://" in location else f":{location}"
        scheme = "delta+" if "://" in location else "delta"
        return Snapshot("delta", f"{scheme}{written}?version={number}", str(number), table=table)


def _location(place: str, base: Path) -> str:
    scheme, _, rest = place.partition(":")
    transport = scheme.partition("+")[2]
    if transport and transport != "file":
        return f"{transport}:{rest}" if rest.strip("/") else ""
    path = rest.removeprefix("//") if transport or rest.startswith("///") else rest
    return os.path.normpath(base / path) if path.strip("/") else ""


def _read(uri: str, location: str, version: str) -> tuple[str, int]:
    """Return the table's id and the number of its version."""
    try:
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError, TableNotFoundError
    except ImportError as error:
        raise library_missing("deltalake", uri, "deltalake") from error
    nothing = NotFoundError("TW4306", f"there is no Delta table at {location}", where=uri, remedy="check the path")
    if location.startswith("/") and not Path(location).is_dir():
        raise nothing
    options = storage_options(os.environ, location)
    try:
        table = DeltaTable(location, storage_options=options)
    except TableNotFoundError as error:
        raise nothing from error
    except (DeltaError, OSError) as error:
        message = f"{host_of(location, os.environ)} fails for {location}: {words_of(error)}"
        remedy = "check the address, the network and the credentials"
        raise TransientBackendError("TW6401", message, where=uri, remedy=remedy) from error
    newest = table.version()
    if version:
        try:
            table = DeltaTable(location, version=int(version), storage_options=options)
        except (DeltaError, OSError) as error:
            message = f"the table {location} has no version {version} to read"
            remedy = f"its newest is {newest}; older ones go when its log is cleaned"
            raise NotFoundError("TW4307", message, where=uri, remedy=remedy) from error
    return str(table.metadata().id), table.version()


_: DataSource = DeltaSource()
