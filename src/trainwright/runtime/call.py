"""Calls the function of a ``call:`` step: ``python -m trainwright.runtime.call`` inside an attempt.

Loads the inputs as the annotations of its parameters ask, imports the function from the code tree in the working
directory, calls it, and stores what it returns as the declared outputs. ``main`` is also what a warm interpreter calls
after a fork.
"""

from __future__ import annotations

import os
import sys

from trainwright.runtime import plainjson, replicas
from trainwright.runtime.formats import RefusedValue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType
    from typing import Any

_FAILED = 1
_POSTPONED = frozenset({"coroutine", "generator", "async_generator"})
"""Types of what only prepares work."""
_MODEL = "model"
_VALUE = "value"
"""The kind of output that may well be None."""


class _Wrong(Exception):  # noqa: N818 - it is told, not raised further
    """The step cannot be carried out as it is written.

    Attributes:
        remedy: what to do about it.
    """

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.remedy = remedy


def main(folder: str, environ: Mapping[str, str]) -> int:
    """Carry out the attempt in ``folder``; return the exit code of its process.

    Args:
        folder: of the attempt; the working directory is the one its code starts in.
        environ: of the attempt, as ``runtime.environment`` builds it.
    """
    with open(os.path.join(folder, "job.json"), "rb") as file:
        job = plainjson.loads(file.read())["job"]
    step = job["step"]
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        _carry_out(job, environ)
    except SystemExit as end:
        return _code(end)
    except (_Wrong, RefusedValue) as error:
        sys.stdout.flush()
        sys.stderr.write(f"error: step {step}: {error}\nfix: {error.remedy}\n")
        return _FAILED
    except BaseException as error:  # noqa: BLE001 - whatever the function raised is told as Python would
        sys.stdout.flush()
        _tell(error)
        return _FAILED
    return 0


def _carry_out(job: dict[str, Any], environ: Mapping[str, str]) -> None:
    call = job["command"]["call"]
    function = _function(call["target"])
    arguments = _arguments(job, function, call["arguments"], environ)
    try:
        first = [arguments.pop(name) for name in _without_keyword(function) if name in arguments]
        returned = function(*first, **arguments)
    except TypeError as error:
        if error.__traceback__ is None or _users(error.__traceback__) is not None:
            raise
        given = ", ".join(sorted(call["arguments"])) or "nothing"
        remedy = f"write the names of its parameters under with:; given: {given}"
        raise _Wrong(f"{call['target']} was not called: {error}", remedy) from error
    if type(returned).__name__ in _POSTPONED:
        if hasattr(returned, "close"):
            returned.close()  # else Python remarks that nobody awaited it
        message = f"{call['target']} returned a {type(returned).__name__}, and none of its work is done"
        raise _Wrong(message, "write a plain function that does the work and returns what was made")
    if replicas.counts(environ):
        _store(job, returned, plainjson.loads(environ["TW_OUTPUTS"]))


