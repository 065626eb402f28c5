"""The files of a folder that no repository holds."""

import os
from pathlib import Path
from typing import NoReturn

from trainwright.core.errors import SpecError
from trainwright.service.capture.omissions import (
    IGNORE_FILE,
    Rule,
    is_clutter,
    is_secret,
    leaves_out,
    read_rules,
    stands_apart,
)


def read_folder(top: Path, most: int) -> tuple[str, ...]:
    """Return the files and links below ``top``, without clutter, secrets and what ``.twignore`` lists.

    Args:
        top: absolute.
        most: a walk that finds more files than this stops early, with at least one more.

    Returns:
        Paths relative to ``top``, with ``/``, in no order.

    Raises:
        SpecError: TW2203 a folder or ``.twignore`` cannot be read; TW2206 a line of it is no pattern.
    """
    found: list[str] = []
    rules: tuple[Rule, ...] = ()
    for place, folders, files in os.walk(top, onerror=_refuse):
        base = os.path.relpath(place, top) + "/" if place != str(top) else ""
        if base and stands_apart(files):
            folders.clear()
            continue
        rules += read_rules(top, base + IGNORE_FILE) if IGNORE_FILE in files else ()
        links = {name for name in folders if os.path.islink(f"{place}/{name}")}  # noqa: PTH114 - twice as fast
        kept = [name for name in folders if name not in links and not is_clutter(name)]
        folders[:] = [name for name in kept if not leaves_out(rules, base + name, folder=True)]
        found += [base + name for name in (*files, *links) if _travels(rules, base + name, name)]
        if len(found) > most:
            break
    return tuple(found)


def _travels(rules: tuple[Rule, ...], path: str, name: str) -> bool:
    return not (is_clutter(name) or is_secret(path) or leaves_out(rules, path, folder=False))


def _refuse(error: OSError) -> NoReturn:
    message = f"the folder {error.filename} cannot be read: {error.strerror}"
    raise SpecError("TW2203", message, remedy="give yourself the right to read it, or list it in .twignore") from error
