"""Capture the interpreter and the installed distributions, by folder names: far faster than by their metadata.

What they consist of is taken from their RECORD files, which say the hash of each file that is installed: a changed
wheel of the same version has another one. They are read once, and then known by their size and time.
"""

import json
import os
import re
import sys
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from trainwright.core.fingerprint import Environment
from trainwright.runtime import atomic

RECORDS = "records.json"
"""In the state folder: digests of RECORD files that were read before, by path, size and time."""

# name-1.2.dist-info, name-1.2-py3.11.egg-info, name.egg-info; "~ame" is what an interrupted pip leaves behind.
_ENTRY = re.compile(r"(?P<name>[A-Za-z0-9][^-]*?)(?:-(?P<version>[^-]+))?(?:-py\d.*)?\.(?:dist|egg)-info")
_RUNS = re.compile(r"[-_.]+")
_EDITABLE = re.compile(rb'"editable"\s*:\s*true')
_OF_THE_PLACE = re.compile(
    rb"(?:\.\./|/|[^,]*(?:\.pyc|-info/(?:INSTALLER|REQUESTED|RECORD|direct_url\.json|uv_\w+\.json)),)"
)
"""Lines that two installations of one wheel differ in: scripts name their interpreter, installers themselves."""


class _Found(NamedTuple):
    name: str
    version: str
    path: str


def capture_environment(path: Iterable[str] | None = None, kept: Path | None = None) -> Environment:
    """Return the running interpreter's version and what is installed for it; 1-2 ms, 30 the first time.

    Args:
        path: folders to look in, the first that has a name wins; None: ``sys.path``.
        kept: file that remembers what was read; None = nothing is remembered.
    """
    installed: dict[str, _Found] = {}
    for folder in sys.path if path is None else path:
        for found in _scan(folder or os.curdir):
            installed.setdefault(found.name, found)
    ordered = [installed[name] for name in sorted(installed)]
    return Environment(
        python=sys.version.split()[0],
        packages={found.name: found.version for found in ordered},
        records=_records(ordered, kept),
        editable=tuple(found.name for found in ordered if _is_editable(found.path)),
    )


def _scan(folder: str) -> list[_Found]:
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
            found.append(_Found(_RUNS.sub("-", matched["name"]).lower(), version, f"{folder}/{entry}"))
    return found


def _stated_version(egg: Path) -> str:
    """Return the version in an old ``name.egg-info``, whose name has none; empty when it does not say."""
    try:
        text = (egg / "PKG-INFO" if egg.is_dir() else egg).read_text("utf-8", errors="replace")
    except OSError:
        return ""
    stated = re.search(r"^Version: *(\S+)", text, re.MULTILINE)
    return stated[1] if stated else ""


def _records(installed: Iterable[_Found], kept: Path | None) -> str:
    """Return the digest of what is installed, by RECORD files; a distribution without one counts by its name only."""
    known = _read(kept) if kept is not None else {}
    seen: dict[str, str] = {}
    hasher = sha256()
    for found in installed:
        stamp = _stamp(f"{found.path}/RECORD")
        digest = "" if not stamp else known.get(stamp) or _content(f"{found.path}/RECORD")
        if stamp:
            seen[stamp] = digest
        hasher.update(f"{found.name} {digest}\n".encode())
    if kept is not None and seen.keys() - known.keys():
        _write(kept, seen)
    return hasher.hexdigest()


def _stamp(record: str) -> str:
    try:
        facts = os.stat(record)  # noqa: PTH116 - one for each distribution, at each run
    except OSError:
        return ""
    return f"{record} {facts.st_size} {facts.st_mtime_ns} {facts.st_ino}"


def _content(record: str) -> str:
    """Return the digest of the lines of a RECORD that are the same wherever the wheel is installed, in any order."""
    try:
        with open(record, "rb") as file:  # noqa: PTH123 - as above
            lines = file.read().splitlines()
    except OSError:
        return ""
    return sha256(b"\n".join(sorted(line for line in lines if not _OF_THE_PLACE.match(line)))).hexdigest()


def _is_editable(folder: str) -> bool:
    try:
        with open(f"{folder}/direct_url.json", "rb") as file:  # noqa: PTH123 - as above
            return bool(_EDITABLE.search(file.read()))
    except OSError:
        return False


def _read(kept: Path) -> dict[str, str]:
    try:
        found = json.loads(kept.read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _write(kept: Path, seen: dict[str, str]) -> None:
    """Remember what was read; where that is not possible, it is read again the next time."""
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        atomic.replace(str(kept), json.dumps(seen).encode())
    except OSError:
        return
