"""``@tw.pipeline``: a function that draws a pipeline when it is traced."""

from __future__ import annotations

from trainwright.dsl.drawing import Drawing, current, plain
from trainwright.dsl.errors import PipelineError
from trainwright.dsl.places import Place, caller, parameters, shown
from trainwright.dsl.references import Outputs, Reference, bare

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, overload

    from trainwright.dsl.running import Planned, Result


class Pipeline:
    """A pipeline; its function runs to draw the graph, never to do the work.

    Attributes:
        name: of the pipeline.
        place: of its decorator.
    """

    def __init__(self, function: Callable[..., Any], keys: dict[str, Any], place: Place) -> None:
        self.__wrapped__ = function
        self.__name__ = getattr(function, "__name__", "pipeline")
        self.__module__ = function.__module__
        self.__doc__ = function.__doc__
        self.name: str = keys.get("name") or self.__name__
        self.place = place
        self._keys = keys

    def __repr__(self) -> str:
        return f"<pipeline {self.name}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the function by hand, its steps as functions; inside another pipeline, add its steps to that one."""
        import inspect

        from trainwright.dsl.params import default_of

        signature = inspect.signature(self.__wrapped__)
        bound = signature.bind_partial(*args, **kwargs)
        for name, parameter in signature.parameters.items():
            if name not in bound.arguments and default_of(parameter) is not parameter.empty:
                bound.arguments[name] = default_of(parameter)
        return self.__wrapped__(*bound.args, **bound.kwargs)

    def trace(self) -> dict[str, Any]:
        """Return the document that YAML would parse to, with places: what ``python -m trainwright.dsl.trace`` prints.

        Raises:
            PipelineError: the pipeline is wrong.
        """
        from trainwright.dsl.modules import check_modules, root_of

        under_way = Drawing(root_of(self.__wrapped__, self.place))
        given = self._begin(under_way)
        token = current.set(under_way)
        try:
            returned = self.__wrapped__(**given)
        finally:
            current.reset(token)
        self._end(under_way, returned)
        return {
            "document": under_way.document,
            "positions": {path: place.plain() for path, place in under_way.places.items()},
            "warnings": check_modules(self.__wrapped__, under_way, self.place),
            "root": under_way.root,
            "file": shown(self.place.file),
        }

    def run(self, **params: Any) -> Result:
        """Run on this machine, without a server, and show it as ``tw run`` does; blocks until the end.

        Args:
            params: values of parameters, for this run.

        Raises:
            PipelineError: the pipeline or a parameter is wrong or refused; nothing was queued.
            RunFailed: the run did not succeed; with its verdict.
        """
        from trainwright.dsl.running import run

        return run(self.trace(), params)

    def plan(self, **params: Any) -> Planned:
        """Print what a run would do, and return it; runs nothing.

        Raises:
            PipelineError: see :meth:`run`.
        """
        from trainwright.dsl.running import plan

        return plan(self.trace(), params)

    def submit(self, *, queue: str = "", **params: Any) -> Result:
        """Hand the run to a server; there is none yet.

        Raises:
            PipelineError: always.
        """
        raise PipelineError(
            "TW1113",
            f"{self.name} cannot be submitted{f' to the queue {queue}' if queue else ''}: there is no server yet",
            where=caller(),
            remedy=f"run it on this machine: {self.__name__}.run({', '.join(f'{name}=…' for name in params)})",
        )

    def _begin(self, under_way: Drawing) -> dict[str, Any]:
        """Write the head of the document; return what the function is called with."""
        import inspect

        from trainwright.dsl.params import declaration

        keys, document = self._keys, under_way.document
        document["pipeline"] = self.name
        for key, value in keys.items():
            if key not in {"name", "data"}:
                document[key] = plain(value, key)
        data = keys.get("data") or {}
        names = getattr(self.__wrapped__, "__globals__", {})
        given: dict[str, Any] = {}
        params: dict[str, Any] = {}
        places = parameters(self.__wrapped__)
        for name, parameter in inspect.signature(self.__wrapped__).parameters.items():
            if parameter.kind in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD}:
                message = f"the pipeline {self.name} takes {parameter}, and parameters have names"
                raise PipelineError("TW1111", message, where=self.place, remedy="write each parameter out")
            if name in data:
                given[name] = Reference("data", name)
                under_way.places[f"data.{name}"] = self.place
            else:
                place = places.get(name, self.place)
                params[name] = declaration(parameter, names, place)
                under_way.places[f"params.{name}"] = place
                given[name] = Reference("params", name)
        document.update({"params": params} if params else {})
        document.update({"data": plain(data, "data")} if data else {})
        document["steps"] = {}
        under_way.places[""] = self.place
        return given

    def _end(self, under_way: Drawing, returned: Any) -> None:
        """Write what stands after the steps."""
        under_way.finish()
        if not under_way.document["steps"]:
            remedy = "call a step in its function"
            raise PipelineError("TW1012", f"the pipeline {self.name} has no steps", where=self.place, remedy=remedy)
        if isinstance(returned, dict):
            under_way.document["outputs"] = {name: self._output(value, name) for name, value in returned.items()}
        elif isinstance(returned, Reference):
            found = str(bare(returned))
            under_way.document["outputs"] = {found.partition(".")[2]: found}
        elif returned is not None and not isinstance(returned, Outputs):
            self._output(returned, "")

    def _output(self, value: Any, name: str) -> str:
        found = bare(value)
        if found is None:
            shown = f"{name}, a {type(value).__name__}" if name else f"{value!r}"
            message = f"the pipeline {self.name} returns {shown}, which is no output of a step"
            remedy = "return a mapping of outputs of steps, or nothing"
            raise PipelineError("TW1108", message, where=self.place, remedy=remedy)
        return found


if TYPE_CHECKING:

    @overload
    def pipeline(function: Callable[..., Any], /) -> Pipeline: ...
    @overload
    def pipeline(**keys: Any) -> Callable[[Callable[..., Any]], Pipeline]: ...


def pipeline(function: Callable[..., Any] | None = None, /, **keys: Any) -> Any:
    """Make a function a pipeline: ``@tw.pipeline(data={"raw": "datasets/digits@latest"})``.

    Its parameters are those of the pipeline, but for the names in ``data``.

    Args:
        function: when it is used without brackets.
        keys: ``data``, ``standard``, ``name`` (the function's by default), ``description``, ``parallel``.
    """
    place = caller()

    def decorate(found: Callable[..., Any]) -> Pipeline:
        return Pipeline(found, keys, place)

    return decorate if function is None else decorate(function)
