"""Where functions and modules come from: how a job imports them, and whether they travel with the code.

A job runs in a copy of the code tree: the repository around the pipeline file, or its folder. What is imported from
elsewhere and is not installed would be missing there.
"""

from __future__ import annotations

import ast
import os
import sys

from trainwright.dsl.errors import PipelineError
from trainwright.dsl.places import Place, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType
    from typing import Any

    from trainwright.dsl.drawing import Drawing

_INSTALLED = ("site-packages", "dist-packages")


def root_of(function: Callable[..., Any], place: Place) -> str:
    """Return the folder in which the file of a function is found as a module.

    Raises:
        PipelineError: it is in no file.
    """
    file = _file_of(function)
    if not file:
        raise PipelineError(
            "TW1112",
            f"the pipeline {function.__name__} is in no file",
            where=place,
            why="a job imports the functions of its steps from the code that was captured",
            remedy="write the pipeline and its steps into a .py file",
        )
    folder = os.path.dirname(file)
    for _ in range(_module_of(function).count(".")):
        folder = os.path.dirname(folder)
    return folder


def target_of(function: Callable[..., Any], place: Place) -> str:
    """Return ``package.module:function``, by which a job imports a function.

    Raises:
        PipelineError: no import leads to it.
    """
    module = _module_of(function)
    name = getattr(function, "__qualname__", "")
    fault, remedy = "", ""
    if not name:
        fault, remedy = "has no name of its own", "write one with def at the top of its file, and make that the step"
    elif "<locals>" in name or "<lambda>" in name:
        fault, remedy = "is defined inside another function", "write it at the top of its file"
    elif not all(part.isidentifier() for part in module.split(".")):
        fault, remedy = f"is in {module}.py, which no import can name", "rename the file to letters, digits and _"
    elif not _file_of(function) and module == "__main__":
        fault, remedy = "is in no file", "write it into a .py file beside the pipeline"
    if fault:
        message = f"the step {getattr(function, '__name__', 'step')} {fault}"
        why = "the job imports it by name from the code that was captured"
        raise PipelineError("TW1112", message, where=place, why=why, remedy=remedy)
    return f"{module}:{name}"


def check_modules(function: Callable[..., Any], under_way: Drawing, place: Place) -> list[str]:
    """Look at every module that the steps' code imports; return warnings about those that are not captured.

    Raises:
        PipelineError: one comes from outside the code tree and is not installed: no job would find it.
    """
    for step, called in under_way.functions.items():
        _refuse_out_of_reach(step, called, under_way)
    top = _top_of(under_way.root)
    ambient = _ambient()
    found: dict[str, str] = {}
    for name, file, importer in _imported([function, *under_way.functions.values()]):
        if _is_below(file, under_way.root):
            continue
        path = next((p for p in sys.path if p and _is_below(file, os.path.abspath(p))), "")
        if not path or os.path.abspath(path) in ambient:
            whole = name.partition(".")[0]  # one remark for a package
            found[whole] = found.get(whole) or _remark(name, file, top, under_way)
        elif not _is_below(file, top):
            raise PipelineError(
                "TW1114",
                f"the module {name} comes from {file}, outside the code tree {top}",
                where=importer or place,
                why="a job runs in a copy of that tree, and would not find it",
                remedy="move it beside the pipeline file, or install it as a package",
            )
    return [remark for remark in found.values() if remark]


def _refuse_out_of_reach(step: str, function: Callable[..., Any], under_way: Drawing) -> None:
    """Let a step's function pass that a job finds from the folder of the pipeline file.

    Raises:
        PipelineError: it lies in the tree, but its module has another name from there.
    """
    file, name = _file_of(function), _module_of(function)
    if not _is_below(file, under_way.root) or any(part in file.split(os.sep) for part in _INSTALLED):
        return
    path = os.path.join(os.path.realpath(under_way.root), *name.split("."))
    keys = under_way.document["steps"][step]
    if file in {path + ".py", os.path.join(path, "__init__.py")} or "PYTHONPATH" in keys.get("env", {}):
        return
    folder = os.path.relpath(_above(name, file), under_way.root)
    raise PipelineError(
        "TW1112",
        f"the function of step {step} is in {shown(file)}, where a job that starts beside the pipeline finds no {name}",
        where=under_way.places.get(f"steps.{step}", ""),
        why="the job imports it by name from the code that was captured",
        remedy=f'import it from the folder of the pipeline file, or add env={{"PYTHONPATH": "{folder}"}} to the step',
    )


