"""What a function returns, stored by its type, and loaded again: safe formats, never pickle unless a step says so.

An output of kind ``value`` is one file of JSON. A path that is returned is stored as it is. Everything else becomes a
folder with one file that is named after its format: ``value.json``, ``table.parquet``, ``array.npy``, ``arrays.npz``,
``tensors.safetensors``, ``model.skops`` or ``object.pickle``. A command step reads and writes the same names.
"""

from __future__ import annotations

import os

from trainwright.runtime import formats
from trainwright.runtime.formats import RefusedValue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

VALUE, PICKLE = "value", "pickle"
"""Kinds of output that decide the format by themselves."""


def save(value: Any, path: str, kind: str, project: str) -> None:
    """Store what a function returned for one output.

    Args:
        value: anything.
        path: of the output; nothing is there yet.
        kind: as the step declares it.
        project: whose steps may load a pickle.

    Raises:
        RefusedValue: there is no safe format for it, or a library is missing.
        OSError: it cannot be written.
    """
    if isinstance(value, os.PathLike):
        _take(os.fspath(value), path)
        if kind == VALUE:
            formats.load_json(path)
        return
    if kind == VALUE:
        formats.save_json(value, path)
        return
    name = formats.OBJECT if kind == PICKLE else formats.format_of(value)
    if not name:
        raise RefusedValue(f"{_shown(value)} has no safe format", formats.NO_FORMAT)
    os.mkdir(path)
    target = os.path.join(path, name)
    if kind == PICKLE:
        formats.save_pickle(value, target, project)
    else:
        formats.SAVE[name](value, target)


def load(path: str, kind: str, project: str) -> Any:
    """Return what is stored: a value when its format is one of ours, else the path.

    Args:
        path: of the file or folder.
        kind: of the output it was, ``dataset`` for pinned data.
        project: the one that reads.

    Raises:
        RefusedValue: it cannot be loaded safely, or a library is missing.
        OSError: it cannot be read.
    """
    names = os.listdir(path) if os.path.isdir(path) else []
    name = names[0] if len(names) == 1 else ""
    inside = os.path.join(path, name)
    if kind == VALUE:
        return formats.load_json(inside if name == formats.JSON else path)
    if kind == PICKLE and name == formats.OBJECT:
        return formats.load_pickle(inside, project)
    if name == formats.OBJECT:
        raise RefusedValue(
            f"{inside} is a pickle, and loading one runs code that somebody put there",
            "declare the output as pickle in the step that makes it; nothing else is unpickled",
        )
    if name in formats.LOAD:
        return formats.LOAD[name](inside)
    from pathlib import Path

    return Path(path)


def _take(source: str, path: str) -> None:
    """Make ``path`` what ``source`` is: moved when it lies beside us, copied when it is somebody else's."""
    import shutil

    if not os.path.exists(source):
        raise RefusedValue(f"the path {source} was returned, and nothing is there", "write it before you return it")
    real = os.path.realpath(source)
    if real == os.path.realpath(path):
        return
    own = os.path.realpath(os.getcwd()) + "/"
    if real.startswith(own) and not os.path.islink(source):
        os.rename(real, path)
    elif os.path.isdir(real):
        shutil.copytree(real, path)
    else:
        shutil.copyfile(real, path)


def _shown(value: object) -> str:
    kind = type(value)
    return f"a {kind.__qualname__} ({kind.__module__})"
