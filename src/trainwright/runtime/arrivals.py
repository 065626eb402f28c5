"""Files on their way in from elsewhere: streamed into the content store by several threads, every byte hashed.

Each file is durable under its hash before the next one of its thread begins, and what the other side called it is noted
in ``known/``: who was killed in the middle, or comes again, fetches only what is not here or was changed.
"""

from __future__ import annotations

import os
from hashlib import sha256

from trainwright.runtime import atomic, blobs, content, disk, lock, manifest, plainjson
from trainwright.runtime.errors import ContentError, TooMuch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

THREADS = 8
"""Streams at a time: more of them rarely fill a line better, and each holds some MiB."""


class Arrival:
    """One file that is to come.

    Attributes:
        path: relative, as listed; not trusted.
        size: bytes as listed; None when unknown.
        tag: changes whenever the bytes do; empty when there is nothing like it, then it always comes anew.
        read: begins to yield the bytes.
    """

    __slots__ = ("path", "read", "size", "tag")

    def __init__(self, path: str, size: int | None, tag: str, read: Callable[[], Iterable[bytes]]) -> None:
        self.path = path
        self.size = size
        self.tag = tag
        self.read = read


def refuse_listing(paths: Iterable[str]) -> None:
    """Let names pass that can lie in one folder together.

    Raises:
        ContentError: one leads elsewhere, is there twice, or is both a file and a folder.
    """
    entries = []
    for path in paths:
        manifest.refuse_path(path)
        try:
            path.encode()
        except UnicodeEncodeError as error:
            raise ContentError(f"the name {path!r} is not UTF-8", "rename the file") from error
        entries.append(manifest.Entry(path, 0, "", executable=False))
    manifest.refuse_overlaps(manifest.Manifest("folder", entries))


class Reception:
    """What is to come.

    Attributes:
        kind: ``file`` or ``folder``.
        origin: where the files come from; what is known of them is noted under it.
        arrivals: all of them; one for a file.
        limit: bytes that may come, as far as they are listed; None for any number.
    """

    __slots__ = ("arrivals", "kind", "limit", "origin")

    def __init__(self, kind: str, origin: str, arrivals: Sequence[Arrival], limit: int | None = None) -> None:
        self.kind = kind
        self.origin = origin
        self.arrivals = arrivals
        self.limit = limit


def receive(root: str, asked: Reception, arrived: Callable[[int | None], None] = lambda _: None) -> content.Stored:
    """Store files that come from elsewhere as one file or folder.

    Args:
        root: of the store.
        asked: what is to come.
        arrived: told the bytes of each file that came, None for one that was here already; one call at a time.

    Raises:
        TooMuch: more is listed than may come; nothing was fetched.
        ContentError: a name leads elsewhere, a file is not as long as listed, or no space is left.
        Exception: whatever ``read`` raises.
    """
    refuse_listing(arrival.path for arrival in asked.arrivals)
    root = os.path.abspath(root)
    with lock.shared(root):  # until the manifest names them, nobody may sweep
        receiving = _Receiving(root, asked.origin, arrived)
        try:
            entries = receiving.go(asked.arrivals, asked.limit)
        finally:
            receiving.close()
        return content.put_manifest(root, manifest.Manifest(asked.kind, entries))


class _Receiving:
    """One reception under way."""

    def __init__(self, root: str, origin: str, arrived: Callable[[int | None], None]) -> None:
        self._root = root
        self._arrived = arrived
        self._folder = os.path.join(root, "tmp", atomic.unique())
        self._notes = os.path.join(root, "known", sha256(origin.encode("utf-8", "surrogateescape")).hexdigest())
        blobs.make_folders(self._folder)
        blobs.make_folders(os.path.dirname(self._notes))

    def close(self) -> None:
        disk.remove(self._folder)

    def go(self, arrivals: Sequence[Arrival], limit: int | None) -> list[manifest.Entry]:
        """Return an entry for each, in order."""
        from concurrent.futures import ThreadPoolExecutor, as_completed

        known = self._known()
        found: dict[str, tuple[int, str]] = {}
        coming = []
        for arrival in arrivals:
            here = known.get((arrival.path, arrival.tag)) if arrival.tag else None
            if here and arrival.size in {None, here[0]} and self._has(*here):
                found[arrival.path] = here
                self._arrived(None)
            else:
                coming.append(arrival)
        needed = sum(arrival.size or 0 for arrival in coming)
        if limit is not None and needed > limit:
            raise TooMuch(needed, len(coming), limit)
        with ThreadPoolExecutor(THREADS, thread_name_prefix="arrivals") as pool:
            futures = {pool.submit(self._take, arrival): arrival for arrival in coming}
            try:
                for future in as_completed(futures):
                    size, digits = future.result()
                    found[futures[future].path] = (size, digits)
                    self._note(futures[future], size, digits)
                    self._arrived(size)
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        self._keep(arrivals, found)
        return [manifest.Entry(a.path, *found[a.path], executable=False) for a in arrivals]

    def _has(self, size: int, digits: str) -> bool:
        return blobs.has(self._root, digits, size)

    def _take(self, arrival: Arrival) -> tuple[int, str]:
        """Stream one file to its place; return its bytes and sha256."""
        draft = os.path.join(self._folder, atomic.unique())
        hasher = sha256()
        size = 0
        out = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o444)
        try:
            for chunk in arrival.read():
                hasher.update(chunk)
                size += len(chunk)
                self._write(out, chunk, arrival)
            if arrival.size is not None and size != arrival.size:
                message = f"{arrival.path} has {size} bytes and was listed with {arrival.size}"
                raise ContentError(message, "it was changed meanwhile, or the line broke: add it again")
            os.fsync(out)
        finally:
            os.close(out)
        digits = hasher.hexdigest()
        if self._has(size, digits):
            os.unlink(draft)
            return size, digits
        name = blobs.blob(self._root, digits)
        try:
            blobs.make_folders(os.path.dirname(name))
            os.rename(draft, name)
            atomic.sync_folder(os.path.dirname(name))
            atomic.sync_folder(os.path.join(self._root, "blobs"))
        except OSError as error:
            raise blobs.refusal(error, self._root, arrival.path, size) from error
        return size, digits

    def _write(self, out: int, chunk: bytes, arrival: Arrival) -> None:
        try:
            atomic.write_all(out, chunk)
        except OSError as error:
            raise blobs.refusal(error, self._root, arrival.path, arrival.size or 0) from error

    def _known(self) -> dict[tuple[str, str], tuple[int, str]]:
        """Return (path, tag) → (bytes, sha256); a line that a kill cut short counts for nothing."""
        try:
            with open(self._notes, "rb") as file:
                lines = file.read().split(b"\n")
        except OSError:
            return {}
        found = {}
        for line in lines:
            try:
                path, tag, size, digits = plainjson.loads(line)
            except (ValueError, TypeError):
                continue
            found[path, tag] = (size, digits)
        return found

    def _note(self, arrival: Arrival, size: int, digits: str) -> None:
        if arrival.tag:
            line = plainjson.dumps([arrival.path, arrival.tag, size, digits])
            atomic.append(self._notes, b"\n" + line.encode())  # first the end of a line that a kill cut short

    def _keep(self, arrivals: Sequence[Arrival], found: dict[str, tuple[int, str]]) -> None:
        """Forget what is not listed any more."""
        lines = [plainjson.dumps([a.path, a.tag, *found[a.path]]) for a in arrivals if a.tag]
        try:
            atomic.replace(self._notes, "\n".join(lines).encode())
        except OSError as error:
            raise blobs.refusal(error, self._root, "notes of what came", 0) from error
