"""Loading the files of a model without running what is in them.

safetensors, skops with types it trusts, JSON, Parquet, npy and npz are data. What Python's pickle wrote (``.pkl``,
``.joblib``, ``.pt``) is a program: it is refused unless the caller says ``allow_pickle=True``.
"""

from __future__ import annotations

import os

from trainwright.runtime import formats
from trainwright.runtime.formats import RefusedValue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

CARD = "model_card.md"
SAYING = "allow_pickle=True"

_LIKE = {
    ".json": formats.JSON,
    ".parquet": formats.TABLE,
    ".npy": formats.ARRAY,
    ".npz": formats.ARRAYS,
    ".safetensors": formats.TENSORS,
    ".skops": formats.MODEL,
}
_PICKLES = {
    ".pkl": "pickle",
    ".pickle": "pickle",
    ".joblib": "joblib",
    **dict.fromkeys((".pt", ".pth", ".ckpt"), "torch"),
}
_HEAD = 4096


def load_model_files(path: str, *, allow_pickle: bool, trusted: Sequence[str], project: str) -> Any:
    """Return the model in a file or folder whose bytes were verified.

    Args:
        path: of it.
        allow_pickle: run what a pickle says; torch files are loaded with ``weights_only=True`` even so.
        trusted: names of types that skops may make beside those it trusts itself.
        project: whose pickles may be loaded when pickles may.

    Raises:
        RefusedValue: it is a pickle and nobody said so, holds types that are not trusted, is in no known format, or a
            library is missing.
        OSError: it cannot be read.
    """
    file = _file(path)
    kind = _kind(file)
    if kind in _PICKLES.values():
        return _load_pickle(file, kind, project) if allow_pickle else _refuse_pickle(file, kind)
    try:
        if kind == formats.MODEL:
            return _load_skops(file, trusted)
        if kind == formats.ARRAYS:
            return _load_arrays(file)
        return formats.LOAD[kind](file)
    except RefusedValue:
        raise
    except Exception as error:  # whatever a library says of a damaged file
        name = os.path.basename(file)
        raise RefusedValue(f"{name} cannot be read: {error}", "look at it: tw model get NAME FOLDER") from error


def _file(path: str) -> str:
    """Return the one file that is the model; a card beside it does not count."""
    if not os.path.isdir(path):
        return path
    names = sorted(name for name in os.listdir(path) if name != CARD)
    ours = [name for name in names if name in formats.LOAD or name == formats.OBJECT]
    chosen = ours if len(ours) == 1 else names
    if len(chosen) != 1 or not os.path.isfile(os.path.join(path, chosen[0])):
        shown = ", ".join(names[:5]) + (" …" if len(names) > 5 else "")  # noqa: PLR2004
        raise RefusedValue(
            f"the model is a folder with {shown or 'nothing'} in it, and which of them to load is not clear",
            "copy it out and load it yourself: tw model get NAME FOLDER",
        )
    return os.path.join(path, chosen[0])


def _kind(file: str) -> str:
    """Return how to load a file: by its ending, else by its first bytes."""
    ending = os.path.splitext(file)[1].lower()
    if os.path.basename(file) == formats.OBJECT or ending in _PICKLES:
        return _PICKLES.get(ending, "pickle")
    found = _LIKE.get(ending) or _by_content(file)
    if not found:
        raise RefusedValue(
            f"{os.path.basename(file)} is in no format that can be loaded safely",
            "write safetensors, skops, JSON, Parquet or npy; or copy it out: tw model get NAME FOLDER",
        )
    return found


def _by_content(file: str) -> str:
    with open(file, "rb") as opened:
        head = opened.read(_HEAD)
    if head[:4] == b"PK\x03\x04":
        return _of_zip(file)
    if head[:6] == b"\x93NUMPY":
        return formats.ARRAY
    if head[:4] == b"PAR1":
        return formats.TABLE
    if head[8:9] == b"{" and int.from_bytes(head[:8], "little") <= os.path.getsize(file) - 8:
        return formats.TENSORS
    if head[:1] == b"\x80" or head.startswith(b"trainwright-pickle "):
        return "pickle"
    if head.lstrip()[:1] in (b"{", b"[", b'"', b"t", b"f", b"n", b"-") or head.lstrip()[:1].isdigit():
        return formats.JSON
    return ""


def _of_zip(file: str) -> str:
    import zipfile

    try:
        with zipfile.ZipFile(file) as opened:
            names = opened.namelist()
    except zipfile.BadZipFile:
        return ""
    if any(name.endswith("data.pkl") for name in names):
        return "torch"
    if "schema.json" in names:
        return formats.MODEL
    return formats.ARRAYS if names and all(name.endswith(".npy") for name in names) else ""


def _refuse_pickle(file: str, kind: str) -> None:
    raise RefusedValue(
        f"{os.path.basename(file)} is a {kind} file, and loading one runs code that somebody put there",
        f"store the model as safetensors or skops; if you trust whoever made it, say {SAYING}",
    )


def _load_pickle(file: str, kind: str, project: str) -> Any:
    if kind == "torch":
        with formats.needing("torch", "to read torch files"):
            import torch
        import pickle

        try:
            return torch.load(file, map_location="cpu", weights_only=True)
        except pickle.UnpicklingError as error:
            remedy = "store its state_dict as safetensors; weights are all that is loaded from torch files"
            raise RefusedValue(f"{os.path.basename(file)} holds more than weights", remedy) from error
    if kind == "joblib":
        with formats.needing("joblib", "to read joblib files"):
            import joblib
        return joblib.load(file)
    with open(file, "rb") as opened:
        ours = opened.read(len(formats.PICKLE_HEAD)) == formats.PICKLE_HEAD
    if ours:
        return formats.load_pickle(file, project)
    import pickle

    with open(file, "rb") as opened:
        return pickle.load(opened)  # noqa: S301 - the caller has said in so many words that it may run


def _load_skops(file: str, trusted: Sequence[str]) -> Any:
    with formats.needing("skops", "to read scikit-learn models"):
        import skops.io
    unknown = [name for name in skops.io.get_untrusted_types(file=file) if name not in trusted]
    if unknown:
        raise RefusedValue(
            f"the model holds types that skops does not trust: {', '.join(unknown)}",
            f"if you know what they do: trusted={unknown!r}",
        )
    return skops.io.load(file, trusted=list(trusted))


def _load_arrays(file: str) -> Any:
    with formats.needing("numpy", "to read arrays"):
        import numpy as np
    with np.load(file, allow_pickle=False) as found:
        return {name: found[name] for name in found.files}
