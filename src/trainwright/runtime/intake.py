"""How files become content: what is known is not read again, the rest is hashed, in threads where that helps."""

from __future__ import annotations

import os
import time

from trainwright.runtime import blobs, index
from trainwright.runtime.errors import ContentError, TooMuch
from trainwright.runtime.manifest import Entry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from trainwright.runtime.walk import Facts, Found

    Step = Callable[[Found], "tuple[str, Facts]"]
    Progress = Callable[[int, int, int, int], None]  # files and bytes done, files and bytes in all

_THREADS = 8
_SAMPLE = 256
_WAITING = 3.0
"""Wall time over CPU time of the first files from which on reading waits for a disk or a network, not for us."""


class Wish:
    """How something is to be taken in.

    Attributes:
        remembered: whether what was hashed is remembered for the next time.
        strict: hash everything again, whatever is remembered.
        limit: bytes that may be copied; None for any number.
        progress: called now and then with files and bytes done, and in all.
    """

    __slots__ = ("limit", "progress", "remembered", "strict")

    def __init__(
        self,
        *,
        remembered: bool = False,
        strict: bool = False,
        limit: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.remembered = remembered
        self.strict = strict
        self.limit = limit
        self.progress = progress


PLAIN = Wish()


class Taken:
    """What files turned out to be.

    Attributes:
        rows: name, facts and sha256 of each, in order.
        hashed: how many had to be read.
    """

    __slots__ = ("hashed", "rows")

    def __init__(self, rows: list[tuple[str, Facts, str]], hashed: int) -> None:
        self.rows = rows
        self.hashed = hashed

    def entries(self) -> list[Entry]:
        """Return the lines of the manifest."""
        return [Entry(name, facts[0], digits, executable=bool(facts[4] & 0o100)) for name, facts, digits in self.rows]


class Known:
    """What needs no reading.

    Attributes:
        digits: name → sha256 of the files that look as they did when they were hashed last.
        digest: of the manifest, when that is all there is and all there was; else empty.
    """

    __slots__ = ("digest", "digits")

    def __init__(self, digits: dict[str, str], digest: str = "") -> None:
        self.digits = digits
        self.digest = digest


def known(root: str, path: str, found: Sequence[Found], wish: Wish, *, stored: bool) -> Known:
    """Return what is known of these files.

    Args:
        root: of the store.
        path: absolute, as it was asked for.
        found: what is there now.
        wish: nothing is known when it is strict, or not remembered.
        stored: only those whose bytes are in the store.
    """
    remembered = None if wish.strict or not wish.remembered else index.read(index.of_path(root, path))
    if remembered is None:
        return Known({})
    rows = remembered.rows
    try:
        sure = {one.name: rows[one.name][5] for one in found if tuple(rows.get(one.name, ())[:5]) == one.facts}
    except (TypeError, LookupError):  # an honest checksum over something else
        return Known({})
    if stored:
        gone = blobs.missing(root, set(sure.values()))
        if gone:
            sure = {name: digits for name, digits in sure.items() if digits not in gone}
    return Known(sure, remembered.digest if len(sure) == len(found) == len(rows) else "")


def refuse_too_much(root: str, unknown: Sequence[Found], limit: int | None) -> None:
    """Let pass what may be copied and has room.

    Raises:
        TooMuch: it is more than the limit.
        ContentError: there is less room than it needs.
    """
    needed = sum(one.facts[0] for one in unknown)
    if limit is not None and needed > limit:
        raise TooMuch(needed, len(unknown), limit)
    if needed > blobs.CHUNK:
        room = os.statvfs(root)
        free = room.f_bavail * room.f_frsize
        if needed > free:
            raise ContentError(
                f"no space left for the data: {needed} bytes needed, {free} free in {root}", "make room and try again"
            )


def hash_all(found: Sequence[Found], sure: dict[str, str], step: Step, progress: Progress | None) -> Taken:
    """Return what every file is; ``step`` reads those that are not known.

    Raises:
        ContentError: as ``step``.
    """
    if len(sure) == len(found):
        return Taken([(one.name, one.facts, sure[one.name]) for one in found], 0)
    unknown = [one for one in found if one.name not in sure]
    results: dict[str, tuple[str, Facts]] = {}
    told = _Told(found, unknown, progress)

    def work(one: Found) -> None:
        results[one.name] = step(one)
        told.add(one.facts[0])

    _deal(unknown, work)
    rows = []
    for one in found:
        digits = sure.get(one.name)
        if digits is not None:
            rows.append((one.name, one.facts, digits))
        else:
            digits, facts = results[one.name]
            rows.append((one.name, facts, digits))
    return Taken(rows, len(unknown))


class _Told:
    """Counts for whoever wants to know; a count that two threads spoil is mended by the next."""

    def __init__(self, found: Sequence[Found], unknown: Sequence[Found], progress: Progress | None) -> None:
        self._progress = progress
        self._files, self._bytes = len(found), sum(one.facts[0] for one in found)
        self._done = self._files - len(unknown)
        self._done_bytes = self._bytes - sum(one.facts[0] for one in unknown)

    def add(self, size: int) -> None:
        self._done += 1
        self._done_bytes += size
        if self._progress is not None:
            self._progress(self._done, self._done_bytes, self._files, self._bytes)


def _deal(items: Sequence[Found], work: Callable[[Found], None]) -> None:
    """Do the work: large files in as many threads as there are processors, since hashing them needs no interpreter.

    Small ones keep the interpreter itself busy, so that threads only help when reading waits: that is tried first.
    """
    small = [one for one in items if one.facts[0] <= blobs.CHUNK]
    large = [one for one in items if one.facts[0] > blobs.CHUNK]
    wall, cpu = time.monotonic(), time.thread_time()
    for one in small[:_SAMPLE]:
        work(one)
    waits = time.monotonic() - wall > _WAITING * (time.thread_time() - cpu)
    rest = small[_SAMPLE:]
    _in_threads(rest, work, _THREADS if waits and len(rest) > _SAMPLE else 1)
    _in_threads(large, work, min(_THREADS, len(large), _processors()))


def _in_threads(items: Sequence[Found], work: Callable[[Found], None], count: int) -> None:
    """Call ``work`` for each; the first failure ends all and is raised."""
    if count <= 1:
        for one in items:
            work(one)
    else:
        _together(items, work, count)


def _together(items: Sequence[Found], work: Callable[[Found], None], count: int) -> None:
    import threading

    left = iter(items)
    failures: list[BaseException] = []
    taking = threading.Lock()

    def go() -> None:
        try:
            while not failures:
                with taking:
                    one = next(left, None)
                if one is None:
                    return
                work(one)
        except BaseException as error:  # noqa: BLE001 - raised again where somebody waits
            failures.append(error)

    threads = [threading.Thread(target=go, daemon=True) for _ in range(count)]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    except BaseException as error:
        failures.append(error)  # interrupted: nobody begins another file
        raise
    if failures:
        raise failures[0]


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
