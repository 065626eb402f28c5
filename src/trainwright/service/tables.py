"""The tables in a dataset version: which files make one, and what they hold, each file read once by its content."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from trainwright.core.artifact import Content, DatasetVersion
from trainwright.core.errors import TrainwrightError
from trainwright.core.table import Table, together
from trainwright.ports.source import Snapshot
from trainwright.service import measuring, slices
from trainwright.service.context import Context
from trainwright.service.datasets import resolve
from trainwright.store import tables as store
from trainwright.store import versions
from trainwright.store.database import Rows

_BATCH = 200  # files whose summaries are written together, so that one who is interrupted keeps most
_MOST_PARTS = 100  # of a table that is looked for with every event
INSTALL = "pip install trainwright[tables]"


@dataclass(frozen=True, slots=True)
class File:
    """One file of a version."""

    path: str
    size_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class NamedTable:
    """Files of one folder, format and set of columns, as one table.

    Attributes:
        name: the path of the only file, else the folder with a pattern: ``train/*.csv``.
        files: their paths.
    """

    name: str
    files: tuple[str, ...]
    table: Table


@dataclass(frozen=True, slots=True)
class Described:
    """A version, or a slice of one, and what is in it.

    Attributes:
        address: canonical, with the slice.
        content: of the slice, or of the whole.
        tags: of the version, sorted.
        unread: path → why what looks like a table was not read.
        snapshot: what it stands for when it is kept elsewhere; then no file of it is known.
    """

    address: str
    version: DatasetVersion
    content: Content
    tags: tuple[str, ...]
    files: tuple[File, ...]
    tables: tuple[NamedTable, ...]
    unread: Mapping[str, str]
    snapshot: Snapshot | None = None


def describe(context: Context, address: str, *, quick: bool = False) -> Described:
    """Return what is behind the address of a dataset version or a slice of it.

    Args:
        context: of the project.
        address: ``datasets/name[@version][#slice]``; ``datasets/`` may be left out.
        quick: read no file that was not read before.

    Raises:
        NotFoundError: there is no such version, the slice is empty, or content is gone.
        SpecError: the slice is none.
    """
    whole, part = slices.split(address)
    version = resolve(context, whole if whole.startswith("datasets/") else f"datasets/{whole}")
    full, content = slices.cut(context, version, part)
    files = tuple(File(*entry) for entry in context.content.entries(content.digest))
    with context.database.reading() as rows:
        tags = versions.tags(rows, context.project, version.name).get((version.name, version.version), ())
    found, unread = _read(context, files, quick=quick)
    return Described(
        full, version, content, tags, files, _tables(found), unread, context.content.snapshot(content.digest)
    )


def _read(context: Context, files: Sequence[File], *, quick: bool) -> tuple[dict[str, Table], dict[str, str]]:
    """Return what each file that is a table holds, and why others were not read."""
    forms = {file.path: form for file in files if (form := measuring.format_of(file.path))}
    wanted = {file.path: (file.sha256, f"{forms[file.path]} {measuring.RULES}") for file in files if file.path in forms}
    with context.database.reading() as rows:
        known = store.known(rows, set(wanted.values()))
    missing = [path for path, key in wanted.items() if key not in known]
    unread: dict[str, str] = {}
    if missing and (quick or not measuring.can_measure()):
        why = "not read before" if quick else f"pyarrow is not installed: {INSTALL}"
        unread = dict.fromkeys(missing, why)
    else:
        for start in range(0, len(missing), _BATCH):
            some = missing[start : start + _BATCH]
            known |= _measure(context, {path: (wanted[path], forms[path]) for path in some}, known, unread)
    return {path: known[key] for path, key in wanted.items() if key in known}, unread


def known_table(context: Context, rows: Rows, content: Content) -> Table | None:
    """Return stored content as one table, when all its files are parts of one and were read before; reads no file."""
    if content.files > _MOST_PARTS:
        return None
    try:
        files = [File(*entry) for entry in context.content.entries(content.digest)]
    except TrainwrightError:
        return None
    forms = [measuring.format_of(file.path) for file in files]
    keys = [(file.sha256, f"{form} {measuring.RULES}") for file, form in zip(files, forms, strict=True) if form]
    known = store.known(rows, keys) if len(keys) == len(files) else {}
    parts = [known[key] for key in keys if key in known]
    same = {tuple(column.name for column in part.columns) for part in parts}
    return _together(parts) if parts and len(parts) == len(files) and len(same) == 1 else None


def _measure(
    context: Context,
    files: Mapping[str, tuple[tuple[str, str], str]],
    known: Mapping[tuple[str, str], Table],
    unread: dict[str, str],
) -> dict[tuple[str, str], Table]:
    """Read some files and write down what they hold; what cannot be read is added to ``unread``."""
    found: dict[tuple[str, str], Table] = {}
    for path, (key, form) in files.items():
        if key in found or key in known:
            continue
        try:
            found[key] = measuring.measure(context.content.place(key[0]), form)
        except (measuring.UnreadableTableError, OSError) as error:
            unread[path] = str(error)
    with context.database.writing() as rows:
        store.keep(rows, found, context.clock.now())
    return found


def _tables(found: Mapping[str, Table]) -> tuple[NamedTable, ...]:
    groups: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    for path, table in found.items():
        folder, _, name = path.rpartition("/")
        partition = "/".join(_partition(part) for part in folder.split("/"))
        columns = tuple(column.name for column in table.columns)
        groups.setdefault((partition, name.partition(".")[2], columns), []).append(path)
    taken: set[str] = set()
    tables = []
    for (folder, ending, _), paths in sorted(groups.items(), key=lambda group: group[1]):
        name = paths[0] if len(paths) == 1 else f"{folder}/*.{ending}".lstrip("/")
        name = f"{paths[0]} and {len(paths) - 1} more" if name in taken else name
        taken.add(name)
        tables.append(NamedTable(name, tuple(paths), _together(found[path] for path in paths)))
    return tuple(tables)


def _together(tables: Iterable[Table]) -> Table:
    """Add up many tables in pairs, so that none of the sums is added to thousands of times."""
    left = list(tables)
    while len(left) > 1:
        left = [together(left[i : i + 2]) for i in range(0, len(left), 2)]
    return left[0]


def _partition(name: str) -> str:
    """Return a folder's name without the value that it stands for: ``split=train`` is ``split=*``."""
    key, mark, _ = name.partition("=")
    return f"{key}=*" if mark else name
