"""Foreign snapshots: versions that somebody else keeps, as content of a kind of its own.

What is stored is a manifest with the facts of ``ports.source.Snapshot``; its digest pins a pipeline, is part of cache
keys, and leads lineage back, like that of any content. A table is handed to a step as the place where it is; the rest
is brought in when a job first needs it, into the read-only working copy that all jobs share.
"""

from __future__ import annotations

import os

from trainwright.runtime import atomic, checkout, content, lock, manifest, plainjson
from trainwright.runtime.errors import ContentError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

TABLES = frozenset({"delta", "iceberg"})
"""Kinds that are read where they are."""

_POLL_S = 0.05


def put(root: str, facts: Mapping[str, str]) -> content.Stored:
    """Store a snapshot by its facts; no byte of what it stands for.

    Raises:
        ContentError: no space left.
    """
    root = os.path.abspath(root)
    with lock.shared(root):
        return content.put_manifest(root, manifest.Manifest(manifest.SNAPSHOT, (), facts))


def location(facts: Mapping[str, str]) -> str:
    """Return where a table is: a path of this machine, or the URI of an object store; the version is not in it."""
    uri = facts["uri"].partition("?")[0]
    scheme, _, rest = uri.partition(":")
    if "+" in scheme:
        return f"{scheme.partition('+')[2]}:{rest}"
    return uri if rest.startswith("//") else rest  # a table by the name it has in a catalog


def bring(root: str, digest: str, fetch: Callable[[Mapping[str, str], str], None]) -> tuple[str, Mapping[str, str]]:
    """Return what a job reads for this content, and the facts when it is a snapshot.

    Args:
        root: of the store.
        digest: of any content.
        fetch: brings a snapshot into an empty folder, see :class:`Fetching`.

    Raises:
        ContentError: as ``checkout``; or the snapshot is gone or cannot be reached.
    """
    kept = content.read_manifest(root, digest)
    if kept.kind != manifest.SNAPSHOT:
        return checkout.checkout(root, digest), {}
    facts = kept.facts
    if facts["kind"] in TABLES:
        place = location(facts)
        if place.startswith("/") and not os.path.isdir(place):
            raise gone(facts, f"there is no table at {place}")
        return place, facts
    files = checkout.checkout(root, digest, lambda folder: fetch(facts, folder))
    return os.path.join(files, facts["file"]) if facts["file"] else files, facts


def gone(facts: Mapping[str, str], detail: str) -> ContentError:
    """Return the error for a snapshot that its own keeper does not have any more."""
    return ContentError(
        f"the snapshot {facts['uri']} is gone: {detail}",
        "restore it where it was kept, or pin a version that is there; a snapshot is not copied here",
    )


class Fetching:
    """Brings snapshots in with a process in the environment of whoever asked for the run.

    Args:
        argv: starts ``runtime.fetch``.
        env: of that process.
        log: path that takes what it prints.
        start: as ``tree.spawn``.
        is_stopped: whether somebody wants the attempt to end.
    """

    def __init__(
        self,
        argv: list[bytes],
        env: dict[bytes, bytes],
        log: str,
        start: Callable[[list[bytes], dict[bytes, bytes], int], int],
        is_stopped: Callable[[], bool],
    ) -> None:
        self._argv = argv
        self._env = env
        self._log = log
        self._start = start
        self._is_stopped = is_stopped

    def __call__(self, facts: Mapping[str, str], folder: str) -> None:
        """Fill an empty folder with what the facts stand for.

        Raises:
            ContentError: it is gone, cannot be reached, or a library is missing; also when the attempt is stopped.
        """
        words = [os.fsencode(plainjson.dumps(dict(facts))), os.fsencode(folder)]
        log = os.open(self._log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        try:
            child = self._start([*self._argv, *words], self._env, log)
        finally:
            os.close(log)
        status = self._wait(child)
        if status == 0:
            return
        with open(self._log, "rb") as file:
            said = file.read().decode("utf-8", "replace").strip().split("\n")
        message, _, remedy = said[-1].partition("\t")
        raise ContentError(message or f"{facts['uri']} cannot be brought in", remedy)

    def _wait(self, child: int) -> int:
        import signal
        import time

        stopping = False
        while True:
            pid, status = os.waitpid(child, os.WNOHANG)
            if pid:
                return status
            if self._is_stopped() and not stopping:
                stopping = True
                os.killpg(child, signal.SIGKILL)  # it leads a session of its own, git and all
            time.sleep(_POLL_S)


def unique_log(folder: str) -> str:
    """Return a path for what a fetch prints, below the folder of an attempt."""
    return os.path.join(folder, "fetch-" + atomic.unique() + ".log")
