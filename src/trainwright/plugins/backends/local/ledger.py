"""Who holds what of this machine, over all projects and users: a ledger of small files under one ``flock``.

Each user writes a file of their own and reads everybody's. A lease needs no release: it counts as long as its attempt
has a runner and no result, so what died holds nothing. Two projects never get one GPU.
"""

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from trainwright.core.codec import canonical_json, from_json
from trainwright.core.node import Node, take
from trainwright.core.resources import Resources
from trainwright.runtime import tree

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
    """

    home: str
    folder: str
    label: str
    asked: Resources
    devices: tuple[int, ...]
    at_s: float


class Ledger:
    """The ledger as one project (``home``) of one user sees it."""

    def __init__(self, folder: Path, home: str) -> None:
        self._folder = folder
        self._home = home
        self._own = folder / f"{os.getuid()}.json"
        self._read: dict[Path, tuple[tuple[int, int, int], list[Lease]]] = {}  # by what stat says of the file

    def without_others(self, node: Node) -> Node:
        """Return the node with what other projects and users hold taken away, and their names in ``foreign``."""
        others = [lease for lease in self._all() if lease.home != self._home and is_living(lease)]
        for lease in others:
            node = take(node, lease.asked, lease.devices)
        return replace(node, foreign=tuple(sorted(lease.label for lease in others))) if others else node

    def take(self, lease: Lease, node: Node) -> tuple[str, ...]:
        """Write a lease, when there is room beside everybody else's; return who is in the way, empty when taken.

        Taking it again is harmless.

        Args:
            lease: wanted.
            node: the machine with nothing taken.
        """
        with self._locked():
            others = [one for one in self._all() if one.home != self._home and is_living(one)]
            left = node
            for one in (*others, lease):
                left = take(left, one.asked, one.devices)
            if others and left.is_over:
                return tuple(sorted(one.label for one in others))
            mine = [one for one in self._written(self._own) if one.folder != lease.folder and is_living(one)]
            self._write([*mine, lease])
        return ()

    def _all(self) -> list[Lease]:
        return [lease for path in self._files() for lease in self._written(path)]

    def _files(self) -> list[Path]:
        with contextlib.suppress(FileNotFoundError):
            return sorted(path for path in self._folder.iterdir() if path.suffix == ".json")
        return []

    def _written(self, path: Path) -> list[Lease]:
        try:
            facts = path.stat()
            stamp = (facts.st_ino, facts.st_size, facts.st_mtime_ns)
            known = self._read.get(path)
            if known is None or known[0] != stamp:
                text = path.read_text(encoding="utf-8")
                self._read[path] = known = (stamp, [from_json(Lease, one) for one in json.loads(text)])
        except (OSError, ValueError, TypeError, AttributeError):
            return []  # another user's broken file must not stop us
        return known[1]

    def _write(self, leases: list[Lease]) -> None:
        draft = self._own.with_suffix(f".{os.getpid()}.tmp")
        draft.write_text(canonical_json(leases), encoding="utf-8")
        facts = draft.stat()
        draft.replace(self._own)
        self._read[self._own] = ((facts.st_ino, facts.st_size, facts.st_mtime_ns), leases)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        _make_shared(self._folder)
        lock = _open_shared(self._folder / "lock")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)


def is_living(lease: Lease) -> bool:
    """Tell whether the attempt behind a lease still holds it."""
    folder = Path(lease.folder)
    age_s = time.time() - lease.at_s
    try:
        if (folder / "result.json").exists():
            return False
        runner = json.loads((folder / "runner.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return folder.exists() and age_s < _STARTING_S
    except PermissionError:
        return age_s < _UNREADABLE_S
    except ValueError:
        return age_s < _STARTING_S
    return tree.is_alive(runner)


def _make_shared(folder: Path) -> None:
    if not folder.is_dir():
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
