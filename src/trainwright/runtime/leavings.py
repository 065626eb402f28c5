"""What a power cut leaves in the folders of attempts, and how they become sound again.

A file that was not yet on the disk may be there without its bytes: ``job.json`` and ``runner.json`` are not synced,
since after a power cut no runner is left anyway.
"""

from __future__ import annotations

import os

from trainwright.runtime import atomic, disk, plainjson

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

RECORDS = ("job.json", "result.json", "runner.json")
BROKEN, BUNDLE, DRAFT = "broken", "bundle", "draft"
BUNDLES = ".runtime"
"""Folder of the runtime's bundles, beside the runs."""

_TOKEN = 16  # hex digits of atomic.unique


class Leaving:
    """One file that is no use.

    Attributes:
        kind: ``broken`` (a record that is no JSON object), ``bundle`` (a runtime that is no archive) or ``draft``.
        path: of it.
    """

    __slots__ = ("kind", "path")

    def __init__(self, kind: str, path: str) -> None:
        self.kind = kind
        self.path = path


def find(root: str, before_s: float) -> list[Leaving]:
    """Return what is broken or left over below ``root/<run>/<step>/<number>/``, by path; changes nothing.

    Args:
        root: of the runs; there may be none yet.
        before_s: drafts count when they are older than this instant (seconds since the epoch).
    """
    found = list(_bundles(root, before_s))
    for folder in attempt_folders(root):
        for name in disk.names(folder):
            path = os.path.join(folder, name)
            if name in RECORDS and not is_record(path):
                found.append(Leaving(BROKEN, path))
            elif _is_draft(name) and disk.changed_at(path) < before_s:
                found.append(Leaving(DRAFT, path))
    return found


def mend(leavings: Collection[Leaving]) -> None:
    """Remove drafts and bundles; give broken records the name ``….broken``.

    An attempt that had a runner keeps one on record, dead: else it would be carried out a second time.

    Raises:
        OSError: something cannot be renamed or removed.
    """
    for leaving in leavings:
        if leaving.kind != BROKEN:
            os.unlink(leaving.path)
        elif not is_record(leaving.path):
            _set_aside(leaving.path)


def attempt_folders(root: str) -> Iterator[str]:
    """Yield the folder of every attempt, by name."""
    for run in disk.names(root):
        if run.startswith("."):
            continue
        for step in disk.names(os.path.join(root, run)):
            above = os.path.join(root, run, step)
            yield from (os.path.join(above, name) for name in disk.names(above) if name.isdigit())


def is_record(path: str) -> bool:
    """Tell whether a file holds one JSON object; one that cannot be read does not."""
    try:
        with open(path, "rb") as file:
            return isinstance(plainjson.loads(file.read()), dict)
    except FileNotFoundError:
        return True  # it went meanwhile
    except (OSError, ValueError):
        return False


def _set_aside(path: str) -> None:
    folder, name = os.path.split(path)
    aside = path + ".broken"
    if os.path.lexists(aside):
        aside += "." + atomic.unique()
    dead = atomic.encode({"pid": None})
    if name == "runner.json":
        os.link(path, aside)
        atomic.replace(path, dead)  # at no moment is there none
        return
    if name == "result.json":
        atomic.create(os.path.join(folder, "runner.json"), dead)
    os.rename(path, aside)


def _bundles(root: str, before_s: float) -> Iterator[Leaving]:
    import zipfile

    folder = os.path.join(root, BUNDLES)
    for name in disk.names(folder):
        path = os.path.join(folder, name)
        if name.endswith(".pyz"):
            try:
                with zipfile.ZipFile(path) as archive:
                    if archive.testzip() is None:
                        continue
            except (OSError, zipfile.BadZipFile):
                pass
            yield Leaving(BUNDLE, path)
        elif _is_draft(name) and disk.changed_at(path) < before_s:
            yield Leaving(DRAFT, path)


def _is_draft(name: str) -> bool:
    """Tell whether ``atomic`` gave this name: ``result.json.0123456789abcdef.tmp``."""
    parts = name.split(".")
    return len(parts) > 2 and parts[-1] == "tmp" and len(parts[-2]) == _TOKEN  # noqa: PLR2004
