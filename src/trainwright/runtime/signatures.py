"""What a model takes and gives, as its author or a fitted estimator says it."""

from __future__ import annotations

from collections.abc import Mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FACT = "tw.signature"
"""Fact of an attempt that holds the signature of its model; with a dot and a name, of the output of that name."""

INFERRED = "tw.inferred"
"""Fact that holds, behind a dot and the name of an output, what the estimator in it says; a stated one goes first."""

MOST = 1000
"""Features that are named; a model of more has them counted."""


def stated(model: object, inputs: object, outputs: object) -> dict[str, Any]:
    """Return the fact for what was said, and for what the estimator says beside that.

    Raises:
        TypeError: names and types are no text, or nothing was said at all.
    """
    read = inferred(model) if model is not None else None
    given, made = _sides(inputs, "inputs"), _sides(outputs, "outputs")
    if read is None and not given and not made:
        what = type(model).__name__
        raise TypeError(f"{what} says nothing of its features: give inputs={{name: type}} and outputs={{name: type}}")
    source = "step" if given or made else "model"
    read = read or {"inputs": {}, "outputs": {}}
    return {"inputs": given or read["inputs"], "outputs": made or read["outputs"], "source": source}


def inferred(model: object) -> dict[str, Any] | None:
    """Return what a fitted estimator says of its features and classes; None when it says nothing."""
    names = _texts(getattr(model, "feature_names_in_", None))
    count = getattr(model, "n_features_in_", None)
    if names is not None and len(names) <= MOST:
        inputs = dict.fromkeys(names, "")
    elif isinstance(count, int) and not isinstance(count, bool):
        inputs = {"features": f"array of {count}"}
    else:
        return None
    classes: Any = getattr(model, "classes_", None)
    kind = f"one of {len(classes)} classes" if hasattr(classes, "__len__") else ""
    outputs = {"prediction": kind} if hasattr(model, "predict") else {}
    return {"inputs": inputs, "outputs": outputs, "source": "model"}


def _texts(names: Any) -> list[str] | None:
    found = names.tolist() if callable(getattr(names, "tolist", None)) else names
    return found if isinstance(found, list) and all(isinstance(name, str) for name in found) else None


def _sides(given: Any, what: str) -> dict[str, str]:
    if given is None:
        return {}
    dtypes = getattr(given, "dtypes", None)
    if dtypes is not None and hasattr(given, "columns"):  # a table of pandas or polars
        given = dict(zip(map(str, given.columns), map(str, dtypes)))
    if isinstance(given, (list, tuple)):
        given = dict.fromkeys(given, "")
    plain = isinstance(given, Mapping) and all(isinstance(k, str) and isinstance(v, str) for k, v in given.items())
    if not plain:
        raise TypeError(f"{what}={given!r} is neither {{name: type}} nor a list of names")
    return dict(given)
