"""Reads tables in pieces and says what they hold; pyarrow does the reading, and is imported when a table is read."""

from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any

from trainwright.core.table import SKETCH, Column, Table, smallest, together

RULES = 1
"""Of reading; a summary made by other rules is made anew."""

_FORMATS = {".parquet": "parquet", ".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl"}
_PACKINGS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
_DELIMITERS = {"csv": ",", "tsv": "\t"}
_PIECE_BYTES = 4 << 20
_PIECE_ROWS = 1 << 16
_LONGEST_TEXT = 200
_NULLS = ("", "NA", "N/A", "n/a", "#N/A", "NULL", "null", "None")
"""What stands for a null in CSV, unless it is quoted; ``nan`` is a number that is none."""

_WIDER = {"null": "int64", "int64": "double", "double": "string"}
"""What a CSV column is taken for when a later value is not what the first ones were; anything else becomes text."""


class UnreadableTableError(Exception):
    """A file is not the table that its name promises."""


def format_of(path: str) -> str:
    """Return how a table is read, by the ending of its name: ``csv``, ``csv gzip``; empty for what is no table."""
    name = path.rpartition("/")[2].lower()
    stem, dot, ending = name.rpartition(".")
    packing = _PACKINGS.get(dot + ending, "")
    if packing:
        name = stem
    found = _FORMATS.get("." + name.rpartition(".")[2] if "." in name else "", "")
    if not found or (found == "parquet" and packing):
        return ""
    return f"{found} {packing}".rstrip()


def can_measure() -> bool:
    """Tell whether pyarrow is installed."""
    import importlib.util

    return importlib.util.find_spec("pyarrow") is not None


def measure(path: Path, form: str) -> Table:
    """Return what the table in a file holds, reading it piece by piece.

    Args:
        path: of the file, whatever its name.
        form: as :func:`format_of` returns it.

    Raises:
        UnreadableTableError: it is not of that format.
        OSError: it cannot be read.
    """
    import pyarrow as pa

    kind, _, packing = form.partition(" ")
    try:
        if kind in _DELIMITERS:
            return _csv(path, packing, _DELIMITERS[kind])
        return together(
            _table(piece) for piece in (_parquet(path) if kind == "parquet" else _json_lines(path, packing))
        )
    except pa.ArrowException as error:
        raise UnreadableTableError(str(error).splitlines()[0]) from error


def _parquet(path: Path) -> Iterator[Any]:
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        yield file.schema_arrow.empty_table()
        yield from file.iter_batches(batch_size=_PIECE_ROWS)


def _opened(path: Path, packing: str) -> Any:
    import pyarrow as pa

    return pa.input_stream(str(path), compression=packing or None)


def _json_lines(path: Path, packing: str) -> Iterator[Any]:
    import io

    import pyarrow.json as pj

    with _opened(path, packing) as stream:
        rest = b""
        while True:
            data = stream.read(_PIECE_BYTES)
            piece, rest = _whole_lines(rest + data) if data else (rest, b"")
            if piece.strip():
                yield pj.read_json(io.BytesIO(piece), pj.ReadOptions(use_threads=False, block_size=len(piece) + 1))
            if not data:
                return


def _whole_lines(data: bytes) -> tuple[bytes, bytes]:
    end = data.rfind(b"\n") + 1
    return data[:end], data[end:]


def _csv(path: Path, packing: str, delimiter: str) -> Table:
    """Return what a CSV file holds; when a column turns out too narrow, it is begun anew with a wider one."""
    import pyarrow as pa

    types: dict[str, Any] = {}
    while True:
        found, schema = Table(0, ()), None
        try:
            for piece in _read_csv(path, packing, delimiter, types):
                schema = piece.schema
                found = together((found, _table(piece)))
        except pa.ArrowInvalid as error:
            types |= _wider(error, schema)
        else:
            return found


def _wider(error: Exception, schema: Any) -> dict[str, Any]:
    """Return a wider type for the column that a value did not fit; raise the error when it is about anything else."""
    import pyarrow as pa

    number = str(error).partition("In CSV column #")[2].partition(":")[0]
    if schema is None or not number.isdecimal() or int(number) >= len(schema):
        raise error
    field = schema.field(int(number))
    if pa.types.is_string(field.type):
        raise error
    return {field.name: pa.type_for_alias(_WIDER.get(str(field.type), "string"))}


