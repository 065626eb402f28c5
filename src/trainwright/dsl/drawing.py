"""The document under way while a pipeline function runs, and where each part of it was written."""

from __future__ import annotations

from contextvars import ContextVar

from trainwright.dsl.errors import PipelineError
from trainwright.dsl.places import Place, caller
from trainwright.dsl.references import SCOPES, bare, step_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_RESOURCES = ("cpu", "memory", "gpu", "gpu_memory", "gpu_model", "isolation", "shm")
_VALUE = "value"
_WHOLE = "an argument is a value or a reference as a whole; lists and mappings go to the step as they are written"


class Drawing:
    """A pipeline that is being drawn.

    Attributes:
        document: what YAML would parse to.
        places: dotted path → where it was written.
        functions: of the steps that call one, by step.
        root: folder of the pipeline file, in which commands start.
    """

    def __init__(self, root: str) -> None:
        self.document: dict[str, Any] = {}
        self.places: dict[str, Place] = {}
        self.functions: dict[str, Any] = {}
        self.root = root
        self._literals: list[tuple[str, str]] = []

    def add(self, name: str, step: dict[str, Any], places: dict[str, Place]) -> str:
        """Add a step; return the name it has: a second ``train`` is ``train_2``.

        Args:
            name: wished for.
            step: its keys as YAML has them.
            places: of it (the empty key) and of its keys.
        """
        steps = self.document.setdefault("steps", {})
        free, number = name, 1
        while free in steps:
            number += 1
            free = f"{name}_{number}"
        steps[free] = step
        for key, place in places.items():
            self.places[f"steps.{free}.{key}" if key else f"steps.{free}"] = place
        return free

    def arguments(self, step: str, given: dict[str, Any]) -> None:
        """Put arguments under ``with:`` of a step; what is a reference is decided when all steps are known."""
        self.document["steps"][step]["with"] = {
            name: plain(value, f"the argument {name}", whole=True) for name, value in given.items()
        }
        self._literals += [(step, name) for name, value in given.items() if bare(value) is None]

    def finish(self) -> None:
        """Mark the values under ``with:`` that only look like references."""
        names = {*self.document.get("steps", {}), "params", "data", *SCOPES}
        for step, name in self._literals:
            given = self.document["steps"][step]["with"]
            value = given[name]
            if isinstance(value, str):
                head, dot, tail = value.partition(".")
                looks = bool(dot and tail) and "." not in tail and head in names
            else:
                looks = isinstance(value, dict) and value.keys() == {_VALUE}
            if looks:
                given[name] = {_VALUE: value}


current: ContextVar[Drawing | None] = ContextVar("trainwright_drawing", default=None)


loading: ContextVar[bool] = ContextVar("trainwright_loading", default=False)
"""Whether the author's file is being loaded to look for its pipelines."""


def drawing(what: str) -> Drawing:
    """Return the pipeline under way.

    Raises:
        PipelineError: there is none.
    """
    found = current.get()
    if found is None:
        raise PipelineError(
            "TW1107",
            f"{what} is called outside a pipeline",
            where=caller(),
            why="it describes a step, and there is no pipeline to which it could be added",
            remedy="call it in a function with @tw.pipeline",
        )
    return found


def keys_of(given: dict[str, Any]) -> dict[str, Any]:
    """Return the keys of a step as YAML has them; ``name`` is none of them."""
    keys: dict[str, Any] = {}
    for key, value in given.items():
        if key in _RESOURCES:
            keys.setdefault("resources", {})[key] = plain(value, key)
        elif key == "resources":
            keys.setdefault("resources", {}).update(plain(value, key))
        elif key == "depends_on":
            listed = value if isinstance(value, (list, tuple)) else [value]
            keys[key] = [step_of(item) or plain(item, key) for item in listed]
        elif key == "env" and isinstance(value, dict):
            keys[key] = {name: texts(item, f"env {name}") for name, item in value.items()}
        elif key == "on_fail":
            keys[key] = _on_fail(value)
        elif key != "name":
            keys[key] = plain(value, key)
    return keys


def texts(value: Any, what: str) -> Any:
    """Return a value whose references are written ``${{ … }}``, as in commands and variables."""
    reference = bare(value)
    return f"${{{{ {reference} }}}}" if reference else plain(value, what)


def _on_fail(value: Any) -> Any:
    """Return what runs after a failure: a command, without a name.

    Raises:
        PipelineError: it is a step or another function.
    """
    if isinstance(value, dict):
        keys = keys_of({key: item for key, item in value.items() if key != "run"})
        words = value.get("run")
        run = [texts(word, "run") for word in words] if isinstance(words, (list, tuple)) else texts(words, "run")
        return {**({"run": run} if "run" in value else {}), **keys}
    if callable(value):
        message = f"on_fail is the function {getattr(value, '__name__', 'step')}, and it takes a command"
        remedy = 'write on_fail={"run": "python notify.py"}, or let a later step look: step.options(when=…)'
        raise PipelineError("TW1108", message, where=caller(), remedy=remedy)
    return plain(value, "on_fail")


def plain(value: Any, what: str, *, whole: bool = False) -> Any:
    """Return what YAML would parse to; references become ``prep.table``.

    Args:
        value: as the author gave it.
        what: it is, for the message.
        whole: whether a reference is understood only as the whole value; else also in a mapping, never in a list.

    Raises:
        PipelineError: YAML has nothing like it, or would take a reference in it for a text.
    """
    reference = bare(value)
    if reference is not None:
        return reference
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [_within(item, what, "a list") for item in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: _within(item, what, "a mapping") if whole else plain(item, what) for key, item in value.items()}
    kind = type(value)
    raise PipelineError(
        "TW1108",
        f"{what} is a {kind.__qualname__} ({kind.__module__}), which a pipeline cannot hold",
        where=caller(),
        why="a pipeline is plain: numbers, texts, lists and mappings with texts as keys",
        remedy="give a plain value, or make it inside a step",
    )


def _within(value: Any, what: str, holder: str) -> Any:
    """Return a part of a value, in which a reference would be taken for a text and nobody would notice."""
    reference = bare(value)
    if reference is None:
        return plain(value, what, whole=True)
    message = f"{what} holds {reference} inside {holder}, where it would be a text"
    remedy = f"give {reference} as an argument of its own"
    raise PipelineError("TW1108", message, where=caller(), why=_WHOLE, remedy=remedy)
