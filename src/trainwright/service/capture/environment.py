"""Capture the interpreter and the installed distributions, by folder names: far faster than by their metadata."""

import os
import re
import sys
from collections.abc import Iterable
from pathlib import Path

from trainwright.core.fingerprint import Environment

# name-1.2.dist-info, name-1.2-py3.11.egg-info, name.egg-info; "~ame" is what an interrupted pip leaves behind.
_ENTRY = re.compile(r"(?P<name>[A-Za-z0-9][^-]*?)(?:-(?P<version>[^-]+))?(?:-py\d.*)?\.(?:dist|egg)-info")
_RUNS = re.compile(r"[-_.]+")


def capture_environment(path: Iterable[str] | None = None) -> Environment:
    """Return the running interpreter's version and what is installed for it; 0.5-10 ms.

    Args:
        path: folders to look in, the first that has a name wins; None: ``sys.path``.
    """
    packages: dict[str, str] = {}
    for folder in sys.path if path is None else path:
        for name, version in _scan(folder or os.curdir):
            packages.setdefault(name, version)
    return Environment(python=sys.version.split()[0], packages=dict(sorted(packages.items())), locked=False)


def _scan(folder: str) -> list[tuple[str, str]]:
    try:
        with os.scandir(folder) as listed:
            entries = sorted(entry.name for entry in listed)
    except OSError:  # gone, a zip file, or closed to us: the import system passes over such entries too
        return []
    found = []
    for entry in entries:
        matched = _ENTRY.fullmatch(entry) if entry.endswith("-info") else None
        if matched:
            version = matched["version"] or _stated_version(Path(folder, entry))
            found.append((_RUNS.sub("-", matched["name"]).lower(), version))
    return found


def _stated_version(egg: Path) -> str:
    """Return the version in an old ``name.egg-info``, whose name has none; empty when it does not say."""
    try:
        text = (egg / "PKG-INFO" if egg.is_dir() else egg).read_text("utf-8", errors="replace")
    except OSError:
        return ""
    stated = re.search(r"^Version: *(\S+)", text, re.MULTILINE)
    return stated[1] if stated else ""
