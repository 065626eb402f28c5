"""What lies below a path that somebody wants stored: every file by its name inside, sorted, links resolved."""

from __future__ import annotations

import os
import stat

from trainwright.runtime import blobs, manifest
from trainwright.runtime.errors import ContentError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    Facts = tuple[int, int, int, int, int]  # size, mtime_ns, ctime_ns, inode, mode


class Found:
    """One file.

    Attributes:
        name: relative, ``/`` between names; the file's own name when it was asked for alone.
        real: where its bytes are; no link.
        facts: what it looked like.
    """

    __slots__ = ("facts", "name", "real")

    def __init__(self, name: str, real: bytes, facts: Facts) -> None:
        self.name = name
        self.real = real
        self.facts = facts


def facts_of(status: os.stat_result) -> Facts:
    """Return what changes when a file does: size, mtime and ctime in ns, inode, mode."""
    return (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_mode)


def is_executable(facts: Facts) -> bool:
    """Tell whether the owner may execute it; no other mode counts."""
    return bool(facts[4] & stat.S_IXUSR)


def find(path: str) -> tuple[str, list[Found]]:
    """Return ``file`` or ``folder``, and every file, sorted by name.

    Raises:
        ContentError: missing, unreadable, a special file, a link that leads outside, or a name that is not UTF-8.
    """
    shown = os.path.abspath(path)
    real = os.path.realpath(os.fsencode(shown))
    if os.path.isdir(real):
        return "folder", _sorted(_Walk(real).below(real, "", (real,)))
    if not os.path.exists(real):
        raise ContentError(f"{path} does not exist", "check the path")
    return "file", [_found(_utf8(os.path.basename(os.fsencode(shown))), real)]


def choose(base: str, relative_paths: Iterable[str]) -> list[Found]:
    """Return these files below ``base``, sorted by name; a folder among them stands for all it holds.

    Raises:
        ContentError: as :func:`find`, and for a path that leads out of ``base``.
    """
    top = os.path.realpath(os.fsencode(base))
    walk = _Walk(top)
    found: dict[str, Found] = {}
    for path in relative_paths:
        manifest.refuse_path(path)
        name = os.fsencode(path)
        real = walk.resolve(os.path.join(top, name))
        inside = _utf8(name)
        if os.path.isdir(real):
            found.update({one.name: one for one in walk.below(real, inside + "/", (real,))})
        else:
            found[inside] = _found(inside, real)
    return _sorted(list(found.values()))


class _Walk:
    """A walk that nothing may lead out of."""

    def __init__(self, top: bytes) -> None:
        self._top = top

    def below(self, folder: bytes, prefix: str, above: tuple[bytes, ...]) -> list[Found]:
        """Return every file below ``folder``.

        Args:
            folder: real path.
            prefix: what its names are called inside, with a slash at the end.
            above: real paths of the folders we are in, to notice a link that leads back.
        """
        found: list[Found] = []
        try:
            with os.scandir(folder) as items:
                listed = list(items)
        except OSError as error:
            raise _unreadable(folder, error) from error
        item = None
        try:  # all in one place: there may be millions
            for item in listed:
                name = prefix + item.name.decode()
                if item.is_file(follow_symlinks=False):
                    status = item.stat(follow_symlinks=False)
                    facts = (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_mode)
                    found.append(Found(name, item.path, facts))
                else:
                    found += self._other(item, name, above)
        except UnicodeDecodeError:
            _utf8(item.name if item else folder)  # says so
        except OSError as error:
            raise _unreadable(item.path if item else folder, error) from error
        return found

    def _other(self, item: os.DirEntry[bytes], name: str, above: tuple[bytes, ...]) -> list[Found]:
        """Return what is behind a folder, a link, or something special."""
        real = self.resolve(item.path) if item.is_symlink() else item.path
        if not os.path.isdir(real):
            return [_found(name, real)]
        if real in above:
            raise ContentError(f"{blobs.show(item.path)} is a link to a folder it is in", "remove the link")
        return self.below(real, name + "/", (*above, real))

    def resolve(self, path: bytes) -> bytes:
        """Follow links as long as they stay inside."""
        real = os.path.realpath(path)
        top = self._top
        if real != top and not real.startswith(top.rstrip(b"/") + b"/"):
            raise ContentError(
                f"{blobs.show(path)} leads out of {blobs.show(top)}", "copy the file in, or leave it out"
            )
        if not os.path.exists(real):
            raise ContentError(f"{blobs.show(path)} does not exist or leads nowhere", "remove it or leave it out")
        return real


def _found(name: str, real: bytes) -> Found:
    try:
        status = os.stat(real, follow_symlinks=False)
    except OSError as error:
        raise _unreadable(real, error) from error
    if not stat.S_ISREG(status.st_mode):
        raise ContentError(f"{blobs.show(real)} is not a regular file", "leave it out")
    return Found(name, real, facts_of(status))


def _unreadable(path: bytes, error: OSError) -> ContentError:
    return ContentError(f"{blobs.show(path)} cannot be read: {error.strerror}", "make it readable")


def _sorted(found: list[Found]) -> list[Found]:
    """Sort by the code points of the names, which is the order of their UTF-8 bytes."""
    return sorted(found, key=lambda one: one.name)


def _utf8(name: bytes) -> str:
    try:
        return name.decode()
    except UnicodeDecodeError as error:
        raise ContentError(f"the name {blobs.show(name)} is not UTF-8", "rename the file") from error
