"""How two dataset versions, or slices of some, differ."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from trainwright.core.dataset import LATEST, PREVIOUS
from trainwright.core.dataset_changes import FileChange, TableChange, compare_files, compare_tables
from trainwright.core.errors import NotFoundError
from trainwright.service import datasets
from trainwright.service.context import Context
from trainwright.service.tables import Described, NamedTable, describe


@dataclass(frozen=True, slots=True)
class Difference:
    """What changed from one to another.

    Attributes:
        equal_files: how many are the same on both sides.
        tables: those that differ; none while a table of a side was not read.
    """

    before: Described
    after: Described
    files: tuple[FileChange, ...]
    equal_files: int
    tables: tuple[TableChange, ...]


def compare(context: Context, one: str, other: str = "", *, quick: bool = False) -> Difference:
    """Return how two addresses differ; with one that has no version, how its last two versions do.

    Args:
        context: of the project.
        one: the earlier side, or a dataset without a version.
        other: the later side; empty = the newest version of ``one``.
        quick: read no file that was not read before.

    Raises:
        NotFoundError: one of them leads nowhere, or there is one version only.
        SpecError: a slice is none.
    """
    if not other:
        name, mark, part = one.partition("#")
        other = f"{name.partition('@')[0]}@{LATEST}{mark}{part}"
        if "@" not in name:
            _need_two(context, name.removeprefix("datasets/"))
            one = f"{name}@{PREVIOUS}{mark}{part}"
    before, after = describe(context, one, quick=quick), describe(context, other, quick=quick)
    files = compare_files(*([(f.path, f.size_bytes, f.sha256) for f in side.files] for side in (before, after)))
    touched = sum(change.kind in {"added", "renamed", "changed"} for change in files)
    whole = not before.unread and not after.unread
    tables = tuple(_tables(before.tables, after.tables)) if whole else ()
    return Difference(before, after, files, len(after.files) - touched, tables)


def _need_two(context: Context, name: str) -> None:
    if len(datasets.versions(context, name)) == 1:
        raise NotFoundError(
            "TW4202", f"dataset {name} has one version only", remedy=f"name two addresses: tw dataset diff {name}@1 …"
        )


def _tables(before: Sequence[NamedTable], after: Sequence[NamedTable]) -> Iterator[TableChange]:
    left = list(before)
    for table in after:
        old = _earlier(table, left, only=len(before) == len(after) == 1)
        if old is None:
            yield TableChange(table.name, "added")
            continue
        left.remove(old)
        change = compare_tables(table.name, old.table, table.table)
        if change is not None:
            yield change
    for table in left:
        yield TableChange(table.name, "removed")


def _earlier(table: NamedTable, before: Sequence[NamedTable], *, only: bool) -> NamedTable | None:
    """Return what a table was: the one of that name, else with most files in common, else with the same columns."""
    if only:
        return before[0]
    named = next((old for old in before if old.name == table.name), None)
    if named is not None:
        return named
    paths = set(table.files)
    shared = max(before, key=lambda old: len(paths.intersection(old.files)), default=None)
    if shared is not None and paths.intersection(shared.files):
        return shared
    columns = [column.name for column in table.table.columns]
    alike = (old for old in before if [column.name for column in old.table.columns] == columns)
    return next(alike, None)
