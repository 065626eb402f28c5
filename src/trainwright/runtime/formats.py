"""The formats in which values are stored, each one file; the libraries behind them are imported when one is used."""

from __future__ import annotations

import os
import sys

from trainwright.runtime import plainjson

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

JSON, TABLE, ARRAY, ARRAYS = "value.json", "table.parquet", "array.npy", "arrays.npz"
TENSORS, MODEL, OBJECT = "tensors.safetensors", "model.skops", "object.pickle"
"""Names of the files."""

NO_FORMAT = 'return a path to what you wrote yourself, or declare out={"…": tw.pickle}, which only this project loads'
LARGEST_VALUE_BYTES = 64 << 20
"""Of an output of kind ``value``, which the engine reads whole."""

_WORDS = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}
_MARK = b"trainwright"
PICKLE_HEAD = b"trainwright-pickle 1 "
"""What a pickle of ours begins with."""


class RefusedValue(Exception):  # noqa: N818 - it is no error of ours
    """A value cannot be stored or loaded.

    Attributes:
        remedy: what to do about it.
    """

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.remedy = remedy


def format_of(value: Any) -> str:
    """Return the name of the file that a value is stored as; empty when there is no safe format."""
    if _is_a(value, "pandas", "DataFrame") or _is_a(value, "polars", "DataFrame") or _is_a(value, "pyarrow", "Table"):
        return TABLE
    if _is_a(value, "pandas", "Series") or _is_a(value, "polars", "Series", "LazyFrame"):
        raise RefusedValue(
            f"a {type(value).__name__} is no table", "return a table: .to_frame() of a series, .collect() of a lazy one"
        )
    if _is_a(value, "torch.nn", "Module"):
        raise RefusedValue("a torch module holds code besides its weights", "return model.state_dict()")
    if _is_a(value, "numpy", "ndarray"):
        return ARRAY
    if _is_a(value, "torch", "Tensor"):
        return TENSORS
    if isinstance(value, dict) and value and all(isinstance(name, str) for name in value):
        if all(_is_a(item, "numpy", "ndarray") for item in value.values()):
            return ARRAYS
        if all(_is_a(item, "numpy", "ndarray") or _is_a(item, "torch", "Tensor") for item in value.values()):
            return TENSORS
    if _is_a(value, "sklearn.base", "BaseEstimator"):
        return MODEL
    return JSON if _looks_plain(value) else ""


def save_json(value: Any, path: str) -> None:
    """Write plain values; NaN and infinities as the words ``"NaN"``, ``"Infinity"``, ``"-Infinity"``."""
    text = _text(value)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text + "\n")


def load_json(path: str) -> Any:
    """Return plain values; the three words become numbers again."""
    try:
        with open(path, "rb") as file:
            return _floats(plainjson.loads(file.read()))
    except (ValueError, RecursionError, IsADirectoryError) as error:
        remedy = 'write one JSON text; NaN is the text "NaN"'
        raise RefusedValue(f"{os.path.basename(path)} is no JSON: {error}", remedy) from error


def check_value(path: str) -> None:
    """Let an output of kind ``value`` pass: one file with one JSON text, as a browser would take it.

    Raises:
        RefusedValue: it is anything else.
        OSError: it cannot be read.
    """
    if os.path.isdir(path):
        raise RefusedValue("it is a folder, and a value is one file of JSON", "write one JSON text to the file")
    if os.stat(path).st_size > LARGEST_VALUE_BYTES:
        message = f"it has more than the {LARGEST_VALUE_BYTES} bytes of a value"
        raise RefusedValue(message, "declare it as another kind, such as file")
    _refuse_half_characters(load_json(path), path)


def _refuse_half_characters(value: Any, path: str) -> None:
    r"""Refuse texts with one half of a surrogate pair, ``"\ud800"``: no file, command or database can hold them."""
    with open(path, "rb") as file:
        if b"\\ud" not in file.read().lower():
            return
    try:
        _text(value).encode()
    except UnicodeEncodeError as error:
        half = ascii(error.object[error.start])[1:-1]
        message = f"{os.path.basename(path)} has a text with {half}, one half of a character"
        raise RefusedValue(message, "write whole characters, as UTF-8 or as both halves") from error


