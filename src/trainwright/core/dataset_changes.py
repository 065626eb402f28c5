"""How two contents of a dataset differ: files, columns, figures. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from trainwright.core.table import Column, Table

Figure = int | float | str | None


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file that is not the same on both sides.

    Attributes:
        kind: ``added``, ``removed``, ``renamed`` (equal content under another name) or ``changed``.
        path: on the later side; on the earlier one when it was removed.
        before: path that a renamed file had; empty otherwise.
        bytes_before, bytes_after: None where there is none.
    """

    kind: str
    path: str
    before: str = ""
    bytes_before: int | None = None
    bytes_after: int | None = None


@dataclass(frozen=True, slots=True)
class FigureChange:
    """One figure of one column that differs; without a column, of the table.

    Attributes:
        what: ``rows``, ``nulls``, ``mean`` …
    """

    column: str
    what: str
    before: Figure
    after: Figure


@dataclass(frozen=True, slots=True)
class TableChange:
    """One table that differs.

    Attributes:
        name: on the later side; on the earlier one when it is gone.
        kind: ``added``, ``removed`` or ``changed``.
        columns_added, columns_removed: their names.
        types: columns whose type changed, with both.
        figures: in the order of the columns.
    """

    name: str
    kind: str
    columns_added: tuple[str, ...] = ()
    columns_removed: tuple[str, ...] = ()
    types: tuple[tuple[str, str, str], ...] = ()
    figures: tuple[FigureChange, ...] = ()


def compare_files(
    before: Iterable[tuple[str, int, str]], after: Iterable[tuple[str, int, str]]
) -> tuple[FileChange, ...]:
    """Return the files that differ, by path; each is path, bytes and sha256.

    A file that is gone and one that is new are one renamed file when their content is equal; of several with the same
    content, the first by path become the first.
    """
    old = {path: (size, sha256) for path, size, sha256 in before}
    new = {path: (size, sha256) for path, size, sha256 in after}
    gone: dict[str, list[str]] = defaultdict(list)  # sha256 -> paths, the first last
    for path in sorted(old.keys() - new.keys(), reverse=True):
        gone[old[path][1]].append(path)
    found = []
    for path in sorted(new):
        size, sha256 = new[path]
        if path in old:
            if old[path][1] != sha256:
                found.append(FileChange("changed", path, "", old[path][0], size))
        elif gone[sha256]:
            found.append(FileChange("renamed", path, gone[sha256].pop(), size, size))
        else:
            found.append(FileChange("added", path, "", None, size))
    left = (path for paths in gone.values() for path in paths)
    found += [FileChange("removed", path, "", old[path][0], None) for path in left]
    return tuple(sorted(found, key=lambda change: change.path))


def compare_tables(name: str, before: Table, after: Table) -> TableChange | None:
    """Return how a table changed; None when nothing that is known of it did."""
    old = {column.name: column for column in before.columns}
    new = {column.name: column for column in after.columns}
    change = TableChange(
        name=name,
        kind="changed",
        columns_added=tuple(column for column in new if column not in old),
        columns_removed=tuple(column for column in old if column not in new),
        types=tuple((n, old[n].type, c.type) for n, c in new.items() if n in old and old[n].type != c.type),
        figures=tuple(_figures(before, after, [(old[n], c) for n, c in new.items() if n in old])),
    )
    return None if change == TableChange(name, "changed") else change


def figures_of(column: Column) -> dict[str, Figure]:
    """Return what is known of a column, by the word for it; what there is none of is None."""
    numbers = column.count > 0
    return {
        "nulls": column.nulls,
        "NaN": column.nans,
        "inf": column.infinities,
        "min": column.low,
        "max": column.high,
        "mean": column.mean if numbers else None,
        "std": column.std,
        "distinct": column.distinct if column.sketch else None,
    }


def _figures(before: Table, after: Table, columns: Sequence[tuple[Column, Column]]) -> Iterator[FigureChange]:
    if before.rows != after.rows:
        yield FigureChange("", "rows", before.rows, after.rows)
    for old, new in columns:
        then, now = figures_of(old), figures_of(new)
        for what in now:
            if then[what] != now[what]:
                yield FigureChange(new.name, what, then[what], now[what])
