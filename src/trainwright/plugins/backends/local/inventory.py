"""A pretended inventory as a project uses it: chosen by one process, and the same for all of them while work goes on.

What is known of it is kept beside the project's records: the path of its file, the nodes it described when it was last
in order, and who chose it. It is given up when nobody who chose it lives and nothing is unfinished.
"""

import contextlib
import fcntl
import json
import logging
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

from trainwright.core.codec import canonical_json, from_json
from trainwright.core.errors import NotFoundError, SpecError
from trainwright.core.node import Node
from trainwright.runtime import atomic, identity

LOG = logging.getLogger(__name__)

Read = Callable[[str, str], tuple[Node, ...]]
"""Returns the nodes that the text of a file describes; the second argument is its name. Raises ``SpecError``."""


@dataclass(frozen=True, slots=True)
class Known:
    """What is kept of an inventory.

    Attributes:
        digest: of the text that described ``nodes``; empty before it was read.
        holders: processes that asked for it, as ``runtime.identity`` names them.
    """

    path: str
    digest: str = ""
    nodes: tuple[Node, ...] = ()
    holders: tuple[str, ...] = ()


class Inventory:
    """The nodes of one inventory, as its file describes them now.

    Attributes:
        path: of its file.
        flaw: why the file cannot be used at present, and what it described before counts; empty otherwise.
    """

    def __init__(self, known: Known, read: Read, kept: Path | None = None) -> None:
        """Prepare; nothing is read yet.

        Args:
            known: what is kept of it.
            read: makes nodes of a text.
            kept: where that is kept, for others of the project; None = nowhere.
        """
        self._known, self._read, self._kept = known, read, kept
        self._seen: tuple[int, ...] = ()
        self.path = known.path
        self.flaw = ""

    def nodes(self) -> tuple[Node, ...]:
        """Return the nodes, with nothing taken; the file is read again when it has changed.

        Raises:
            SpecError, NotFoundError: it cannot be used, and never could.
        """
        seen = self._look()
        if seen != self._seen:
            self._seen = seen
            try:
                self._take()
                self.flaw = ""
            except (SpecError, NotFoundError) as error:
                if not self._known.nodes:
                    self._seen = ()
                    raise
                self.flaw = str(error)
                LOG.warning("the inventory stays as it was: %s", error)
        return self._known.nodes

    def _look(self) -> tuple[int, ...]:
        try:
            found = os.stat(self.path)  # noqa: PTH116 - at each turn of an engine
        except OSError:
            return (0,)
        return found.st_mtime_ns, found.st_size, found.st_ino

    def _take(self) -> None:
        try:
            text = Path(self.path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            words = error.strerror if isinstance(error, OSError) else "it is no text"
            remedy = "name a file as docs/how-to/pretend-a-cluster.md describes"
            message = f"the inventory cannot be read: {words}"
            raise NotFoundError("TW6303", message, where=self.path, remedy=remedy) from error
        digest = sha256(text.encode()).hexdigest()
        if digest == self._known.digest and self._known.nodes:
            return
        self._known = replace(self._known, digest=digest, nodes=self._read(text, self.path))
        if self._kept is not None:
            with _locked(self._kept):
                now = _load(self._kept)
                if now is not None and now.path == self.path:
                    _save(self._kept, replace(self._known, holders=now.holders))


def choose(kept: Path, asked: Path | None, is_busy: Callable[[], bool], read: Read) -> tuple[Inventory | None, str]:
    """Return the inventory of a project for this process, None for the real machine; and what was chosen before.

    The second is empty unless this process asked for something else than what the project's unfinished work is on.

    Args:
        kept: where the project's choice is kept.
        asked: by this process; None = whatever is in use.
        is_busy: tells whether the project has unfinished work, which stays where it was begun.
        read: makes nodes of a text.
    """
    if asked is None and not kept.exists():
        return None, ""
    with _locked(kept):
        known = _load(kept)
        holders = tuple(h for h in known.holders if not identity.is_gone(h)) if known else ()
        wanted = str(asked) if asked else ""
        if known is None and asked is not None and is_busy():
            return None, "this machine"
        if known is not None and wanted != known.path and (holders or is_busy()):
            return Inventory(known, read, kept), known.path if asked else ""
        if asked is None:
            kept.unlink(missing_ok=True)
            return None, ""
        same = known if known is not None and known.path == wanted else Known(wanted)
        chosen = replace(same, holders=(*holders, identity.of_process(os.getpid())))
        _save(kept, chosen)
        return Inventory(chosen, read, kept), ""


@contextlib.contextmanager
def _locked(kept: Path) -> Iterator[None]:
    with kept.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _load(kept: Path) -> Known | None:
    try:
        return from_json(Known, json.loads(kept.read_bytes()))
    except (OSError, ValueError, TypeError, AttributeError):
        return None


def _save(kept: Path, known: Known) -> None:
    atomic.replace(str(kept), canonical_json(known).encode())