def save_pickle(value: Any, path: str, project: str) -> None:
    """Write a pickle behind a line that says whose it is."""
    import pickle

    with open(path, "wb") as file:
        file.write(PICKLE_HEAD + project.encode() + b"\n")
        try:
            pickle.dump(value, file, protocol=5)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise RefusedValue(f"it cannot be pickled: {error}", "return a path to what you wrote yourself") from error


def load_pickle(path: str, project: str) -> Any:
    """Return what ``save_pickle`` wrote for the same project."""
    import pickle

    with open(path, "rb") as file:
        owner = file.readline().decode("utf-8", "replace").rstrip("\n")
        if owner != PICKLE_HEAD.decode() + project:
            raise RefusedValue(
                f"{path} is not a pickle of the project {project}",
                "loading a pickle runs code: only steps of the project that made it load it",
            )
        return pickle.load(file)  # noqa: S301 - written by this project's own step, as the first line and the kind say


def _save_table(value: Any, path: str) -> None:
    if _is_a(value, "polars", "DataFrame"):
        value.write_parquet(path)
        return
    with needing("pyarrow", "to store tables"):
        import pyarrow as pa
        import pyarrow.parquet as pq
    maker = b"arrow"
    if _is_a(value, "pandas", "DataFrame"):
        maker = b"pandas"
        try:
            value = pa.Table.from_pandas(value)
        except (pa.ArrowException, TypeError, ValueError) as error:
            raise RefusedValue(f"the table has no Parquet form: {error}", "give each column one type") from error
    pq.write_table(value.replace_schema_metadata({**(value.schema.metadata or {}), _MARK: maker}), path)


def _load_table(path: str) -> Any:
    """Return the table as what it was stored from; one that came from elsewhere as what is installed here."""
    try:
        import pyarrow.parquet as pq
    except ImportError:
        with needing("polars or pyarrow", "to read tables"):
            import polars as pl
        return pl.read_parquet(path)
    marks = pq.read_schema(path).metadata or {}
    maker = marks.get(_MARK, b"pandas" if b"pandas" in marks else b"")
    if maker == b"arrow":
        return pq.read_table(path)
    if maker != b"pandas":
        try:
            import polars as pl
        except ImportError:
            pass
        else:
            return pl.read_parquet(path)
    with needing("pandas", "to read tables"):
        import pandas as pd
    return pd.read_parquet(path)


def _save_array(value: Any, path: str) -> None:
    import numpy as np

    _refuse_objects([value])
    np.save(path, value, allow_pickle=False)


def _save_arrays(value: Any, path: str) -> None:
    import numpy as np

    _refuse_objects(value.values())
    np.savez(path, **value)


def _load_array(path: str) -> Any:
    with needing("numpy", "to read arrays"):
        import numpy as np
    found = np.load(path, allow_pickle=False)
    if not path.endswith(ARRAYS):
        return found
    with found:
        return {name: found[name] for name in found.files}


def _refuse_objects(arrays: Any) -> None:
    if any(array.dtype.hasobject for array in arrays):
        raise RefusedValue("an array of Python objects has no safe format", "give it a type: array.astype(…)")


def _save_tensors(value: Any, path: str) -> None:
    with needing("safetensors", "to store tensors"):
        from safetensors.torch import save_file
    import torch

    alone = not isinstance(value, dict)
    found: dict[str, Any] = {}
    seen: set[int] = set()
    for name, item in ({"": value} if alone else value).items():
        tensor = torch.as_tensor(item).detach().contiguous()
        place = tensor.untyped_storage().data_ptr()
        found[name] = tensor.clone() if place in seen else tensor  # tied weights are stored twice
        seen.add(place)
    save_file(found, path, metadata={_MARK.decode(): "tensor" if alone else "tensors"})


