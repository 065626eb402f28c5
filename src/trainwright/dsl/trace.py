"""``python -m trainwright.dsl.trace FILE[:NAME]``: prints the document that a Python file draws, as JSON.

The command line starts this as a child, so that it never imports the author's code. What the author's file prints goes
to stderr. Exit 0 with the document; exit 2 with ``{"problem": …}`` when there is none.
"""

from __future__ import annotations

import json
import os
import sys

from trainwright.dsl.drawing import loading
from trainwright.dsl.errors import PipelineError
from trainwright.dsl.pipelines import Pipeline
from trainwright.dsl.places import Place, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

_WRONG = 2


def main(asked: str) -> int:
    """Print the document of ``FILE[:NAME]`` on what was stdout; return the exit code."""
    answer = os.dup(1)
    os.dup2(2, 1)
    sys.dont_write_bytecode = True  # nothing is left in the author's folder
    loading.set(True)
    try:
        found, code = traced(asked), 0
    except PipelineError as error:
        found, code = {"problem": problem_of(error)}, _WRONG
    sys.stdout.flush()
    with os.fdopen(answer, "w", encoding="utf-8") as stream:
        json.dump(found, stream)
    return code


def traced(asked: str) -> dict[str, Any]:
    """Return what the pipeline of ``FILE[:NAME]`` draws.

    Raises:
        PipelineError: the file cannot be loaded, has no pipeline or several, or the pipeline is wrong.
    """
    file, name = split(asked)
    try:
        return choose(load(file), file, name).trace()
    except PipelineError:
        raise
    except BaseException as error:  # whatever the author's code raises is told as the author's
        raise _told(error, file) from error


def split(asked: str) -> tuple[str, str]:
    """Return file and name of ``FILE[:NAME]``."""
    head, colon, name = asked.rpartition(":")
    return (head, name) if colon and head.endswith(".py") else (asked, "")


def load(file: str) -> ModuleType:
    """Import a file by its path, as ``import`` would from its folder."""
    import importlib.util

    path = os.path.abspath(file)
    name = os.path.splitext(os.path.basename(path))[0]
    sys.path.insert(0, os.path.dirname(path))
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise PipelineError("TW1102", f"{file} cannot be loaded as Python", remedy="name a .py file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def choose(module: ModuleType, file: str, name: str) -> Pipeline:
    """Return the pipeline of that name, or the only one of the file.

    Raises:
        PipelineError: there is none, or there are several and no name.
    """
    every = {key: value for key, value in vars(module).items() if isinstance(value, Pipeline)}
    own = {key: value for key, value in every.items() if value.__module__ == module.__name__} or every
    listed = ", ".join(sorted(own))
    if name:
        if name not in every:
            remedy = f"it has {listed}" if own else "write one with @tw.pipeline"
            raise PipelineError("TW1103", f"{file} has no pipeline {name}", remedy=remedy)
        return every[name]
    if not own:
        remedy = "put @tw.pipeline above the function that calls the steps"
        raise PipelineError("TW1103", f"{file} has no pipeline", where=file, remedy=remedy)
    if len({id(value) for value in own.values()}) > 1:
        first = sorted(own)[0]
        message = f"{file} has several pipelines: {listed}"
        raise PipelineError("TW1104", message, where=file, remedy=f"name one, as in {file}:{first}")
    return next(iter(own.values()))


def problem_of(error: PipelineError) -> dict[str, str]:
    """Return an error as JSON."""
    names = ("code", "message", "where", "why", "remedy")
    return {name: str(getattr(error, name)) for name in names}


def _told(error: BaseException, file: str) -> PipelineError:
    """Print the traceback from the author's first frame on, and return the error that sums it up."""
    import traceback

    trace = error.__traceback__
    while trace is not None and not _is_users(trace.tb_frame.f_code.co_filename):
        trace = trace.tb_next
    lines = traceback.format_exception(type(error), error, trace)
    sys.stderr.write("".join(lines))
    last = traceback.extract_tb(trace)
    where: Place | str = file
    if isinstance(error, SyntaxError) and error.filename:
        where = Place(error.filename, error.lineno or 1, error.offset or 1)
    elif last:
        own = [frame for frame in last if _is_users(frame.filename)]
        where = Place(own[-1].filename, own[-1].lineno or 1)
    words = error.msg if isinstance(error, SyntaxError) else str(error)
    said = words.splitlines()[0] if words else ""
    message = f"{shown(os.path.abspath(file))} raises {type(error).__name__}{': ' + said if said else ''}"
    remedy = f"mend it until python {file} works" if not isinstance(error, ModuleNotFoundError) else (
        f"install what provides {error.name} where tw runs ({sys.executable}), or put the module beside {file}"
    )  # fmt: skip
    return PipelineError("TW1102", message, where=where, remedy=remedy)


def _is_users(file: str) -> bool:
    ours = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
    return not file.startswith((ours, "<frozen"))


if __name__ == "__main__":
    from trainwright.dsl.trace import main as imported_main  # as a module, so that its classes are there once

    sys.exit(imported_main(sys.argv[1]))
