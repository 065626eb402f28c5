"""A lock: every package of an environment with its version and the hashes of its files, in one form.

A line a package, ``name==version ; marker --hash=sha256:… --hash=sha256:…``, sorted: what uv and pip take as it is.
Where packages come from is no part of it: no index, no address, nobody's password.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

_NAME_RUNS = re.compile(r"[-_.]+")
_PINNED = re.compile(
    r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^\]]*\])?\s*===?\s*(?P<version>[^\s;]+)\s*(?:;\s*(?P<marker>.+))?"
)
_HASH = re.compile(r"--hash[= ]sha256:([0-9a-fA-F]{64})")
_ANY_HASH = re.compile(r"--hash[= ]\S+")
_COMMENT = re.compile(r"(^|\s)#.*$")
_SPACES = re.compile(r"\s+")
_INCLUDES = ("-r", "--requirement", "-c", "--constraint", "-e", "--editable")


class LockError(ValueError):
    """A text is no lock.

    Attributes:
        line: of the text, from 1; 0 for none.
        remedy: what to do.
    """

    def __init__(self, message: str, line: int, remedy: str) -> None:
        super().__init__(message)
        self.line, self.remedy = line, remedy


@dataclass(frozen=True, slots=True, order=True)
class LockedPackage:
    """One package.

    Attributes:
        name: normalised, as PEP 503 says.
        marker: where it is wanted, as PEP 508 writes it; empty = everywhere.
        hashes: sha256 of each file that may be installed, sorted.
    """

    name: str
    version: str
    marker: str
    hashes: tuple[str, ...]

    @property
    def line(self) -> str:
        """Return it as a line of the lock."""
        marker = f" ; {self.marker}" if self.marker else ""
        return " ".join([f"{self.name}=={self.version}{marker}", *(f"--hash=sha256:{h}" for h in self.hashes)])


def normal_name(name: str) -> str:
    """Return the one form of the name of a package."""
    return _NAME_RUNS.sub("-", name).lower()


def text_of(packages: Iterable[LockedPackage]) -> str:
    """Return the one text of a lock."""
    return "".join(f"{package.line}\n" for package in sorted(set(packages)))


def parse_requirements(text: str) -> tuple[LockedPackage, ...]:
    """Return the packages of a requirements file with hashes; what says where they come from is left out.

    Raises:
        LockError: a package without one version or without a hash, or one that no index has.
    """
    found = []
    for number, line in _lines(text):
        if line.startswith("-"):
            if line.split("=")[0].split()[0] in _INCLUDES:
                raise LockError(
                    f"{line[:60]!r} is not locked", number, "lock all of it: uv pip compile --generate-hashes"
                )
            continue  # an index, or how to install: the business of whoever installs
        found.append(_package(line, number))
    return tuple(sorted(found))


def parse_pylock(document: Mapping[str, object]) -> tuple[LockedPackage, ...]:
    """Return the packages of a ``pylock.toml``, as PEP 751 has them.

    Raises:
        LockError: a package without a version or a hash, or one that no index has.
    """
    packages = document.get("packages")
    if not isinstance(packages, list):
        raise LockError("it has no packages", 0, "write it with: uv export --format pylock.toml")
    return tuple(sorted(map(_of_pylock, packages)))


def key_of(lock: str, python: str, platform: str, extras: Iterable[str]) -> str:
    """Return what tells an environment from all others: 64 hex digits."""
    words = json.dumps([lock, python, platform, sorted(extras)], ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(words.encode()).hexdigest()


def differing(mine: str, other: str) -> list[str]:
    """Return how one lock differs from another, a package each: ``numpy 1.26.4 → 2.0.1``, ``six is new``."""
    here, there = _versions(mine), _versions(other)
    said = []
    for name in sorted(here.keys() | there.keys()):
        if name not in there:
            said.append(f"{name} is new")
        elif name not in here:
            said.append(f"{name} is gone")
        elif here[name][0] != there[name][0]:
            said.append(f"{name} {there[name][0]} → {here[name][0]}")
        elif here[name] != there[name]:
            said.append(f"{name} has other files or markers")
    return said


def _versions(lock: str) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for line in lock.splitlines():
        name, _, rest = line.partition("==")
        version, _, marks = rest.partition(" ")
        found.setdefault(name, []).extend((version, marks))
    return {name: tuple(words) for name, words in found.items()}


def _lines(text: str) -> Iterable[tuple[int, str]]:
    """Yield each logical line with the number of its first one; comments and empty ones are left out."""
    begun, first = "", 0
    for number, raw in enumerate([*text.splitlines(), ""], 1):
        line = _COMMENT.sub("", raw).rstrip()
        first = first or number
        if line.endswith("\\"):
            begun += line[:-1] + " "
            continue
        whole = (begun + line).strip()
        if whole:
            yield first, whole
        begun, first = "", 0


def _package(line: str, number: int) -> LockedPackage:
    hashes = tuple(sorted({found.lower() for found in _HASH.findall(line)}))
    wanted = _SPACES.sub(" ", _ANY_HASH.sub("", line)).strip()
    shown = wanted[:60]
    if " @ " in wanted or "://" in wanted or wanted.startswith((".", "/")):
        raise LockError(
            f"{shown!r} comes from an address or a folder, not from an index",
            number,
            "publish it to an index, or keep its code beside the pipeline",
        )
    match = _PINNED.fullmatch(wanted)
    if match is None or "*" in match["version"]:
        raise LockError(f"{shown!r} has not one version", number, "lock it: uv pip compile --generate-hashes")
    if not hashes:
        raise LockError(f"{shown!r} has no sha256 hash", number, "lock it anew with hashes: --generate-hashes")
    marker = _SPACES.sub(" ", match["marker"] or "").strip().replace('"', "'")
    return LockedPackage(normal_name(match["name"]), match["version"], marker, hashes)


def _of_pylock(found: object) -> LockedPackage:
    entry = found if isinstance(found, dict) else {}
    name, version = str(entry.get("name", "")), entry.get("version")
    if any(entry.get(key) for key in ("vcs", "directory", "archive")) or not isinstance(version, str) or not name:
        raise LockError(
            f"{name or 'a package'!r} comes from an address or a folder, not from an index",
            0,
            "publish it to an index, or keep its code beside the pipeline",
        )
    files = [*(entry.get("wheels") or ()), *([entry["sdist"]] if entry.get("sdist") else ())]
    hashes = {str(file.get("hashes", {}).get("sha256", "")).lower() for file in files if isinstance(file, dict)}
    if not hashes or "" in hashes:
        raise LockError(f"{name}=={version} has a file without a sha256 hash", 0, "lock it anew")
    marker = _SPACES.sub(" ", str(entry.get("marker") or "")).strip().replace('"', "'")
    return LockedPackage(normal_name(name), version, marker, tuple(sorted(hashes)))
