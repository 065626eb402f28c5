"""Whether what is remembered is still what it was; large content is read beside the loop, which never waits for it."""

import logging
import threading
from collections.abc import Collection

from trainwright.core.artifact import Content
from trainwright.core.ids import Digest
from trainwright.ports.content import ContentStore

LOG = logging.getLogger(__name__)

_QUICK_BYTES = 64 * 2**20
_QUICK_FILES = 1000
_AT_ONCE = 2


class Verifier:
    """Asks the content store; a question about much is answered at a later call."""

    def __init__(self, content: ContentStore) -> None:
        self._content = content
        self._answers: dict[tuple[Digest, ...], bool | None] = {}
        self._turns = threading.Semaphore(_AT_ONCE)

    def verify(self, contents: Collection[Content]) -> bool | None:
        """Tell whether all of it is whole and unaltered; None while it is being read: ask again later."""
        digests = tuple(content.digest for content in contents)
        if sum(c.size_bytes for c in contents) <= _QUICK_BYTES and sum(c.files for c in contents) <= _QUICK_FILES:
            return self._all(digests)
        if digests not in self._answers:
            self._answers[digests] = None
            threading.Thread(target=self._read, args=(digests,), daemon=True).start()
        answer = self._answers[digests]
        if answer is not None:
            del self._answers[digests]
        return answer

    def _read(self, digests: tuple[Digest, ...]) -> None:
        sound = False
        try:
            with self._turns:
                sound = self._all(digests)
        except Exception:
            LOG.exception("stored content could not be verified")
        finally:
            self._answers[digests] = sound

    def _all(self, digests: tuple[Digest, ...]) -> bool:
        """Look at every one: what is damaged is also set aside."""
        verdicts = [self._content.verify(digest) for digest in digests]
        return all(verdicts)
