"""The content store on a local disk; ``runtime.content`` does the work, since jobs use it too."""

import hashlib
from collections.abc import Callable, Collection
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from trainwright.core.artifact import Content
from trainwright.core.errors import BackendError, DeniedError, NotFoundError
from trainwright.core.ids import Digest
from trainwright.core.quantity import show_bytes
from trainwright.ports.content import (
    USUAL,
    Amount,
    ContentStore,
    Flaw,
    Intake,
    SupportsArrivals,
    SupportsParts,
    SupportsSearch,
    SupportsUpkeep,
    Swept,
)
from trainwright.runtime import blobs, content, disk, index, walk
from trainwright.runtime.errors import ContentError, TooMuch
from trainwright.runtime.intake import PLAIN, Wish
from trainwright.runtime.manifest import Manifest

if TYPE_CHECKING:
    from trainwright.ports.source import RemoteFile, RemoteFiles, Snapshot


class LocalContent:
    """See ``ports.content.ContentStore``."""

    def __init__(self, root: Path, copy_limit: int | None = None, *, strict: bool = False) -> None:
        """Open the store.

        Args:
            root: of it; made when something is stored.
            copy_limit: bytes that one ``put`` may copy unasked; None for any number.
            strict: hash everything on every ``put``, whatever is remembered.
        """
        self._root = str(root)
        self._copy_limit = copy_limit
        self._strict = strict
        self._originals: dict[str, tuple[str, tuple[int, int, int, int, int]]] | None = None

    def put(self, path: Path, how: Intake = USUAL) -> Content:
        """See ``ContentStore.put``."""
        strict = how.strict or self._strict
        wish = Wish(remembered=True, strict=strict, limit=self._limit(how), progress=how.progress)
        try:
            if how.reference:
                from trainwright.runtime import origins  # few ask for it

                return _told(origins.put(self._root, str(path), wish))
            return _told(content.put(self._root, str(path), wish))
        except TooMuch as error:
            raise _too_much(
                error, str(path), f"leave the bytes where they are: tw dataset add NAME {path} --reference; or "
            ) from error
        except ContentError as error:
            raise _failure(error) from error

    def put_files(self, root: Path, paths: tuple[str, ...], how: Intake | None = None) -> Content:
        """See ``ContentStore.put_files``."""
        wish = PLAIN if how is None else Wish(limit=self._limit(how), progress=how.progress)
        try:
            return _told(content.put_files(self._root, str(root), paths, wish))
        except TooMuch as error:
            raise _too_much(error, str(root)) from error
        except ContentError as error:
            raise _failure(error) from error

    def put_part(self, digest: Digest, paths: Collection[str]) -> Content:
        """See ``SupportsParts.put_part``."""
        self._manifest(digest)
        try:
            return _told(content.put_part(self._root, digest, paths))
        except ContentError as error:
            raise _failure(error) from error

    def place(self, sha256: str) -> Path:
        """See ``SupportsParts.place``."""
        path = self._place(sha256)
        if path is None:
            raise NotFoundError("TW4101", f"there is no file {sha256} in {self._root}", remedy="tw doctor")
        return path

    def receive(self, remote: "RemoteFiles", arrived: Callable[[int | None], None], how: Intake = USUAL) -> Content:
        """See ``SupportsArrivals.receive``."""
        from trainwright.runtime import arrivals

        def coming(file: "RemoteFile") -> arrivals.Arrival:
            return arrivals.Arrival(file.path, file.size_bytes, file.tag, lambda: remote.read(file))

        try:
            arrivals.refuse_listing(file.path for file in remote.files)
        except ContentError as error:
            message = f"the listing of {remote.uri} cannot become a folder: {error.message}"
            raise BackendError("TW6402", message, where=remote.uri, remedy="rename what it names there") from error
        kind = "file" if remote.single else "folder"
        try:
            coming_in = arrivals.Reception(kind, remote.origin, list(map(coming, remote.files)), self._limit(how))
            return _told(arrivals.receive(self._root, coming_in, arrived))
        except TooMuch as error:
            raise _too_much(error, remote.uri) from error
        except ContentError as error:
            raise _failure(error) from error

    def _limit(self, how: Intake) -> int | None:
        return None if how.any_size else self._copy_limit

    def put_snapshot(self, snapshot: "Snapshot") -> Content:
        """See ``SupportsArrivals.put_snapshot``."""
        from trainwright.runtime import snapshot as snapshots

        try:
            return _told(snapshots.put(self._root, asdict(snapshot)))
        except ContentError as error:
            raise _failure(error) from error

    def snapshot(self, digest: Digest) -> "Snapshot | None":
        """See ``SupportsArrivals.snapshot``."""
        from trainwright.ports.source import Snapshot

        if content.kind_of(self._root, digest) in {"file", "folder"}:  # a large manifest is not read only for this
            return None
        facts = self._manifest(digest).facts
        return Snapshot(**facts) if facts else None

    def has(self, digest: Digest) -> bool:
        """See ``ContentStore.has``."""
        try:
            return content.has(self._root, digest)
        except ContentError:  # the manifest itself was altered, or this is no digest
            return False

    def origin(self, digest: Digest) -> Path | None:
        """See ``ContentStore.origin``."""
        try:
            if not Path(index.of_origin(self._root, digest)).exists():
                return None
        except ContentError:  # no digest
            return None
        note = index.read(index.of_origin(self._root, digest))
        return Path(note.path) if note else None

    def verify(self, digest: Digest) -> bool:
        """See ``ContentStore.verify``."""
        from trainwright.runtime import verify  # only an engine asks

        try:
            return verify.verify(self._root, digest)
        except ContentError:  # no digest
            return False

    def blob(self, sha256: str) -> bytes:
        """See ``ContentStore.blob``."""
        path = self._place(sha256)
        data = None if path is None else path.read_bytes()
        if data is None or hashlib.sha256(data).hexdigest() != sha256:
            raise NotFoundError("TW4101", f"there is no sound file {sha256} in {self._root}", remedy="tw doctor")
        return data

    def entries(self, digest: Digest) -> tuple[tuple[str, int, str], ...]:
        """See ``ContentStore.entries``."""
        return tuple((e.path, e.size, e.sha256) for e in self._manifest(digest).entries)

    def holding(self, sha256: str, among: Collection[Digest]) -> dict[Digest, tuple[str, ...]]:
        """See ``SupportsSearch.holding``: a manifest is read as bytes, and parsed only when the hash is in it."""
        found: dict[Digest, tuple[str, ...]] = {}
        for digest in among:
            try:
                text = Path(content.manifest_file(self._root, digest)).read_bytes()
            except (OSError, ContentError):
                continue
            if sha256.encode() in text:
                found[digest] = tuple(e.path for e in self._manifest(digest).entries if e.sha256 == sha256)
        return {digest: paths for digest, paths in found.items() if paths}

    def read(self, digest: Digest, name: str) -> bytes:
        """See ``ContentStore.read``."""
        self._manifest(digest)
        try:
            return content.read(self._root, digest, name)
        except ContentError as error:
            raise _failure(error) from error

    def export(self, digest: Digest, target: Path) -> Path:
        """See ``ContentStore.export``."""
        self._manifest(digest)
        try:
            return Path(content.export(self._root, digest, str(target)))
        except ContentError as error:
            raise _failure(error) from error

    def sweep(self, keep: Collection[Digest], now: datetime, *, dry_run: bool) -> Swept:
        """See ``SupportsUpkeep.sweep``."""
        from trainwright.runtime import sweep  # upkeep is rare, and every command pays for imports

        try:
            swept = sweep.sweep(self._root, keep, now_s=now.timestamp(), dry_run=dry_run)
        except ContentError as error:
            raise _not_kept_up(error) from error
        return Swept(
            manifests=_amount(swept.manifests),
            blobs=_amount(swept.blobs),
            trees=_amount(swept.trees),
            drafts=_amount(swept.drafts),
            unreadable=tuple(map(Digest, swept.unreadable)),
        )

    def inspect(self, now: datetime, *, deep: bool) -> tuple[Flaw, ...]:
        """See ``SupportsUpkeep.inspect``."""
        from trainwright.runtime import inspection, sweep

        try:
            found = inspection.inspect(self._root, now.timestamp() - sweep.YOUNG_S, deep=deep)
        except ContentError as error:
            raise _not_kept_up(error) from error
        return tuple(Flaw(f.kind, Path(f.path), tuple(map(Digest, f.digests))) for f in found)

    def mend(self, flaws: Collection[Flaw], spare: Collection[Digest]) -> None:
        """See ``SupportsUpkeep.mend``."""
        from trainwright.runtime import inspection

        try:
            inspection.mend(self._root, [inspection.Flaw(f.kind, str(f.path), f.digests) for f in flaws], spare)
        except ContentError as error:
            raise _not_kept_up(error) from error

    def _place(self, sha256: str) -> Path | None:
        """Return where a file can be read: in the store, or by reference when it is what it was."""
        path = Path(blobs.blob(self._root, sha256))
        if path.is_file():
            return path
        if self._originals is None:
            self._originals = index.originals(self._root)
        original, facts = self._originals.get(sha256, ("", None))
        place = Path(original)
        if not original or not place.is_file():
            return None
        if walk.facts_of(place.stat()) == facts:
            return place
        from trainwright.runtime import inspection  # touched, or noted right after it was written

        return place if inspection.hash_of(original) == sha256 else None

    def _manifest(self, digest: Digest) -> Manifest:
        try:
            if not Path(content.manifest_file(self._root, digest)).exists():
                raise NotFoundError(
                    "TW4101",
                    f"there is no content {digest} in {self._root}",
                    remedy="it was removed or belongs to another project: add the data or run the step again",
                )
            return content.read_manifest(self._root, digest)
        except ContentError as error:
            raise _failure(error) from error


