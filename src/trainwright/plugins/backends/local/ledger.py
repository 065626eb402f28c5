"""Who holds what of this machine, over all projects and users: a folder of small files, added to under one ``flock``.

A lease is a file that never changes and needs no release: it counts as long as its attempt has a runner and no result,
so what died holds nothing; its owner's next lease clears it away. Two projects never get one GPU.
"""

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

from trainwright.core.codec import canonical_json, from_json
from trainwright.core.node import Node, take
from trainwright.core.resources import Resources
from trainwright.core.workload import Assignment
from trainwright.runtime import atomic, reading, tree

PRETENDED = "pretended-"
"""Beginning of the folder, in that of the machine, of those who pretend the same nodes."""

_STARTING_S = 30.0
"""How long a lease counts before its runner has appeared."""

_UNREADABLE_S = 86400.0
"""How long the lease of a user counts whose folders we may not look into."""


@dataclass(frozen=True, slots=True)
class Lease:
    """Room that one attempt holds.

    Attributes:
        folder: of the attempt; tells whether it still runs.
        label: for a person: project folder and attempt.
        at_s: when it was taken, seconds since the epoch.
        places: where each replica is, with ``asked`` at each; empty = ``devices`` of the first node.
    """

    home: str
    folder: str
    label: str
    asked: Resources
    devices: tuple[int, ...]
    at_s: float
    places: tuple[Assignment, ...] = ()


class Ledger:
    """The ledger as one project (``home``) of one user sees it."""

    def __init__(self, folder: Path, home: str) -> None:
        self._folder = folder
        self._home = home
        self._own = f"{os.getuid()}-"
        self._read: dict[str, Lease] = {}  # by the name of the file

    def without_others(self, nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        """Return the nodes with what other projects and users hold taken away, and their names in ``foreign``."""
        others = [lease for lease in self._all() if lease.home != self._home and is_living(lease)]
        for lease in others:
            nodes = _without(nodes, lease, lease.label)
        return nodes

    def take(self, lease: Lease, nodes: tuple[Node, ...]) -> tuple[str, ...]:
        """Write a lease, when there is room beside everybody else's; return who is in the way, empty when taken.

        Taking it again is harmless.

        Args:
            lease: wanted.
            nodes: all there are, with nothing taken.
        """
        with self._locked():
            others = [one for one in self._all() if one.home != self._home and is_living(one)]
            left = nodes
            for one in (*others, lease):
                left = _without(left, one)
            if others and any(node.is_over for node in left):
                return tuple(sorted(one.label for one in others))
            self._write(lease, self._clear())
        return ()

    def _all(self) -> list[Lease]:
        """Return every lease in the folder, whether it lives or not."""
        try:
            names = sorted(name for name in os.listdir(self._folder) if name.endswith(".json"))  # noqa: PTH208 - twice a turn
        except FileNotFoundError:
            return []
        self._read = {name: lease for name in names if (lease := self._lease(name)) is not None}
        return list(self._read.values())

    def _lease(self, name: str) -> Lease | None:
        known = self._read.get(name)
        if known is not None:
            return known
        try:
            return from_json(Lease, json.loads(reading.read(f"{self._folder}/{name}")))
        except (OSError, ValueError, TypeError, AttributeError):
            return None  # another user's broken file must not stop us

    def _clear(self) -> str:
        """Remove leases of our own that count no more, but for one that is left to be written over; return its name."""
        spent = ""
        for name, lease in list(self._read.items()):
            if name.startswith(self._own) and not is_living(lease):
                if spent:
                    (self._folder / name).unlink(missing_ok=True)
                spent = spent or name
                del self._read[name]
        return spent

    def _write(self, lease: Lease, spent: str) -> None:
        """Write a lease, whole or not at all, in the place of one that is spent.

        A file that is used again is neither deleted nor made (see ``atomic.complete``), nor cut: blanks make up for
        what was longer, since a file system takes long over giving blocks back and taking them anew.
        """
        name = f"{self._own}{sha256(lease.folder.encode()).hexdigest()[:24]}.json"
        draft = f"{self._folder}/{name}.{os.getpid()}.tmp"
        if spent:
            with contextlib.suppress(FileNotFoundError):
                os.rename(f"{self._folder}/{spent}", draft)  # noqa: PTH104 - texts: one for each start
        fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            before = os.fstat(fd).st_size if spent else 0
            atomic.write_all(fd, canonical_json(lease).encode().ljust(before))
        finally:
            os.close(fd)
        os.rename(draft, f"{self._folder}/{name}")  # noqa: PTH104 - as above
        self._read[name] = lease

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        _make_shared(self._folder)
        lock = _open_shared(self._folder / "lock")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)


def _without(nodes: tuple[Node, ...], lease: Lease, label: str = "") -> tuple[Node, ...]:
    """Return the nodes with less room by a lease, and with its label among those who hold a part."""
    places = lease.places or (Assignment(nodes[0].name, lease.devices),)
    left = {node.name: node for node in nodes}
    for place in places:
        node = left.get(place.node)
        if node is not None:  # a node that is gone holds nothing
            foreign = (*node.foreign, label) if label and label not in node.foreign else node.foreign
            left[place.node] = replace(take(node, lease.asked, place.devices), foreign=tuple(sorted(foreign)))
    return tuple(left.values())


def is_living(lease: Lease) -> bool:
    """Tell whether the attempt behind a lease still holds it."""
    age_s = time.time() - lease.at_s
    try:
        with contextlib.suppress(FileNotFoundError):
            os.stat(f"{lease.folder}/result.json")  # noqa: PTH116 - texts: each lease at each start
            return False
        runner = json.loads(reading.read(f"{lease.folder}/runner.json"))
    except FileNotFoundError:
        return os.path.exists(lease.folder) and age_s < _STARTING_S  # noqa: PTH110 - as above
    except PermissionError:
        return age_s < _UNREADABLE_S
    except ValueError:
        return age_s < _STARTING_S
    return tree.is_alive(runner)


def _make_shared(folder: Path) -> None:
    if not folder.is_dir():
        if folder.name.startswith(PRETENDED):
            _make_shared(folder.parent)  # others make folders of their own there
        folder.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(PermissionError):
            folder.chmod(0o1777)


def _open_shared(path: Path) -> int:
    """Open the lock that all users share; created without O_CREAT where it exists, as sticky folders demand."""
    try:
        return os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        with contextlib.suppress(PermissionError):
            os.fchmod(fd, 0o666)
        return fd
