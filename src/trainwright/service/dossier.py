"""Everything the record knows of one model version, read once; what ``show``, ``diff`` and the card are made from."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from trainwright.core.artifact import AliasMove, ModelVersion
from trainwright.core.codec import to_json
from trainwright.core.errors import TrainwrightError
from trainwright.core.fingerprint import Fingerprint
from trainwright.core.governance import owners
from trainwright.core.ids import Digest
from trainwright.core.modelformat import CARD, UNKNOWN, ModelFormat, format_of
from trainwright.core.release import Release
from trainwright.core.run import Run
from trainwright.core.scalar import Plain
from trainwright.service.context import Context
from trainwright.service.models import find_in
from trainwright.store import ancestry, documents, registry, releases, runs
from trainwright.store.database import Rows

LONGEST_CARD_BYTES = 256 << 10
"""Of a text that an author wrote about a model; a longer one is left out, and that is said."""


@dataclass(frozen=True, slots=True)
class DataRead:
    """Data that a model was made from.

    Attributes:
        address: ``datasets/digits@3`` or a URI.
        on_the_way: whether a step that the model came through read it; otherwise it was pinned by the run, and only a
            list or another branch of the pipeline was made from it.
    """

    address: str
    digest: Digest
    files: int
    size_bytes: int
    on_the_way: bool = True


@dataclass(frozen=True, slots=True)
class Dossier:
    """One version with all that is on record about it.

    Attributes:
        teams: that own its name.
        data: what its steps read from outside, by address.
        format: of its files; unknown when they are not stored any more.
        files: path and bytes of each; None when they are not stored any more.
        moves: of aliases, to it or away from it, oldest first.
        releases: of it, oldest first.
        words: what its author wrote about it; empty without a card.
        missing: what the record does not say, in sentences.
    """

    version: ModelVersion
    teams: tuple[str, ...]
    run: Run
    fingerprint: Fingerprint
    data: tuple[DataRead, ...]
    format: ModelFormat
    files: tuple[tuple[str, int], ...] | None
    moves: tuple[AliasMove, ...]
    releases: tuple[Release, ...]
    words: str
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Differs:
    """One line of the comparison of two versions.

    Attributes:
        part: ``metric``, ``param``, ``data``, ``gate``, ``signature``, ``code``, ``environment`` or ``content``.
        left, right: None where one side has none.
    """

    part: str
    name: str
    left: Plain
    right: Plain

    @property
    def equal(self) -> bool:
        """Tell whether both sides agree."""
        return self.left == self.right


def read(context: Context, address: str) -> Dossier:
    """Return what is known of a version.

    Raises:
        NotFoundError: no such version.
        SpecError: not the address of one.
    """
    with context.database.reading() as rows:
        return read_in(rows, context, find_in(rows, context, address)[0])


def read_in(rows: Rows, context: Context, version: ModelVersion) -> Dossier:
    """Return what is known of a version, inside a transaction."""
    run = runs.run(rows, version.run)
    if run is None:
        raise LookupError(version.run)
    moves = registry.history(rows, context.project, version.name)
    files = _files(context, version.content.digest)
    words, trouble = _words(context, version, files)
    missing = [trouble] if trouble else []
    if version.signature is None:
        missing.append("no signature was stated: tw.signature(…) in the step, or signature: where it is registered")
    if files is None:
        missing.append("its files are not in the content store any more")
    return Dossier(
        version=version,
        teams=owners(documents.namespaces(rows, context.project), f"models/{version.name}"),
        run=run,
        fingerprint=runs.fingerprint(rows, context.project, run.fingerprint),
        data=tuple(_data(rows, context, version, run)),
        format=UNKNOWN if files is None else format_of(path for path, _ in files),
        files=files,
        moves=tuple(m for m in moves if version.version in {m.before, m.after}),
        releases=tuple(releases.of_model(rows, context.project, version.name, version.version)),
        words=words,
        missing=tuple(missing),
    )


def compare(left: Dossier, right: Dossier) -> list[Differs]:
    """Return every figure and fact of two versions side by side, equal ones included."""
    found: list[Differs] = []
    for part, one, other in _parts(left, right):
        names = [*one, *(name for name in other if name not in one)]
        found += [Differs(part, name, one.get(name), other.get(name)) for name in names]
    return found


def _parts(left: Dossier, right: Dossier) -> Iterator[tuple[str, Mapping[str, Plain], Mapping[str, Plain]]]:
    for part, facts in (
        ("metric", lambda d: to_json(d.version.metrics)),
        ("param", lambda d: d.run.params),
        ("data", lambda d: {data.address.partition("@")[0]: _pinned(data) for data in d.data}),
        ("gate", lambda d: {gate.expression: gate.verdict for gate in d.version.gates}),
        ("signature", _signature),
        ("code", _code),
        ("environment", _environment),
        ("content", lambda d: {"digest": d.version.content.digest, "format": d.format.name}),
    ):
        yield part, facts(left), facts(right)


def _pinned(data: DataRead) -> str:
    return f"{data.address.partition('@')[2] or 'as it was'} ({data.digest[7:19]})"


def _signature(dossier: Dossier) -> dict[str, Plain]:
    signature = dossier.version.signature
    if signature is None:
        return {}
    inputs: dict[str, Plain] = {f"input {name}": kind or "any" for name, kind in signature.inputs.items()}
    return {**inputs, **{f"output {name}": kind or "any" for name, kind in signature.outputs.items()}}


def _environment(dossier: Dossier) -> dict[str, Plain]:
    found = dossier.fingerprint.environment
    return {"python": found.python, **found.packages, **locks(dossier)}


def locks(dossier: Dossier) -> dict[str, Plain]:
    """Return the locked environments of its run: what each was made from → twelve digits of its key."""
    found = dossier.fingerprint.environment.locks.values()
    return {lock.asked.path or lock.asked.image: lock.name for lock in found}


def _code(dossier: Dossier) -> dict[str, Plain]:
    code = dossier.fingerprint.code
    return {"commit": code.commit, "tree": code.tree, "dirty": code.dirty}


def _data(rows: Rows, context: Context, version: ModelVersion, run: Run) -> Iterator[DataRead]:
    known = ancestry.data_behind(rows, context.project, version)
    seen = {(given.address, given.content.digest) for given in known}
    for given in known:
        yield DataRead(given.address, given.content.digest, given.content.files, given.content.size_bytes)
    for data in runs.plan(rows, context.project, run.plan_digest).data:
        if (data.address, data.content.digest) not in seen:
            content = data.content
            yield DataRead(data.address, content.digest, content.files, content.size_bytes, on_the_way=False)


def _files(context: Context, digest: Digest) -> tuple[tuple[str, int], ...] | None:
    try:
        return tuple((path, size) for path, size, _ in context.content.entries(digest))
    except TrainwrightError:
        return None


def _words(context: Context, version: ModelVersion, files: tuple[tuple[str, int], ...] | None) -> tuple[str, str]:
    """Return what the author wrote, and what is wrong with it; either may be empty."""
    digest = version.card or version.content.digest
    written = _files(context, version.card) if version.card else files
    sizes = [size for path, size in written or () if version.card or path == CARD]
    if not sizes:
        return "", "its author's card is not stored any more" if version.card else ""
    if max(sizes) > LONGEST_CARD_BYTES:
        return "", f"its author's card has more than {LONGEST_CARD_BYTES} bytes"
    try:
        return context.content.read(digest, CARD).decode("utf-8", "replace"), ""
    except TrainwrightError as error:
        return "", f"its author's card cannot be read: {error.problem.message}"
