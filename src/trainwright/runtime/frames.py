"""Whatever holds a table, as one table of pandas: for checks, which are written against it."""

from __future__ import annotations

import os

from trainwright.runtime.dataset import Dataset
from trainwright.runtime.formats import RefusedValue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_PARQUET = b"PAR1"


def frame(table: Any) -> Any:
    """Return a pandas table of a pandas, polars or Arrow table, of a ``tw.Dataset``, or of a path to one.

    One file without an ending is known by its first bytes: Parquet, JSON lines when it begins with ``{``, else CSV.

    Raises:
        RefusedValue: it is no table.
        ImportError: pandas is not installed.
    """
    if isinstance(table, (str, os.PathLike)):
        table = Dataset(table)
    if isinstance(table, Dataset):
        return _read(table)
    if hasattr(table, "to_pandas"):  # polars, Arrow
        return table.to_pandas()
    if hasattr(table, "isna") and hasattr(table, "columns"):
        return table
    remedy = "give a pandas, polars or Arrow table, a tw.Dataset or a path"
    raise RefusedValue(f"a {type(table).__name__} is no table", remedy)


def _read(dataset: Dataset) -> Any:
    files = dataset.files()
    if len(files) == 1 and "." not in files[0].name:
        import pandas as pd

        with open(files[0], "rb") as file:
            first = file.read(len(_PARQUET))
        if first == _PARQUET:
            return pd.read_parquet(files[0])
        if first[:1] == b"{":
            return pd.read_json(files[0], lines=True)
        return pd.read_csv(files[0])
    try:
        return dataset.pandas()
    except ValueError as error:
        raise RefusedValue(str(error), "give files with one of these endings") from error
