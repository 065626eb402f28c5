"""What tables hold, by the hash of the file: read once, whatever version or dataset the file is in."""

import base64
import json
import struct
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from trainwright.core.codec import canonical_json, from_json, to_json
from trainwright.core.table import Column, Table
from trainwright.store.database import Rows
from trainwright.store.rows import instant

_AGE = timedelta(days=90)


def known(rows: Rows, files: Iterable[tuple[str, str]]) -> dict[tuple[str, str], Table]:
    """Return what is known of files, by sha256 and how they are read."""
    found = rows.all(
        "SELECT t.sha256, t.reading, t.body FROM json_each(:files) f JOIN table_profile t"
        " ON t.sha256 = json_extract(f.value, '$[0]') AND t.reading = json_extract(f.value, '$[1]')",
        {"files": json.dumps(sorted(files))},
    )
    return {(row["sha256"], row["reading"]): _table_of(row["body"]) for row in found}


def keep(rows: Rows, found: Mapping[tuple[str, str], Table], now: datetime) -> None:
    """Write what files hold."""
    rows.write_many(
        "INSERT INTO table_profile (sha256, reading, body, read_at) VALUES (:sha256, :reading, :body, :now)"
        " ON CONFLICT DO NOTHING",
        [
            {"sha256": sha256, "reading": reading, "body": _body(table), "now": instant(now)}
            for (sha256, reading), table in found.items()
        ],
    )


def drop_old(rows: Rows, now: datetime) -> None:
    """Remove what was read long ago: it is read again when it is asked for."""
    rows.write("DELETE FROM table_profile WHERE read_at < :before", {"before": instant(now - _AGE)})


def _body(table: Table) -> str:
    columns = [
        {**to_json(replace(column, sketch=())), "sketch": base64.b64encode(_packed(column.sketch)).decode()}
        for column in table.columns
    ]
    return canonical_json({"rows": table.rows, "columns": columns})


def _table_of(body: str) -> Table:
    found = json.loads(body)
    columns = []
    for fields in found["columns"]:
        packed = base64.b64decode(fields["sketch"])
        column = from_json(Column, {**fields, "sketch": []})
        columns.append(replace(column, sketch=struct.unpack(f">{len(packed) // 8}Q", packed)))
    return Table(found["rows"], tuple(columns))


def _packed(sketch: tuple[int, ...]) -> bytes:
    return struct.pack(f">{len(sketch)}Q", *sketch)