def _load_tensors(path: str) -> Any:
    with needing("safetensors and torch", "to read tensors"):
        from safetensors import safe_open
        from safetensors.torch import load_file
    with safe_open(path, framework="pt") as file:
        alone = (file.metadata() or {}).get(_MARK.decode()) == "tensor"
    found = load_file(path)
    return found[""] if alone else found


def _save_model(value: Any, path: str) -> None:
    with needing("skops", "to store scikit-learn models"):
        import skops.io
    try:
        skops.io.dump(value, path)
    except (TypeError, ValueError, AttributeError) as error:
        raise RefusedValue(f"the model cannot be stored: {error}", NO_FORMAT) from error
    _refuse_strangers(skops.io, path)


def _load_model(path: str) -> Any:
    with needing("skops", "to read scikit-learn models"):
        import skops.io
    _refuse_strangers(skops.io, path)
    return skops.io.load(path)


def _refuse_strangers(io: Any, path: str) -> None:
    strangers = io.get_untrusted_types(file=path)
    if strangers:
        raise RefusedValue(
            f"the model holds what skops does not trust: {', '.join(strangers)}",
            f"leave these types out of it; or {NO_FORMAT}",
        )


SAVE: dict[str, Callable[[Any, str], None]] = {
    JSON: save_json,
    TABLE: _save_table,
    ARRAY: _save_array,
    ARRAYS: _save_arrays,
    TENSORS: _save_tensors,
    MODEL: _save_model,
}
LOAD: dict[str, Callable[[str], Any]] = {
    JSON: load_json,
    TABLE: _load_table,
    ARRAY: _load_array,
    ARRAYS: _load_array,
    TENSORS: _load_tensors,
    MODEL: _load_model,
}


class needing:  # noqa: N801 - read as a verb
    """Around an import: names the package that is missing."""

    def __init__(self, package: str, purpose: str) -> None:
        self._package, self._purpose = package, purpose

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, ImportError):
            message = f"{self._package} is needed {self._purpose}: {error}"
            raise RefusedValue(message, f"install {self._package} in the environment of the step") from error


def _is_a(value: object, module: str, *names: str) -> bool:
    """Tell whether a value is of a library's type, without importing what nobody has imported."""
    found = sys.modules.get(module)
    kinds = tuple(kind for name in names if isinstance(kind := getattr(found, name, None), type))
    return isinstance(value, kinds)


def _looks_plain(value: Any) -> bool:
    if isinstance(value, dict):
        return all(isinstance(name, str) for name in value) and all(map(_looks_plain, value.values()))
    if isinstance(value, (list, tuple)):
        return all(map(_looks_plain, value))
    return value is None or isinstance(value, (bool, int, float, str)) or _is_a(value, "numpy", "generic")


def _text(value: Any) -> str:
    """Return the JSON of a plain value; mappings keep their order."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{plainjson.dumps(_key(name))}: {_text(item)}" for name, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_text, value)) + "]"
    if _is_a(value, "numpy", "generic"):
        value = value.item()
    if isinstance(value, str) and value in _WORDS:
        message = f"the text {value!r} would come back as a number"
        raise RefusedValue(message, "JSON has no number for it, so the word stands for it: use another text")
    if isinstance(value, float):
        return plainjson.dumps(plainjson.number(float(value)))
    if value is None or isinstance(value, (bool, int, str)):
        return plainjson.dumps(value)
    raise RefusedValue(
        f"{type(value).__name__} is no plain value: None, bool, number, text, list or mapping", NO_FORMAT
    )


def _key(name: object) -> str:
    if not isinstance(name, str):
        raise RefusedValue(f"the key {name!r} of a mapping is no text and would become one", "use texts as keys")
    return name


def _floats(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _floats(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_floats(item) for item in value]
    if isinstance(value, float) and value - value != 0:
        raise ValueError(f"{value} is not JSON")
    return _WORDS.get(value, value) if isinstance(value, str) else value