def _told(stored: content.Stored) -> Content:
    return Content(Digest(stored.digest), stored.files, stored.size_bytes)


def _too_much(error: TooMuch, what: str, first: str = "") -> DeniedError:
    size, limit = show_bytes(error.size_bytes), show_bytes(error.limit_bytes)
    return DeniedError(
        "TW3511",
        f"{what} holds {size} in {error.files} file(s) that would be copied",
        why=f"nothing above {limit} is copied unasked",
        remedy=f"{first}store them: tw dataset add NAME URI --copy; then read datasets/NAME. TW_COPY_LIMIT sets another"
        " limit",
        details={"size_bytes": error.size_bytes, "limit_bytes": error.limit_bytes},
    )


def _failure(error: ContentError) -> BackendError:
    return BackendError("TW6101", error.message, remedy=error.remedy)


def _not_kept_up(error: ContentError) -> BackendError:
    return BackendError("TW6102", error.message, remedy=error.remedy)


def _amount(tally: disk.Tally) -> Amount:
    return Amount(tally.count, tally.size_bytes)


_: tuple[type[ContentStore], type[SupportsParts]] = (LocalContent, LocalContent)
__: tuple[type[SupportsArrivals], type[SupportsUpkeep]] = (LocalContent, LocalContent)
___: type[SupportsSearch] = LocalContent
