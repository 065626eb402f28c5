"""Commands that look into dataset versions: show and diff."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from trainwright.cli.pipeline import Json

if TYPE_CHECKING:
    from trainwright.core.dataset_changes import Figure, FileChange, TableChange
    from trainwright.core.table import Table
    from trainwright.service.dataset_changes import Difference
    from trainwright.service.tables import Described

MOST_FILES = 20
MOST_TABLES = 8
MOST_COLUMNS = 60
MOST_FIGURES = 40
"""Lines of one list; the rest is counted, and all of it is in ``--json``."""

_NARROWEST = 80
_SMALLEST = 1e-12

Quick = Annotated[bool, typer.Option("--quick", help="Do not read tables that were not read before.")]


def add_to(dataset: typer.Typer) -> None:
    """Add the commands below ``tw dataset``."""
    dataset.command()(show)
    dataset.command()(diff)


def show(
    address: Annotated[str, typer.Argument(metavar="NAME[@VERSION][#SLICE]", help="Such as digits@3#split=train.")],
    quick: Quick = False,
    json: Json = False,
) -> None:
    """Show a version: files, source, tags, and of its tables the columns, types and figures.

    Each table is read once by its content; later it is known. NaN is not null; distinct values from 256 on are
    estimated.
    """
    from trainwright.cli import output
    from trainwright.cli.session import session
    from trainwright.service.tables import describe

    with session() as app:
        found = describe(app.context, address, quick=quick)
        now = app.context.clock.now()
    if json:
        output.put_json(_as_json(found))
        return
    from trainwright.core.quantity import show_bytes

    version, content = found.version, found.content
    output.put(found.address)
    output.put(f"digest  {content.digest}")
    output.put(f"source  {version.source}")
    output.put(f"added   {output.when(version.added_at, now)} by {version.added_by}")
    if found.tags:
        output.put(f"tags    {', '.join(found.tags)}")
    if found.snapshot is not None:
        output.put(f"kept    elsewhere ({found.snapshot.kind}), version {found.snapshot.version}; nothing is copied")
        return
    output.put(f"files   {content.files}, {show_bytes(content.size_bytes)}\n")
    rows = [(file.path, show_bytes(file.size_bytes), file.sha256[:12]) for file in found.files[:MOST_FILES]]
    _fitted(("file", "size", "sha256"), rows, len(found.files))
    for table in found.tables[:MOST_TABLES]:
        parts = f" in {len(table.files)} files" if len(table.files) > 1 else ""
        output.put(f"\n{table.name}: {table.table.rows} rows, {len(table.table.columns)} columns{parts}")
        _figures(table.table)
    _more(len(found.tables) - MOST_TABLES, "tables")
    _unread(found)


def diff(
    one: Annotated[str, typer.Argument(metavar="A", help="The earlier side; a name alone = its last two versions.")],
    other: Annotated[str, typer.Argument(metavar="[B]", help="The later side; the newest version by default.")] = "",
    quick: Quick = False,
    json: Json = False,
) -> None:
    """Show how two versions, or slices of some, differ: files, columns, figures."""
    from trainwright.cli import output
    from trainwright.cli.session import session
    from trainwright.service.dataset_changes import compare

    with session() as app:
        found = compare(app.context, one, other, quick=quick)
    if json:
        sides = {name: _side(side) for name, side in (("before", found.before), ("after", found.after))}
        output.put_json({**sides, "files": found.files, "equal_files": found.equal_files, "tables": found.tables})
        return
    _show_difference(found)


def _show_difference(found: "Difference") -> None:
    from collections import Counter

    from trainwright.cli import output
    from trainwright.core.quantity import show_bytes

    before, after = found.before, found.after
    output.put(f"{before.address} → {after.address}")
    if before.content.digest == after.content.digest:
        output.put("the same content")
        return
    if before.snapshot or after.snapshot:
        sides = [side.snapshot.version if side.snapshot else "content" for side in (before, after)]
        output.put(f"version {sides[0]} → {sides[1]}: kept elsewhere, so what differs is not known here")
        return
    kinds = Counter(change.kind for change in found.files)
    counted = [f"{kinds[kind]} {kind}" for kind in ("added", "removed", "renamed", "changed") if kinds[kind]]
    sizes = f"{show_bytes(before.content.size_bytes)} → {show_bytes(after.content.size_bytes)}"
    output.put(f"files: {', '.join([*counted, f'{found.equal_files} equal'])}; {sizes}")
    if found.files:
        _fitted(("", "file", "before", "after"), map(_file_row, found.files[:MOST_FILES]), len(found.files))
    for table in found.tables[:MOST_TABLES]:
        _table_change(table)
    _more(len(found.tables) - MOST_TABLES, "tables that differ")
    for side in (before, after):
        _unread(side)


def _file_row(change: "FileChange") -> tuple[str, ...]:
    from trainwright.core.quantity import show_bytes

    sizes = ["" if size is None else show_bytes(size) for size in (change.bytes_before, change.bytes_after)]
    path = f"{change.before} → {change.path}" if change.before else change.path
    return (change.kind, path, *sizes)


def _table_change(change: "TableChange") -> None:
    from trainwright.cli import output

    output.put(f"\n{change.name}: {change.kind if change.kind != 'changed' else ''}".rstrip(": "))
    for word, names in (("added", change.columns_added), ("removed", change.columns_removed)):
        if names:
            output.put(f"columns {word}: {output.some(names)}")
    for name, old, new in change.types:
        output.put(f"{name}: {old} → {new}")
    rows = [
        (figure.column, figure.what, _text(figure.before), _text(figure.after), _change(figure.before, figure.after))
        for figure in change.figures[:MOST_FIGURES]
    ]
    if rows:
        _fitted(("column", "", "before", "after", "change"), rows, len(change.figures))


def _figures(table: "Table") -> None:
    from trainwright.core.dataset_changes import figures_of

    names = ("nulls", "NaN", "inf", "min", "max", "mean", "std", "distinct")
    rows = []
    for column in table.columns[:MOST_COLUMNS]:
        figures = figures_of(column)
        counts = {name: figures[name] or None for name in ("NaN", "inf")}
        texts = {name: _text(value) for name, value in {**figures, **counts}.items()}
        if not column.is_exact:
            texts["distinct"] = f"~{texts['distinct']}"
        rows.append((column.name, column.type, *(texts[name] for name in names)))
    _fitted(("column", "type", *names), rows, len(table.columns))


def _fitted(columns: Sequence[str], rows: Iterable[Sequence[str]], total: int) -> None:
    """Print a table that is cut where it does not fit, without columns that are empty, and count what was left out."""
    import shutil

    from trainwright.cli import output

    lines = [tuple(row) for row in rows]
    filled = [i for i in range(len(columns)) if i == 0 or any(line[i] for line in lines)]
    names = [columns[i] for i in filled]
    cells = [tuple(line[i] for i in filled) for line in lines]
    room = max(_NARROWEST, shutil.get_terminal_size((_NARROWEST, 0)).columns)
    widths = output.fitted(names, cells, room)
    cut = [[cell if len(cell) <= width else f"{cell[: width - 1]}…" for cell, width in zip(line, widths, strict=True)]
           for line in cells]  # fmt: skip
    output.put(output.plain(names, cut))
    _more(total - len(lines), "")


def _more(count: int, what: str) -> None:
    from trainwright.cli import output

    if count > 0:
        output.put(f"and {count} more {what}".rstrip() + "; all: --json")


def _unread(found: "Described") -> None:
    from trainwright.cli import output

    reasons: dict[str, list[str]] = {}
    for path, why in found.unread.items():
        reasons.setdefault(why, []).append(path)
    for why, paths in reasons.items():
        output.say(f"not read ({why}): {output.some(paths)}")


def _text(value: "Figure") -> str:
    from trainwright.cli import output

    if value is None:
        return ""
    return output.figure(value) if isinstance(value, float) else str(value)


def _change(before: "Figure", after: "Figure") -> str:
    """Return a change of numbers as a difference and, where there is something to compare with, in per cent."""
    if isinstance(before, str) or isinstance(after, str) or before is None or after is None:
        return ""
    apart = after - before
    share = f" ({apart / abs(before):+.1%})" if abs(before) > _SMALLEST else ""
    return f"{apart:+.4g}{share}"


def _side(found: "Described") -> dict[str, object]:
    return {"address": found.address, "content": found.content, "tags": found.tags, "unread": found.unread}


def _as_json(found: "Described") -> dict[str, object]:
    from trainwright.core.dataset_changes import figures_of

    tables = [
        {
            "name": named.name,
            "files": named.files,
            "rows": named.table.rows,
            "columns": [
                {"name": c.name, "type": c.type, **figures_of(c), "distinct_exact": c.is_exact}
                for c in named.table.columns
            ],
        }
        for named in found.tables
    ]
    return {**_side(found), "version": found.version, "files": found.files, "tables": tables}
