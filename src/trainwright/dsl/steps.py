"""``@tw.step``: a function that is a step of a pipeline, and stays a plain function everywhere else."""

from __future__ import annotations

from trainwright.dsl.drawing import current, keys_of
from trainwright.dsl.errors import PipelineError
from trainwright.dsl.places import caller
from trainwright.dsl.references import Outputs, Reference

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, overload

    from trainwright.dsl.drawing import Drawing
    from trainwright.dsl.places import Place

_POSTPONED = {0x20: "a generator", 0x80: "an async function", 0x200: "an async generator"}
"""By the flag that its code has, as ``inspect`` names them."""

pickle = "pickle"
"""A kind of output: ``out={"model": tw.pickle}``, loaded only by steps of the same project."""


class Step:
    """A function that a pipeline may call as a step; called elsewhere, it just runs.

    Attributes:
        name: of the step, unless a call says otherwise.
    """

    def __init__(
        self, function: Callable[..., Any], keys: dict[str, Any], places: dict[str, Place], name: str = ""
    ) -> None:
        self.__wrapped__ = function
        self.__name__ = getattr(function, "__name__", "step")
        self.__qualname__ = getattr(function, "__qualname__", self.__name__)
        self.__module__ = function.__module__
        self.__doc__ = function.__doc__
        self.name = name or self.__name__
        self._keys, self._places = keys, places

    def __repr__(self) -> str:
        return f"<step {self.name}>"

    def options(self, **keys: Any) -> Step:
        """Return the step with further keys for the calls made of what is returned.

        Args:
            keys: as YAML has them: ``name``, ``for_each``, ``matrix``, ``when``, ``on_fail``, ``loop``, ``retry`` …
        """
        place = caller()
        added = keys_of(keys)
        resources = {**self._keys.get("resources", {}), **added.get("resources", {})}
        merged = {**self._keys, **added, **({"resources": resources} if resources else {})}
        places = {**self._places, **dict.fromkeys(added, place)}
        return Step(self.__wrapped__, merged, places, keys.get("name") or self.name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the function; in a pipeline that is being drawn, add the step and return what stands for its outputs."""
        under_way = current.get()
        if under_way is None:
            return self.__wrapped__(*args, **kwargs)
        return self._draw(under_way, args, kwargs)

    def _draw(self, under_way: Drawing, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Reference | Outputs:
        from trainwright.dsl.modules import target_of

        place = caller()
        given = self._bound(args, kwargs, place)
        called = {"call": target_of(self.__wrapped__, place), **({"with": {}} if given else {})}
        step = {**called, **_ordered(self._keys)}
        name = under_way.add(self.name, step, {"": place, **self._places, "with": place})
        under_way.functions[name] = self.__wrapped__
        if given:
            under_way.arguments(name, given)
        return results(name, self._keys.get("out"))

    def _bound(self, args: tuple[Any, ...], kwargs: dict[str, Any], place: Place) -> dict[str, Any]:
        """Return the arguments by the names of the parameters."""
        import inspect

        try:
            signature = inspect.signature(self.__wrapped__)
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            listed = ", ".join(inspect.signature(self.__wrapped__).parameters) or "none"
            message = f"step {self.name}: {error}"
            raise PipelineError("TW1109", message, where=place, remedy=f"its parameters: {listed}") from None
        given = dict(bound.arguments)
        for name, parameter in signature.parameters.items():
            if parameter.kind is parameter.VAR_KEYWORD:
                given.update(given.pop(name, {}))
            elif parameter.kind is parameter.VAR_POSITIONAL and given.get(name):
                message = f"step {self.name} takes any number of arguments as *{name}, and they have no names"
                raise PipelineError("TW1109", message, where=place, remedy="give the function one parameter for each")
        return given


def results(step: str, out: Any) -> Reference | Outputs:
    """Return what stands for the outputs of a step: for a single one it itself."""
    names = tuple(out) if isinstance(out, dict) else ()
    return Reference(step, names[0]) if len(names) == 1 else Outputs(step, names)


if TYPE_CHECKING:

    @overload
    def step(function: Callable[..., Any], /, *, name: str = "", **keys: Any) -> Step: ...
    @overload
    def step(*, name: str = "", **keys: Any) -> Callable[[Callable[..., Any]], Step]: ...


def step(function: Callable[..., Any] | None = None, /, *, name: str = "", **keys: Any) -> Any:
    """Make a function a step: ``@tw.step(out={"table": "dataset"}, check=["rows >= 1000"], cpu=2)``.

    Args:
        function: of another module: ``train = tw.step(training.train, out={"model": "model"})``.
        name: of the step; the function's by default.
        keys: of a step as YAML has them: ``out``, ``check``, ``retry``, ``timeout``, ``stage``, ``env``, ``cache``,
            ``baseline``, ``warm``, ``workers``, ``scheduling``, ``help``; ``cpu``, ``memory``, ``gpu``, ``gpu_memory``,
            ``gpu_model``, ``isolation`` stand for ``resources``.
    """
    place = caller()
    made = keys_of(keys)

    def decorate(found: Callable[..., Any]) -> Step:
        if isinstance(found, type):
            remedy = "put @tw.step above a function"
            raise PipelineError("TW1109", f"{found.__name__} is a class, no function", where=place, remedy=remedy)
        _refuse_postponed(found, place)
        return Step(found, made, dict.fromkeys(made, place), name)

    return decorate if function is None else decorate(function)


def _refuse_postponed(function: Callable[..., Any], place: Place) -> None:
    """Let a function pass that does its work when it is called.

    Raises:
        PipelineError: it only prepares it; the step would succeed and have done nothing.
    """
    flags = getattr(getattr(function, "__code__", None), "co_flags", 0)
    for flag, what in _POSTPONED.items():
        if flags & flag:
            message = f"{function.__name__} is {what}, and calling it does none of its work"
            remedy = "write a plain function that does the work and returns what was made"
            raise PipelineError("TW1109", message, where=place, remedy=remedy)


def _ordered(keys: dict[str, Any]) -> dict[str, Any]:
    """Return a copy, so that two calls share nothing."""
    return {key: dict(value) if isinstance(value, dict) else value for key, value in keys.items()}
