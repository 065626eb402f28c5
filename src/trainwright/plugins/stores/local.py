"""The content store on a local disk; ``runtime.content`` does the work, since jobs use it too."""

from pathlib import Path

from trainwright.core.artifact import Content
from trainwright.core.errors import BackendError, NotFoundError
from trainwright.core.ids import Digest
from trainwright.ports.content import ContentStore
from trainwright.runtime import content
from trainwright.runtime.errors import ContentError
from trainwright.runtime.manifest import Manifest


class LocalContent:
    """See ``ports.content.ContentStore``."""

    def __init__(self, root: Path) -> None:
        self._root = str(root)

    def put(self, path: Path) -> Content:
        """See ``ContentStore.put``."""
        try:
            return _told(content.put(self._root, str(path)))
        except ContentError as error:
            raise _failure(error) from error

    def put_files(self, root: Path, paths: tuple[str, ...]) -> Content:
        """See ``ContentStore.put_files``."""
        try:
            return _told(content.put_files(self._root, str(root), paths))
        except ContentError as error:
            raise _failure(error) from error

    def has(self, digest: Digest) -> bool:
        """See ``ContentStore.has``."""
        try:
            return content.has(self._root, digest)
        except ContentError:  # the manifest itself was altered, or this is no digest
            return False

    def entries(self, digest: Digest) -> tuple[tuple[str, int, str], ...]:
        """See ``ContentStore.entries``."""
        return tuple((e.path, e.size, e.sha256) for e in self._manifest(digest).entries)

    def export(self, digest: Digest, target: Path) -> Path:
        """See ``ContentStore.export``."""
        self._manifest(digest)
        try:
            return Path(content.export(self._root, digest, str(target)))
        except ContentError as error:
            raise _failure(error) from error

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


def _failure(error: ContentError) -> BackendError:
    return BackendError("TW6101", error.message, remedy=error.remedy)


_: type[ContentStore] = LocalContent
