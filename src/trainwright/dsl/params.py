"""Parameters of a pipeline: what the signature of its function declares."""

from __future__ import annotations

from trainwright.dsl.drawing import plain
from trainwright.dsl.errors import PipelineError
from trainwright.dsl.places import Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    import inspect
    from typing import Any

_TYPES = {"float": "float", "int": "int", "bool": "bool", "str": "str", "list": "list", "dict": "map"}
_ABSENT: Any = type("Absent", (), {"__repr__": lambda _: "nothing"})()


class Param:
    """A declared default, as :func:`param` returns it.

    Attributes:
        default: its value; ``has_default`` says whether there is one.
        keys: of the declaration, as YAML has them.
    """

    __slots__ = ("default", "has_default", "keys")

    def __init__(self, default: Any, keys: dict[str, Any]) -> None:
        self.has_default = default is not _ABSENT
        self.default = default if self.has_default else None
        self.keys = keys


def param(default: Any = _ABSENT, **keys: Any) -> Any:
    """Declare a parameter of a pipeline: ``C: float = tw.param(1.0, range=(1e-3, 100), scale="log")``.

    Args:
        default: its value when a run gives none; without one every run must give it.
        keys: ``range`` (lowest, highest), ``choices``, ``scale`` (``linear`` or ``log``), ``help``, ``type``.
    """
    return Param(default, {key: value for key, value in keys.items() if value is not None})


def declaration(parameter: inspect.Parameter, names: dict[str, Any], place: Place) -> Any:
    """Return what stands under ``params:`` for a parameter of the pipeline's function.

    Args:
        parameter: of its signature.
        names: its globals, for annotations that are text.
        place: of the function.

    Raises:
        PipelineError: it has neither a default nor a type.
    """
    given = parameter.default
    has_default = given is not parameter.empty
    keys: dict[str, Any] = {}
    if isinstance(given, Param):
        keys, has_default, given = dict(given.keys), given.has_default, given.default
    declared = _annotated(parameter.annotation, names)
    if "type" in keys:
        keys["type"] = _type_name(keys["type"])
    keys = {**declared, **keys}
    ordered = {"type": keys.pop("type")} if "type" in keys else {}
    if not has_default and not ordered:
        raise PipelineError(
            "TW1111",
            f"the parameter {parameter.name} has neither a default nor a type, and is not in data=",
            where=place,
            remedy=f"write {parameter.name}: float, or {parameter.name}=1.0, or add {parameter.name} to data=",
        )
    if has_default:
        own = _TYPES.get(type(given).__name__)
        if not keys and ordered.get("type", own) == own and not isinstance(given, dict):
            return plain(given, f"the parameter {parameter.name}")
        ordered["default"] = given
    return plain({**ordered, **keys}, f"the parameter {parameter.name}")


def default_of(parameter: inspect.Parameter) -> Any:
    """Return the value that a parameter has when the pipeline's function is called by hand."""
    given = parameter.default
    return given.default if isinstance(given, Param) and given.has_default else given


def _annotated(annotation: Any, names: dict[str, Any]) -> dict[str, Any]:
    """Return ``type`` and ``choices`` as an annotation says them; nothing when it says neither."""
    if isinstance(annotation, str):
        try:
            annotation = eval(annotation, names)  # noqa: S307 - the author's own source, which is running
        except Exception:  # noqa: BLE001 - a name that only a type checker sees
            return {}
    choices = list(getattr(annotation, "__args__", ())) if str(annotation).startswith("typing.Literal[") else []
    kind = type(choices[0]) if choices else getattr(annotation, "__origin__", annotation)
    found = _TYPES.get(getattr(kind, "__name__", "")) if isinstance(kind, type) else None
    if found is None:
        return {}
    return {"type": found, **({"choices": choices} if choices else {})}


def _type_name(given: Any) -> Any:
    return _TYPES.get(given.__name__, given.__name__) if isinstance(given, type) else given
