"""What a parameter's annotation asks for: a path, a dataset, or the value itself."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

PATH, DATASET, VALUE = "path", "dataset", "value"


def wanted(function: Callable[..., Any], name: str) -> str:
    """Return ``path``, ``dataset`` or ``value`` for a parameter of a function."""
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    annotation = getattr(function, "__annotations__", {}).get(name)
    if isinstance(annotation, str):
        annotation = _evaluated(annotation, getattr(function, "__globals__", {}))
    return _form(annotation)


def _evaluated(text: str, names: dict[str, Any]) -> Any:
    """Return what an annotation that is text stands for; its last words when it cannot be evaluated."""
    try:
        return eval(text, names)  # noqa: S307 - the author's own source, which is about to run anyway
    except Exception:  # noqa: BLE001 - names that only a type checker sees
        return text


def _form(annotation: Any) -> str:
    if isinstance(annotation, str):
        words = {word.rpartition(".")[2].strip() for word in annotation.split("|")}
        return DATASET if "Dataset" in words else PATH if "Path" in words else VALUE
    from trainwright.runtime.dataset import Dataset

    choices = getattr(annotation, "__args__", ()) if _is_union(annotation) else (annotation,)
    for kind in choices:  # Path | None asks for a path
        if isinstance(kind, type) and issubclass(kind, Dataset):
            return DATASET
        if isinstance(kind, type) and issubclass(kind, os.PathLike):
            return PATH
    return VALUE


def _is_union(annotation: Any) -> bool:
    origin = getattr(annotation, "__origin__", None)
    return type(annotation).__name__ == "UnionType" or str(origin) == "typing.Union"
