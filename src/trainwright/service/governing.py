"""Platform documents: applied with a revision each, taken away again, never changed behind somebody's back."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from trainwright.core.errors import ConflictError, NotFoundError, SpecError
from trainwright.core.governance import AppliedDocument, owners
from trainwright.core.scalar import Plain
from trainwright.service.context import Context
from trainwright.service.nearest import did_you_mean
from trainwright.store import documents, journal
from trainwright.store.database import Rows, Stale

Completed = Callable[[str, Mapping[str, Plain], Path], Mapping[str, Plain]]
"""Completes the value of a document of some kind with what only this machine knows; see ``service.releasing``."""

LARGEST_BYTES = 2**20
"""Of a platform document."""


@dataclass(frozen=True, slots=True)
class Change:
    """One key of a document that an application changes.

    Attributes:
        key: dotted path in ``spec:``.
        before, after: None where one side has none.
    """

    key: str
    before: Plain
    after: Plain


@dataclass(frozen=True, slots=True)
class Application:
    """What applying a file does, or would do.

    Attributes:
        document: the revision that holds afterwards.
        changes: empty when nothing changes; then there is no new revision.
        is_new: whether there was no such document before.
        dry_run: whether nothing was written.
    """

    document: AppliedDocument
    changes: tuple[Change, ...]
    is_new: bool
    dry_run: bool


def apply(
    context: Context, file: Path, name: str, reason: str, completed: Mapping[str, Completed], *, dry_run: bool
) -> Application:
    """Make a platform document what its file says.

    Args:
        context: of the project.
        file: to read.
        name: as the person typed it.
        reason: kept with the revision; may be empty.
        completed: kind → what completes its value.
        dry_run: only say what would change.

    Raises:
        NotFoundError: there is no such file.
        SpecError: it is no document of a known kind, or what it says is wrong.
        ConflictError: somebody else applied the document at the same moment.
    """
    from trainwright.spec.envelope import load  # noqa: PLC0415 - costs pydantic, and only applying needs it

    given = load(_text(file, name), name)
    complete = completed.get(given.kind)
    try:
        value = given.value if complete is None else complete(given.name, given.value, file.parent)
    except SpecError as error:
        where = error.problem.where or str(given.where)
        raise SpecError(
            error.problem.code, error.problem.message, where=where, why=error.problem.why, remedy=error.problem.remedy
        ) from error
    with context.database.reading() as rows:
        before = documents.newest(rows, context.project, given.kind, given.name)
    holds = before if before is not None and before.spec is not None else None
    changes = tuple(_changes((holds.spec if holds else None) or {}, given.written))
    if holds is not None and not changes:
        changes = tuple(_changes(holds.value, value))
    if holds is not None and not changes:
        return Application(holds, (), is_new=False, dry_run=dry_run)
    revision = 1 + (before.revision if before else 0)
    document = AppliedDocument(
        given.kind, given.name, revision, given.written, value, reason, context.clock.now(), context.actor
    )
    if not dry_run:
        _write(context, document, {"revision": revision, "changes": [change.key for change in changes]})
    return Application(document, changes, is_new=holds is None, dry_run=dry_run)


def take_away(context: Context, address: str, reason: str) -> AppliedDocument:
    """End a document; its revisions stay on record.

    Raises:
        NotFoundError: no such document holds.
        ConflictError: somebody else changed it at the same moment.
    """
    holds = find(context, address)
    ended = AppliedDocument(
        holds.kind, holds.name, holds.revision + 1, None, {}, reason, context.clock.now(), context.actor
    )
    _write(context, ended, {"revision": ended.revision, "removed": True})
    return ended


def find(context: Context, address: str) -> AppliedDocument:
    """Return the document ``KIND/NAME`` that holds now.

    Raises:
        NotFoundError: there is none.
    """
    kind, _, name = address.partition("/")
    with context.database.reading() as rows:
        found = documents.newest(rows, context.project, kind, name)
        known = [document.address for document in documents.in_force(rows, context.project)]
    if found is None or found.spec is None:
        otherwise = f"there are: {', '.join(known)}" if known else "none is applied yet: tw apply -f FILE"
        raise NotFoundError("TW4501", f"no document {address} holds", remedy=did_you_mean(address, known, otherwise))
    return found


def in_force(context: Context, kind: str | None = None) -> list[AppliedDocument]:
    """Return the documents that hold now, by kind and name."""
    with context.database.reading() as rows:
        return documents.in_force(rows, context.project, kind)


def log(context: Context, address: str | None = None) -> list[AppliedDocument]:
    """Return every revision of one document (``KIND/NAME``), of one kind, or of all, oldest first.

    Raises:
        NotFoundError: there never was such a document.
    """
    kind, _, name = (address or "").partition("/")
    with context.database.reading() as rows:
        found = documents.log(rows, context.project, kind or None, name or None)
    if address and not found:
        raise NotFoundError("TW4501", f"there never was a document {address}", remedy="see: tw config log")
    return found


def owners_of(rows: Rows, context: Context, addresses: list[str]) -> dict[str, tuple[str, ...]]:
    """Return the teams that own each address; those that nobody owns are left out."""
    spaces = documents.namespaces(rows, context.project)
    found = {address: owners(spaces, address) for address in addresses}
    return {address: teams for address, teams in found.items() if teams}


def _write(context: Context, document: AppliedDocument, details: Mapping[str, Plain]) -> None:
    try:
        with context.database.writing() as rows:
            documents.add(rows, context.project, document)
            journal.add_audit(
                rows, context.project, document.applied_at, context.actor, "document.applied", document.address,
                details={**details, "reason": document.reason},
            )  # fmt: skip
    except Stale as stale:
        raise ConflictError(
            "TW5501",
            f"somebody applied {document.address} at the same moment",
            remedy=f"look at it: tw config show {document.address}; then repeat",
        ) from stale


def _changes(before: Mapping[str, Plain], after: Mapping[str, Plain], path: str = "") -> Iterator[Change]:
    """Yield what differs, by the path of the smallest mapping entry."""
    for key in sorted({*before, *after}):
        below = f"{path}.{key}" if path else key
        old, new = before.get(key), after.get(key)
        if isinstance(old, dict) and isinstance(new, dict):
            yield from _changes(old, new, below)
        elif old != new:
            yield Change(below, old, new)


def _text(file: Path, name: str) -> str:
    try:
        data = file.read_bytes()
    except FileNotFoundError as error:
        raise NotFoundError("TW4004", f"there is no file {name}", remedy="check the path") from error
    except OSError as error:
        raise SpecError("TW2108", f"{name} cannot be read: {error.strerror}", remedy="name a file") from error
    if len(data) > LARGEST_BYTES:
        raise SpecError("TW2108", f"{name} is larger than a document can be", remedy="name a document")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SpecError("TW2107", f"{name} is not UTF-8", remedy="store it as UTF-8") from error
    if not text.strip():
        raise SpecError(
            "TW1002", "the file is empty", where=f"{name}:1:1", remedy="begin with apiVersion: trainwright/v1"
        )
    return text