def _without_keyword(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the parameters before ``/``, in order."""
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    code = getattr(function, "__code__", None)
    return code.co_varnames[: code.co_posonlyargcount] if code is not None else ()


def _function(target: str) -> Callable[..., Any]:
    """Import the function that ``package.module:function`` names."""
    module, _, names = target.partition(":")
    try:
        __import__(module)
    except ModuleNotFoundError as error:
        if error.name is None or not (module + ".").startswith(error.name + "."):
            raise
        message = f"there is no module {module} in {os.getcwd()}"
        raise _Wrong(message, "name a module that lies beside the pipeline file and is not ignored by git") from error
    found: Any = sys.modules[module]
    for name in names.split("."):
        if not hasattr(found, name):
            from difflib import get_close_matches

            near = get_close_matches(name, [n for n in dir(found) if not n.startswith("__")], n=1)
            raise _Wrong(f"{module} has no {name}", f"did you mean {near[0]}?" if near else "mend call:")
        found = getattr(found, name)
    if not callable(found):
        raise _Wrong(f"{target} is of type {type(found).__name__} and cannot be called", "name a function")
    return found  # type: ignore[no-any-return] # callable, as was seen


def _arguments(
    job: dict[str, Any], function: Callable[..., Any], given: dict[str, Any], environ: Mapping[str, str]
) -> dict[str, Any]:
    from trainwright.runtime.annotations import wanted

    inputs: dict[str, str] = plainjson.loads(environ["TW_INPUTS"])
    snapshots = plainjson.loads(environ.get("TW_SNAPSHOTS", "{}"))
    collections = job.get("collections", {})
    kinds = {item["name"]: item["kind"] for item in job["inputs"]}
    kinds.update({name: collection["kind"] for name, collection in collections.items()})
    found = {}
    for name, argument in given.items():
        ref = argument.get("ref", "").partition(":")[2]
        if not ref:
            found[name] = argument["value"]
            continue
        form, path = wanted(function, name), inputs[ref]
        if form == "path":
            from pathlib import Path

            found[name] = Path(path)
        elif form == "dataset":
            from trainwright.runtime.dataset import Dataset

            facts = snapshots.get(ref, {})
            found[name] = Dataset(path, **{key: facts[key] for key in facts if key != "file"})
        else:
            from trainwright.runtime.values import load

            several = ref in collections and os.path.isdir(path)
            try:
                if several:  # an entry a member, in the order of their names
                    entries = [os.path.join(path, entry) for entry in sorted(os.listdir(path))]
                    found[name] = [load(entry, kinds[ref], job["project"]) for entry in entries]
                else:
                    found[name] = load(path, kinds[ref], job["project"])
            except RefusedValue as error:
                raise RefusedValue(f"the input {ref}: {error}", error.remedy) from error
    return found


def _store(job: dict[str, Any], returned: Any, outputs: dict[str, str]) -> None:
    """Store what the function returned, each output by its type."""
    from trainwright.runtime.values import save

    for name, value in _by_output(job["outputs"], returned, outputs).items():
        path = outputs[name]
        if value is None and os.path.lexists(path):
            continue  # the function has written it itself, to tw.outputs[…]
        if value is None and job["outputs"][name] != _VALUE:
            message = f"the output {name} is a {job['outputs'][name]}, and the function returned nothing for it"
            raise _Wrong(message, f"return it, or write it to tw.outputs[{name!r}]")
        try:
            save(value, path, job["outputs"][name], job["project"])
        except RefusedValue as error:
            raise RefusedValue(f"the output {name}: {error}", error.remedy) from error
        if job["outputs"][name] == _MODEL:
            _note_signature(name, value)


def _note_signature(name: str, value: Any) -> None:
    """Note what a fitted estimator says of its features, for whoever registers it."""
    if isinstance(value, os.PathLike) or not hasattr(value, "n_features_in_"):
        return
    from trainwright.runtime import calls, signatures

    found = signatures.inferred(value)
    if found is not None:
        calls.params(**{f"{signatures.INFERRED}.{name}": found})


def _by_output(declared: dict[str, str], returned: Any, outputs: dict[str, str]) -> dict[str, Any]:
    names = sorted(declared)
    if not names:
        if returned is not None:
            kind = type(returned).__name__
            sys.stderr.write(f"note: what it returned ({kind}) is not kept: the step declares no output\n")
        return {}
    if len(names) == 1:
        return {names[0]: returned}
    if returned is None and all(os.path.lexists(path) for path in outputs.values()):
        return dict.fromkeys(names)
    if not isinstance(returned, dict) or sorted(map(str, returned)) != names:
        what = f"a mapping of {', '.join(sorted(map(str, returned)))}" if isinstance(returned, dict) else "no mapping"
        shown = ", ".join(f'"{name}": …' for name in names)
        raise _Wrong(f"it declares the outputs {', '.join(names)} and returned {what}", f"return {{{shown}}}")
    return returned


def _code(end: SystemExit) -> int:
    """Return the exit code that Python would end with."""
    if end.code is None:
        return 0
    if isinstance(end.code, int):
        return end.code
    sys.stdout.flush()
    sys.stderr.write(f"{end.code}\n")
    return _FAILED


def _tell(error: BaseException) -> None:
    """Print the traceback as Python does, without our own frames before the user's."""
    import traceback

    shown = _users(error.__traceback__)
    traceback.print_exception(type(error), error, shown if shown is not None else error.__traceback__)


def _users(trace: TracebackType | None) -> TracebackType | None:
    """Return the traceback from the first frame that is not ours on; None when there is none."""
    while trace is not None and _is_ours(trace.tb_frame.f_globals.get("__name__")):
        trace = trace.tb_next
    return trace


def _is_ours(module: object) -> bool:
    return module == "__main__" or str(module).startswith("trainwright.")


if __name__ == "__main__":
    sys.exit(main(os.environ["TW_ATTEMPT_DIR"], os.environ))