def _read_csv(path: Path, packing: str, delimiter: str, types: dict[str, Any]) -> Iterator[Any]:
    import pyarrow as pa
    import pyarrow.csv as pc

    with _opened(path, packing) as stream:
        try:
            reader = pc.open_csv(
                stream,
                pc.ReadOptions(block_size=_PIECE_BYTES, use_threads=False),
                pc.ParseOptions(delimiter=delimiter, newlines_in_values=True),
                pc.ConvertOptions(
                    column_types=types,
                    null_values=list(_NULLS),
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=False,
                ),
            )
        except pa.ArrowInvalid as error:
            if "Empty CSV" in str(error):
                return
            raise
        yield pa.Table.from_batches([], schema=reader.schema)
        yield from reader


def _table(piece: Any) -> Table:
    """Return what a piece, a batch or a table, holds."""
    names: list[str] = []
    columns = []
    for place, field in enumerate(piece.schema):
        name, again = field.name, 2
        while name in names:
            name, again = f"{field.name} ({again})", again + 1
        names.append(name)
        columns.append(_column(name, piece.column(place)))
    return Table(piece.num_rows, tuple(columns))


def _column(name: str, values: Any) -> Column:
    import pyarrow as pa

    kind = values.type
    found = Column(name, _type(kind), len(values), values.null_count)
    if len(values) == values.null_count:
        return found
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if pa.types.is_dictionary(kind):
        values = values.dictionary_decode()
        kind = values.type
    values = values.drop_null()
    if pa.types.is_boolean(kind):
        return _numbers(found, values.cast(pa.int8()))
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return _numbers(found, values)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return _ordered(found, values.cast(pa.large_string()))
    if pa.types.is_temporal(kind) and not pa.types.is_duration(kind):
        return _ordered(found, values)
    return found


def _type(kind: Any) -> str:
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return _cut(str(kind))


def _numbers(found: Column, values: Any) -> Column:
    from dataclasses import replace

    import pyarrow as pa
    import pyarrow.compute as pc

    exact = pa.types.is_integer(values.type)
    doubles = values.cast(pa.float64(), safe=False)
    nans = infinities = 0
    if not exact:
        nans = pc.sum(pc.is_nan(doubles)).as_py() or 0
        doubles = doubles.filter(pc.is_finite(doubles))
        infinities = len(values) - nans - len(doubles)
        values = doubles
    if not len(doubles):
        return replace(found, nans=nans, infinities=infinities)
    ends = pc.min_max(values).as_py()
    return replace(
        found,
        nans=nans,
        infinities=infinities,
        low=ends["min"],
        high=ends["max"],
        count=len(doubles),
        mean=pc.mean(doubles).as_py(),
        spread=pc.variance(doubles).as_py() * len(doubles),
        sketch=_sketch_of_numbers(values, doubles),
    )


def _sketch_of_numbers(values: Any, doubles: Any) -> tuple[int, ...]:
    """Return the smallest hashes: the bits of each number, mixed as splitmix64 does, so that equal numbers are equal.

    An integer counts as the double of that value, unless there is none.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_integer(values.type) and not doubles.cast(values.type, safe=False).equals(values):
        bits = values.cast(pa.int64() if pa.types.is_signed_integer(values.type) else pa.uint64()).view(pa.uint64())
    else:
        bits = pc.add(doubles, 0.0).view(pa.uint64())  # -0.0 is 0.0
    mixed = pc.add(pc.unique(bits), pa.scalar(0x9E3779B97F4A7C15, pa.uint64()))
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = pc.bit_wise_xor(mixed, pc.shift_right(mixed, pa.scalar(shift, pa.uint64())))
        mixed = pc.multiply(mixed, pa.scalar(factor, pa.uint64()))
    mixed = pc.bit_wise_xor(mixed, pc.shift_right(mixed, pa.scalar(31, pa.uint64())))
    if len(mixed) > SKETCH:
        mixed = mixed.take(pc.select_k_unstable(mixed, SKETCH, sort_keys=[("", "ascending")]))
    return smallest(mixed.to_pylist())


def _ordered(found: Column, values: Any) -> Column:
    from dataclasses import replace

    import pyarrow as pa
    import pyarrow.compute as pc

    ends = pc.min_max(values)
    low, high = (ends[end].cast(pa.large_string()).as_py() for end in ("min", "max"))
    hashes = (
        int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")
        for text in pc.unique(values).cast(pa.large_string()).to_pylist()
    )
    return replace(found, low=_cut(low), high=_cut(high), sketch=smallest(hashes))


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_TEXT else text[: _LONGEST_TEXT - 1] + "…"
