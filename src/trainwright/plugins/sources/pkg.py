"""Data that ships inside an installed Python package: ``pkg://sklearn/datasets/data/digits.csv.gz``."""

import importlib.util
import os
from collections.abc import Iterator
from difflib import get_close_matches
from itertools import islice
from pathlib import Path

from trainwright.core.errors import NotFoundError, SpecError
from trainwright.ports.source import DataSource

_PREFIX = "pkg://"
_DISTRIBUTIONS = {"sklearn": "scikit-learn", "skimage": "scikit-image", "PIL": "pillow", "yaml": "pyyaml"}
"""Packages with data whose import name is not what ``pip install`` wants."""
_SEARCHED = 20_000
"""Files of a package looked through for near names; torch has some 15,000."""


class PackageSource:
    """Finds files in packages of the running interpreter without importing them."""

    schemes: tuple[str, ...] = ("pkg",)

    def locate(self, uri: str, base: Path, *, reference: bool = False) -> Path:  # noqa: ARG002 - of the port
        """Return the file or folder behind ``pkg://package/path``. See ``DataSource.locate``.

        Args:
            uri: the package is a top-level import name; the path is taken as it stands, without decoding.
            base: of no effect.
            reference: up to whoever stores it.

        Raises:
            SpecError: TW4304 the URI names no package or no path in it.
            NotFoundError: TW4301 no such package; TW4302 the package has no such file. A path that would leave the
                package gets the same answer whether there is something outside or not.
        """
        package, _, path = uri.removeprefix(_PREFIX).partition("/")
        if not uri.startswith(_PREFIX) or not package.isidentifier() or not path.strip("/"):
            remedy = "write pkg://package/path/to/file, the package as in `import package`"
            raise SpecError("TW4304", f"{uri!r} names no file in a package", where=uri, remedy=remedy)
        folders = _folders(package)
        if folders is None:
            remedy = f"pip install {_DISTRIBUTIONS.get(package, package)}"
            raise NotFoundError("TW4301", f"the package {package} is not installed", where=uri, remedy=remedy)
        found = next((place for folder in folders if (place := _inside(folder, path))), None)
        if found is None:
            near = _near(folders, path)
            remedy = f"did you mean {near}?" if near else f"look which files the installed version of {package} has"
            message = f"the package {package} has no file {path!r}"
            raise NotFoundError("TW4302", message, where=uri, remedy=remedy)
        return found


def _folders(package: str) -> tuple[Path, ...] | None:
    """Return the package's folders, several for a namespace package, none for a single module; None when missing."""
    try:
        spec = importlib.util.find_spec(package)
    except ValueError:  # a module made by hand, such as __main__
        spec = None
    if spec is None:
        return None
    return tuple(Path(folder) for folder in spec.submodule_search_locations or ())


def _inside(folder: Path, path: str) -> Path | None:
    """Return what ``path`` means below ``folder``; None when nothing is there or it leads outside, by link too."""
    if path.startswith("/") or "\0" in path or ".." in path.replace("\\", "/").split("/"):
        return None
    place = folder / path
    try:
        there = place.resolve(strict=True).is_relative_to(folder.resolve())
    except OSError:
        return None
    return place if there else None


def _near(folders: tuple[Path, ...], path: str) -> str:
    paths = [file for folder in folders for file in islice(_files(folder), _SEARCHED)]
    wanted = path.replace("\\", "/").rpartition("/")[2]
    names = get_close_matches(wanted, sorted({file.rpartition("/")[2] for file in paths}), n=3)
    near = sorted((names.index(name), file) for file in paths if (name := file.rpartition("/")[2]) in names)
    return ", ".join(file for _, file in near[:3])


def _files(folder: Path) -> Iterator[str]:
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in sorted(names):
            yield Path(place, name).relative_to(folder).as_posix()


_: DataSource = PackageSource()
