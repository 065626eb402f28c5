"""Datasets: adding versions, listing them, and pinning what a pipeline asks for."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from trainwright.core.artifact import Content, DatasetVersion, PinnedData
from trainwright.core.dataset import LATEST, PREVIOUS, RemovedVersion
from trainwright.core.errors import NotFoundError, SpecError, TrainwrightError
from trainwright.core.uri import refuse_secrets
from trainwright.ports.content import USUAL, Intake
from trainwright.service import slices
from trainwright.service.context import Context
from trainwright.service.nearest import did_you_mean
from trainwright.store import datasets, journal
from trainwright.store import versions as tags
from trainwright.store.database import Rows, Stale

if TYPE_CHECKING:
    from trainwright.ports.source import Located
    from trainwright.service.fetching import Progress


def add(
    context: Context, name: str, uri: str, how: Intake = USUAL, progress: "Progress | None" = None
) -> tuple[DatasetVersion, bool]:
    """Store what is behind ``uri`` as the next version; tell whether it is new.

    Equal content is the version that exists already.

    Args:
        context: of the project.
        name: of the dataset.
        uri: of a file, folder, pattern, object store, or something with versions of its own.
        how: whether bytes are stored or referred to, and what is hashed again.
        progress: told of each remote file.

    Raises:
        DeniedError: more would be copied than may be unasked.
        SpecError: the name cannot be a dataset's, or the URI's scheme is unknown.
        NotFoundError: nothing is behind the URI.
        BackendError: it cannot be read or stored.
    """
    if not _is_name(name):
        raise SpecError(
            "TW2101",
            f"{name!r} cannot name a dataset",
            why="a name has letters, digits, - and _, and / between its parts",
            remedy="choose a name such as digits or ads/clicks",
        )
    located = locate(context, uri, context.here, reference=how.reference)
    content, source = _store(context, located, uri, how, progress)
    while True:
        try:
            with context.database.writing() as rows:
                known = datasets.versions(rows, context.project, name)
                same = next((v for v in known if v.content.digest == content.digest), None)
                if same is not None:
                    return same, False
                now = context.clock.now()
                number = datasets.next_number(rows, context.project, name, content.digest)
                version = DatasetVersion(name, number, content, source, now, context.actor)
                datasets.insert(rows, context.project, version)
                journal.add_audit(
                    rows, context.project, now, context.actor, "dataset.added", version.address,
                    details={"source": source, "digest": content.digest},
                )  # fmt: skip
                return version, True
        except Stale:
            continue  # another process added a version in between: look again


def versions(context: Context, name: str | None = None) -> list[DatasetVersion]:
    """Return the versions of one dataset or of all, by name, newest first.

    Raises:
        NotFoundError: no dataset has that name.
    """
    with context.database.reading() as rows:
        found = datasets.versions(rows, context.project, name)
        if name is not None and not found:
            raise _unknown(rows, context, name)
    return found


def pin(context: Context, asked: Mapping[str, str], folder: Path, where: Mapping[str, str]) -> tuple[PinnedData, ...]:
    """Resolve every ``data:`` entry to content, once; by name.

    Args:
        context: of the project.
        asked: name → ``datasets/name@version`` or URI or path.
        folder: of the pipeline file; relative paths start there.
        where: name → position in the file, for messages.

    Raises:
        NotFoundError: an entry leads nowhere.
        SpecError: an entry is none of the known forms.
        DeniedError: an entry is so large that nobody copies it unasked.
        BackendError: content cannot be read or stored.
    """
    return tuple(_pin(context, name, asked[name], folder, where.get(name, "")) for name in sorted(asked))


def locate(context: Context, uri: str, base: Path, *, reference: bool = False) -> "Located":
    """Return what is behind a URI or path.

    Raises:
        SpecError: no source knows the scheme, or the URI holds a secret.
        NotFoundError: nothing is there.
        BackendError: the other side cannot be reached, or refuses.
    """
    refuse_secrets(uri)
    scheme, colon, _ = uri.partition(":")
    scheme = scheme if colon and "/" not in scheme else "file"
    source = context.sources.get(scheme)
    if source is None:
        known = ", ".join(f"{s}:" for s in sorted(context.sources))
        raise SpecError(
            "TW2102",
            f"no data source knows {scheme}:",
            where=uri,
            why=f"known are {known} and datasets/NAME@VERSION",
            remedy=did_you_mean(scheme, context.sources, "use one of them"),
        )
    return source.locate(uri, base, reference=reference)


def _pin(context: Context, name: str, asked: str, folder: Path, where: str) -> PinnedData:
    if asked.startswith("datasets/"):
        whole, part = slices.split(asked, where)
        address, content = slices.cut(context, resolve(context, whole, where), part, where)
        return PinnedData(name, asked, address, content)
    try:
        content, address = _store(context, locate(context, asked, folder), asked)
    except TrainwrightError as error:
        error.problem = replace(error.problem, where=where or error.problem.where)
        raise
    return PinnedData(name, asked, address, content)


def _store(
    context: Context, located: "Located", asked: str, how: Intake = USUAL, progress: "Progress | None" = None
) -> tuple[Content, str]:
    """Return the content of what a source found, and what stands for its origin in the record."""
    if isinstance(located, Path):
        return context.content.put(located, how), asked if "://" in asked else str(located)
    from trainwright.service import fetching  # noqa: PLC0415 - a path, which most data is, needs none of it

    told = progress or fetching.SILENT
    return fetching.store(context.content, located, asked, how, told)


def resolve(context: Context, address: str, where: str = "") -> DatasetVersion:
    """Return the version behind ``datasets/name[@number|@tag|@latest|@previous|@sha256:…]``.

    Raises:
        NotFoundError: there is none.
    """
    name, _, wanted = address.removeprefix("datasets/").partition("@")
    with context.database.reading() as rows:
        found = datasets.versions(rows, context.project, name)
        gone = tags.removed(rows, context.project, name)
        tagged = tags.tagged(rows, context.project, name, wanted)
        if not found and not gone:
            raise _unknown(rows, context, name, where)
    for place, version in enumerate(found):  # newest first
        digest = str(version.content.digest)
        if (
            wanted in {"", LATEST, str(version.version), digest}
            or tagged == version.version
            or (wanted == PREVIOUS and place == min(1, len(found) - 1))
            or (len(wanted) >= len("sha256:") + 6 and digest.startswith(wanted))
        ):
            return version
    if wanted.isdecimal() and int(wanted) in gone:
        raise _removed(gone[int(wanted)], where)
    have = ", ".join(str(v.version) for v in reversed(found)) or "none any more"
    raise NotFoundError(
        "TW4202", f"dataset {name} has no version {wanted}", where=where, remedy=f"it has {have}; or use @latest"
    )


def _removed(version: RemovedVersion, where: str) -> NotFoundError:
    address = f"datasets/{version.name}@{version.version}"
    return NotFoundError(
        "TW4204",
        f"{address} was removed on {version.removed_at:%Y-%m-%d} by {version.removed_by}",
        where=where,
        why=f"its content was {version.digest}",
        remedy=f"add the same content again and it is back: tw dataset add {version.name} {version.source}",
    )


def _unknown(rows: Rows, context: Context, name: str, where: str = "") -> NotFoundError:
    known = {v.name for v in datasets.versions(rows, context.project)}
    return NotFoundError(
        "TW4201",
        f"no dataset is called {name}",
        where=where,
        remedy=did_you_mean(name, known, f"add it: tw dataset add {name} PATH"),
    )


def _is_name(name: str) -> bool:
    parts = name.split("/")
    return all(p.replace("-", "_").replace(".", "_").isidentifier() and ".." not in p for p in parts)
