"""Checkpoints that are valid or do not count.

``<number>-step-<step>/`` holds ``data/`` (what the script saved) and ``manifest.json`` (bytes and sha256 of each file,
written last). It is made as ``.saving-…`` and renamed when everything is durable, so a save that was killed leaves
nothing that looks like a checkpoint; older ones go only after that.
"""

from __future__ import annotations

import errno
import os
import shutil
import sys
from hashlib import sha256

from trainwright.runtime import atomic, marks, plainjson

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

KEPT = 3
"""Committed checkpoints that stay."""

_CHUNK = 1 << 20
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


class Checkpoints:
    """The checkpoints of one step of a run, shared by its attempts."""

    def __init__(self, folder: str, kept: int = KEPT) -> None:
        self.folder = folder
        self._kept = kept

    def latest(self) -> str | None:
        """Return the data folder of the newest valid checkpoint, or None; every byte of it was verified.

        An invalid one is passed over and named on stderr.
        """
        for name in reversed(self._committed()):
            flaw = _flaw(os.path.join(self.folder, name))
            if not flaw:
                return os.path.join(self.folder, name, "data")
            sys.stderr.write(f"trainwright: checkpoint {name} does not count: {flaw}\n")
        return None

    def save(self, step: int) -> Saving:
        """Return a context manager that yields an empty folder and commits what was written there.

        Raises:
            TypeError: ``step`` is not a whole number.
            ValueError: it is negative.
        """
        if isinstance(step, bool) or not hasattr(step, "__index__"):
            raise TypeError(f"step is a whole number, not {step!r}")
        if step < 0:
            raise ValueError(f"step {step} is negative")
        return Saving(self, step.__index__())

    def commit(self, draft: str, step: int) -> None:
        """Give a finished draft its name, then remove the oldest beyond those that stay."""
        known = self._committed()
        number = int(known[-1].split("-", 1)[0]) + 1 if known else 1
        while True:
            try:
                os.rename(draft, os.path.join(self.folder, f"{number:06d}-step-{step:012d}"))
                break
            except OSError as error:  # another process took this number
                if error.errno not in {errno.ENOTEMPTY, errno.EEXIST}:
                    raise
                number += 1
        atomic.sync_folder(self.folder)
        self._note()
        for name in self._committed()[: -self._kept]:
            self._remove(name)

    def _note(self) -> None:
        """Leave the time of this commit where one look finds it."""
        fd = os.open(os.path.join(self.folder, marks.SAVED), os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            os.utime(fd)
        finally:
            os.close(fd)

    def clear_leavings(self) -> None:
        """Remove drafts of processes that are gone."""
        for name in _names(self.folder):
            if name.startswith(".saving-") and not os.path.exists("/proc/" + name.split("-")[1]):
                shutil.rmtree(os.path.join(self.folder, name), ignore_errors=True)
            if name.startswith(".old-"):
                shutil.rmtree(os.path.join(self.folder, name), ignore_errors=True)

    def last_size(self) -> int:
        """Return the bytes of the newest committed checkpoint; 0 without one."""
        for name in reversed(self._committed()):
            listed = _manifest(os.path.join(self.folder, name))
            if listed is not None:
                return sum(item[1] for item in listed)
        return 0

    def _committed(self) -> list[str]:
        return sorted(name for name in _names(self.folder) if name.partition("-step-")[1] and name[0] != ".")

    def _remove(self, name: str) -> None:
        hidden = os.path.join(self.folder, f".old-{atomic.unique()}")
        try:
            os.rename(os.path.join(self.folder, name), hidden)
        except FileNotFoundError:  # another process was faster
            return
        shutil.rmtree(hidden, ignore_errors=True)


class Saving:
    """One save under way."""

    def __init__(self, owner: Checkpoints, step: int) -> None:
        self._owner = owner
        self._step = step
        self._draft = os.path.join(owner.folder, f".saving-{os.getpid()}-{atomic.unique()}")

    def __enter__(self) -> str:
        self._owner.clear_leavings()
        try:
            os.makedirs(os.path.join(self._draft, "data"))
        except OSError as error:
            raise self._told(error) from error
        return os.path.join(self._draft, "data")

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            if error is None:
                _seal(self._draft)
                self._owner.commit(self._draft, self._step)
            elif isinstance(error, OSError) and error.errno in _FULL:
                raise self._told(error) from error
        except OSError as failure:
            raise (failure if failure is error else self._told(failure)) from failure
        finally:
            shutil.rmtree(self._draft, ignore_errors=True)

    def _told(self, error: OSError) -> OSError:
        """Return the error that says, on a full disk, where, how much was written and how much is free."""
        if error.errno not in _FULL:
            return error
        written = sum(os.path.getsize(path) for _, path in _files(os.path.join(self._draft, "data")))
        room = os.statvfs(self._owner.folder if os.path.isdir(self._owner.folder) else "/")
        return OSError(
            error.errno,
            f"the checkpoint of step {self._step} does not fit: {written} bytes were written, the one before has "
            f"{self._owner.last_size()}, {room.f_bavail * room.f_frsize} are free; earlier checkpoints stay valid",
            self._owner.folder,
        )


def _seal(draft: str) -> None:
    """Make everything durable and write the manifest that says so."""
    data = os.path.join(draft, "data")
    listed = [[name, *_measure(path, durable=True)] for name, path in _files(data)]
    for folder, _, _ in os.walk(data):
        atomic.sync_folder(folder)
    atomic.replace(os.path.join(draft, "manifest.json"), atomic.encode({"format": 1, "files": listed}))


def _flaw(folder: str) -> str:
    """Say why a checkpoint does not count; empty when it does."""
    listed = _manifest(folder)
    if listed is None:
        return "its manifest is missing or unreadable"
    data = os.path.join(folder, "data")
    there = dict(_files(data))
    for name, size, digits in listed:
        path = there.pop(name, None)
        if path is None:
            return f"{name} is missing"
        if os.path.getsize(path) != size:
            return f"{name} has {os.path.getsize(path)} bytes instead of {size}"
        if _measure(path, durable=False)[1] != digits:
            return f"{name} was altered"
    return f"{min(there)} was added" if there else ""


def _manifest(folder: str) -> list[list[Any]] | None:
    try:
        with open(os.path.join(folder, "manifest.json"), "rb") as file:
            listed = plainjson.loads(file.read())["files"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return listed if isinstance(listed, list) else None


def _files(data: str) -> list[tuple[str, str]]:
    """Return name and path of each file below ``data``, sorted by name."""
    found = []
    for folder, _, names in os.walk(data):
        for name in names:
            path = os.path.join(folder, name)
            found.append((os.path.relpath(path, data), path))
    return sorted(found)


def _measure(path: str, *, durable: bool) -> tuple[int, str]:
    hasher = sha256()
    size = 0
    with open(path, "rb") as file:
        if durable:
            os.fsync(file.fileno())
        while True:
            chunk = file.read(_CHUNK)
            if not chunk:
                return size, hasher.hexdigest()
            hasher.update(chunk)
            size += len(chunk)


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except FileNotFoundError:
        return []
