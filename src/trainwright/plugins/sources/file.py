"""Data on this machine's disk: ``file:`` URIs and bare paths, patterns too."""

import glob
import os
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from trainwright.core.errors import NotFoundError, SpecError

if TYPE_CHECKING:  # most data is a path, which needs none of it
    from trainwright.ports.source import DataSource, FileSet

_LOCAL_HOSTS = frozenset({"", "localhost"})


class FileSource:
    """Finds files and folders; only ``file://`` has percent signs decoded, everything else is taken as it stands."""

    schemes: tuple[str, ...] = ("file",)

    def locate(self, uri: str, base: Path, *, reference: bool = False) -> "Path | FileSet":  # noqa: ARG002 - of the port
        """Return the absolute path behind ``uri``, links in it not followed. See ``DataSource.locate``.

        Args:
            uri: ``file:relative``, ``file:/absolute``, ``file:///absolute`` (RFC 8089), or a bare path. Where nothing
                has that very name, ``*``, ``?``, ``[…]`` and ``**`` make it a pattern, as a shell reads it.
            base: where relative ones start.
            reference: up to whoever stores it; a folder has no versions of its own.

        Raises:
            SpecError: TW4304 the URI names another machine, nothing, or holds a NUL.
            NotFoundError: TW4303 nothing is there, or it cannot be reached; TW4305 nothing matches.
        """
        path = (base / _path(uri)).absolute()
        try:
            path.stat()
        except OSError as error:
            if glob.has_magic(str(path)) and not path.is_symlink():
                return _matching(path, uri)
            near = _near(path)
            raise NotFoundError(
                "TW4303",
                f"there is nothing to read at {path}: {error.strerror}",
                where=uri,
                remedy=f"did you mean {near}?"
                if near
                else "write the path from the pipeline's folder, or an absolute one",
            ) from error
        return path


def _matching(pattern: Path, uri: str) -> "FileSet":
    """Return the files that match, below the last folder that is no pattern."""
    parts = pattern.parts
    first = next(place for place, part in enumerate(parts) if glob.has_magic(part))
    root, rest = Path(*parts[:first]), "/".join(parts[first:])
    found = sorted(name for name in glob.glob(rest, root_dir=root, recursive=True) if name)  # noqa: PTH207 - see root_dir
    if rest.endswith("**"):
        found = [name for name in found if not (root / name).is_dir()]  # it has matched what is in them as well
    from trainwright.ports.source import FileSet

    if not found:
        near = _near(root / parts[first])
        raise NotFoundError(
            "TW4305",
            f"no file matches {pattern}",
            where=uri,
            why="* and ? stand for letters within a name, ** for any folders; names that begin with a dot are left out",
            remedy=f"did you mean {near}?" if near else f"look what there is: ls {root}",
        )
    return FileSet(root, tuple(found), str(pattern))


def _path(uri: str) -> str:
    path = uri
    if uri.lower().startswith("file://"):
        host, slash, rest = uri[len("file://") :].partition("/")
        if host.lower() not in _LOCAL_HOSTS or not slash:
            remedy = f"write file:{host}{slash}{rest} for a relative path, file:///… for an absolute one"
            raise SpecError("TW4304", f"{uri!r} names the machine {host!r}, not a path here", where=uri, remedy=remedy)
        path = "/" + unquote(rest, errors="surrogateescape")
    elif uri.lower().startswith("file:"):
        path = uri[len("file:") :]
    if not path or "\0" in path:
        what = "a NUL, which no path has" if path else "no path"
        raise SpecError("TW4304", f"{uri!r} holds {what}", where=uri, remedy="write file:path/to/data")
    return path


def _near(path: Path) -> str:
    try:
        with os.scandir(path.parent) as listed:
            names = sorted(entry.name for entry in listed)
    except OSError:
        return ""
    return ", ".join(get_close_matches(path.name, names, n=3))


_: "DataSource" = FileSource()
