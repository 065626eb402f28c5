"""Which format the files of a model are in, by their names."""

from collections.abc import Iterable
from typing import NamedTuple

CARD = "model_card.md"
"""File of a model's folder in which its author writes about it."""


class ModelFormat(NamedTuple):
    """A format of model files.

    Attributes:
        name: ``skops``, ``safetensors``, ``pickle`` …; empty when it is not known.
        framework: that writes it, where that is clear.
        runs_code: whether loading it runs code that is in the file.
    """

    name: str
    framework: str = ""
    runs_code: bool = False


UNKNOWN = ModelFormat("")
_FORMATS = {
    "skops": ModelFormat("skops", "scikit-learn"),
    "safetensors": ModelFormat("safetensors"),
    "json": ModelFormat("json"),
    "npy": ModelFormat("npy", "numpy"),
    "npz": ModelFormat("npz", "numpy"),
    "parquet": ModelFormat("parquet"),
    "onnx": ModelFormat("onnx", "onnx"),
    "gguf": ModelFormat("gguf", "llama.cpp"),
    "ubj": ModelFormat("ubj", "xgboost"),
    "cbm": ModelFormat("cbm", "catboost"),
    "pt": ModelFormat("torch pickle", "torch", runs_code=True),
    "pth": ModelFormat("torch pickle", "torch", runs_code=True),
    "ckpt": ModelFormat("torch pickle", "torch", runs_code=True),
    "pkl": ModelFormat("pickle", runs_code=True),
    "pickle": ModelFormat("pickle", runs_code=True),
    "joblib": ModelFormat("joblib", "scikit-learn", runs_code=True),
}


def format_of(paths: Iterable[str]) -> ModelFormat:
    """Return the format of a model with these files; one that runs code stands over the others."""
    found = {_FORMATS[path.rpartition(".")[2].lower()] for path in paths if path.rpartition(".")[2].lower() in _FORMATS}
    ranked = sorted(found, key=lambda f: (not f.runs_code, not f.framework, f.name == "json", f.name))
    return ranked[0] if ranked else UNKNOWN
