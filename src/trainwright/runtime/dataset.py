"""``tw.Dataset``: a file or folder of data in the hands of a function, read with the library that the author likes."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

_PACKED = (".gz", ".bz2", ".xz", ".zst", ".zip")


class Dataset:
    """Data that a step reads; ``tw.Dataset("table.csv")`` makes one by hand, for a test.

    Attributes:
        uri: of data that keeps versions of its own, such as ``delta:/tables/clicks?version=3``; else empty.
        version: what the other side calls that version: a number, a commit, a snapshot id; else empty.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, uri: str = "", version: str = "", kind: str = "", table: str = ""
    ) -> None:
        self._place = os.fspath(path)
        self._kind = kind
        self._table = table
        self.uri = uri
        self.version = version

    def __repr__(self) -> str:
        return f"Dataset({self.uri or self._place!r})"

    @property
    def path(self) -> Path:
        """Return where the file or folder is; read-only inside a job.

        Raises:
            ValueError: it is a table in an object store, which is no path of this machine.
        """
        from pathlib import Path

        if self._kind and "://" in self._place:
            raise ValueError(f"{self.uri} is a table at {self._place}, not a file here; read it by .pandas() or .uri")
        return Path(self._place)

    def files(self) -> list[Path]:
        """Return every file in it, sorted by path; the file itself when it is one."""
        if not self.path.is_dir():
            return [self.path]
        return sorted(path for path in self.path.rglob("*") if path.is_file())

    def pandas(self, **options: Any) -> Any:
        """Return one pandas table: Parquet, CSV, TSV or JSON lines by the files' ending; equal files are put together.

        Of a Delta or Iceberg table it is the version that the run has pinned.

        Args:
            options: for the reader of pandas, such as ``header=None``.

        Raises:
            ValueError: no table is in it, or several of different formats.
            ContentError: the version of the table is gone.
            ImportError: pandas is not installed.
        """
        if self._is_table():
            return self.arrow().to_pandas(**options)
        import pandas as pd

        ending, files = self._tables()
        if ending == ".parquet":
            parts = [pd.read_parquet(file, **options) for file in files]
        elif ending in {".jsonl", ".ndjson"}:
            parts = [pd.read_json(file, lines=True, **options) for file in files]
        else:
            separator = {"sep": "\t"} if ending == ".tsv" else {}
            parts = [pd.read_csv(file, **{**separator, **options}) for file in files]
        return parts[0] if len(parts) == 1 else pd.concat(parts, ignore_index=True)

    def polars(self, **options: Any) -> Any:
        """Return one polars table; see :meth:`pandas`."""
        import polars as pl

        if self._is_table():
            return pl.from_arrow(self.arrow(), **options)
        ending, files = self._tables()
        if ending == ".parquet":
            parts = [pl.read_parquet(file, **options) for file in files]
        elif ending in {".jsonl", ".ndjson"}:
            parts = [pl.read_ndjson(file, **options) for file in files]
        else:
            separator = {"separator": "\t"} if ending == ".tsv" else {}
            parts = [pl.read_csv(file, **{**separator, **options}) for file in files]
        return parts[0] if len(parts) == 1 else pl.concat(parts)

    def arrow(self) -> Any:
        """Return one Arrow table; see :meth:`pandas`."""
        if self._is_table():
            from trainwright.runtime import tables

            return tables.arrow(self._kind, self._place, self.version, self._table)
        import pyarrow as pa

        ending, files = self._tables()
        if ending == ".parquet":
            import pyarrow.parquet as pq

            return pa.concat_tables([pq.read_table(file) for file in files])
        if ending in {".jsonl", ".ndjson"}:
            import pyarrow.json as pj

            return pa.concat_tables([pj.read_json(file) for file in files])
        import pyarrow.csv as pc

        parse = pc.ParseOptions(delimiter="\t" if ending == ".tsv" else ",")
        return pa.concat_tables([pc.read_csv(file, parse_options=parse) for file in files])

    def _is_table(self) -> bool:
        return self._kind in {"delta", "iceberg"}

    def _tables(self) -> tuple[str, list[Path]]:
        """Return the one ending of the tables in it, and their files."""
        found: dict[str, list[Path]] = {}
        for file in self.files():
            ending = _ending(file.name)
            if ending in {".parquet", ".csv", ".tsv", ".jsonl", ".ndjson"}:
                found.setdefault(ending, []).append(file)
        if len(found) != 1:
            names = ", ".join(file.name for file in self.files()[:5]) or "nothing"
            what = "tables of several formats" if found else "no table (.parquet, .csv, .tsv, .jsonl)"
            raise ValueError(f"{self.path} holds {what}: {names}; read it yourself from .files() or .path")
        return next(iter(found.items()))


def _ending(name: str) -> str:
    root, ending = os.path.splitext(name.lower())
    return os.path.splitext(root)[1] if ending in _PACKED else ending