def _remark(name: str, file: str, top: str, under_way: Drawing) -> str:
    """Return a warning about a module that a job finds only because this machine's interpreter does."""
    steps = under_way.document.get("steps", {}).values()
    if _is_below(file, top):
        if any("PYTHONPATH" in step.get("env", {}) for step in steps):
            return ""
        folder = os.path.relpath(_above(name, file), under_way.root)
        remedy = f'let the steps import the captured copy: env={{"PYTHONPATH": "{folder}"}}'
    else:
        remedy = "install a built version of it, so that the fingerprint names it"
    return f"the module {name} is imported from {shown(file)}, whose code is not captured with the run; {remedy}"


def _above(name: str, file: str) -> str:
    """Return the folder from which ``import name`` finds the file."""
    levels = name.count(".") + (2 if os.path.basename(file) == "__init__.py" else 1)
    for _ in range(levels):
        file = os.path.dirname(file)
    return file


def _module_of(function: Callable[..., Any]) -> str:
    """Return the name by which the module of a function can be imported; a script's by its file or ``-m``."""
    module = function.__module__
    if module != "__main__":
        return module
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    if spec is not None and spec.name != "__main__":
        return str(spec.name)
    return os.path.splitext(os.path.basename(_file_of(function)))[0] or module


def _file_of(function: Callable[..., Any]) -> str:
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    code = getattr(function, "__code__", None)
    file = code.co_filename if code is not None else ""
    return os.path.realpath(file) if os.path.isfile(file) else ""


def _imported(functions: list[Callable[..., Any]]) -> Iterator[tuple[str, str, Place | None]]:
    """Yield name, file and importing place of every module of the author's own that these functions' files import."""
    seen: set[str] = set()
    waiting: list[tuple[ModuleType, Place | None]] = [
        (sys.modules[function.__module__], None) for function in functions if function.__module__ in sys.modules
    ]
    while waiting:
        module, importer = waiting.pop()
        file = getattr(module, "__file__", None)
        if not file or not file.endswith(".py") or file in seen or _is_installed(module, file):
            continue
        seen.add(file)
        yield module.__name__, os.path.realpath(file), importer
        waiting += _imports_of(module, file)


def _imports_of(module: ModuleType, file: str) -> list[tuple[ModuleType, Place | None]]:
    """Return the loaded modules that a file imports, with the lines that do."""
    try:
        with open(file, encoding="utf-8") as source:
            tree = ast.parse(source.read())
    except (OSError, ValueError, SyntaxError):
        return []
    package = module.__name__ if hasattr(module, "__path__") else module.__name__.rpartition(".")[0]
    found: list[tuple[ModuleType, Place | None]] = []
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package.rsplit(".", node.level - 1)[0] + "." if node.level else ""
            name = (base + (node.module or "")).rstrip(".")
            names = [name, *(f"{name}.{alias.name}" for alias in node.names)]
        for name in names:
            place = Place(os.path.abspath(file), node.lineno, node.col_offset + 1)  # type: ignore[attr-defined] # imports have both
            parts = name.split(".")
            chain = (".".join(parts[: depth + 1]) for depth in range(len(parts)))
            found += [(sys.modules[part], place) for part in chain if part in sys.modules]
    return found


def _is_installed(module: ModuleType, file: str) -> bool:
    name = module.__name__.partition(".")[0]
    standard: frozenset[str] = getattr(sys, "stdlib_module_names", frozenset())
    folders = os.path.abspath(file).split(os.sep)
    return name in standard or name == "trainwright" or any(part in folders for part in _INSTALLED)


def _ambient() -> frozenset[str]:
    """Return the folders that any interpreter here looks into: ``PYTHONPATH`` and what ``.pth`` files add."""
    found = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    for folder in sys.path:
        if os.path.basename(folder) not in _INSTALLED:
            continue
        try:
            files = [name for name in os.listdir(folder) if name.endswith(".pth")]
        except OSError:
            continue
        for name in files:
            with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
                lines = (line.strip() for line in file)
                found += [os.path.join(folder, line) for line in lines if line and not line.startswith(("import", "#"))]
    return frozenset(map(os.path.abspath, found))


def _top_of(folder: str) -> str:
    """Return the top of the repository around a folder; the folder itself when there is none."""
    here = folder
    while True:
        if os.path.exists(os.path.join(here, ".git")):
            return here
        parent = os.path.dirname(here)
        if parent == here:
            return folder
        here = parent


def _is_below(file: str, folder: str) -> bool:
    return os.path.realpath(file).startswith(os.path.realpath(folder).rstrip(os.sep) + os.sep)
