"""Whether the functions that ``call:`` names are there: files are read and parsed, nothing is imported."""

import ast
import importlib.util
from collections.abc import Iterator
from pathlib import Path

from trainwright.core.errors import Position, SpecError
from trainwright.service.nearest import did_you_mean
from trainwright.spec.document import Document, StepSpec


def check_targets(document: Document, folder: Path) -> None:
    """Look for every function that a step of the file calls, as a job that starts in ``folder`` would.

    A step that sets ``PYTHONPATH`` may find its modules elsewhere and is passed over.

    Raises:
        SpecError: TW1115 there is no such module, or it has no such function.
    """
    for name, step in sorted(document.spec.steps.items()):
        if step.call and "PYTHONPATH" not in step.env:
            _check(step, document.where(f"steps.{name}.call"), folder)


def _check(step: StepSpec, where: Position, folder: Path) -> None:
    module, _, function = step.call.partition(":")
    file = _file_of(module, folder)
    if file is None:
        place = folder.joinpath(*module.split("."))
        if any(place.parent.glob(f"{place.name}.*.so")):  # compiled: only running it would tell
            return
        if not (folder / module.partition(".")[0]).is_dir() and _is_installed(module.partition(".")[0]):
            return
        there = sorted(path.stem for path in folder.glob("*.py"))
        remedy = did_you_mean(module, there, f"write {module.replace('.', '/')}.py beside {Path(where.file).name}")
        raise SpecError("TW1115", f"there is no module {module}", where=where, remedy=remedy)
    names = _names_in(file)
    wanted = function.partition(".")[0]
    if names is not None and wanted not in names:
        shown = file.relative_to(folder).as_posix()
        otherwise = f"it has {', '.join(sorted(names)[:5])}" if names else "write one"
        remedy = did_you_mean(wanted, sorted(names), otherwise)
        raise SpecError("TW1115", f"{shown} has no function {wanted}", where=where, remedy=remedy)


def _file_of(module: str, folder: Path) -> Path | None:
    place = folder.joinpath(*module.split("."))
    candidates = (place.with_name(place.name + ".py"), place / "__init__.py")
    return next((path for path in candidates if path.is_file()), None)


def _is_installed(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def _names_in(file: Path) -> frozenset[str] | None:
    """Return the names at the top of a module; None when only running it would tell, as with ``import *``."""
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return None  # the job says it better
    found: set[str] = set()
    for node in _statements(tree.body):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                found.add(node.name)
            case ast.Import() | ast.ImportFrom():
                found |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
            case _:
                found |= {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    dynamic = "*" in found or "__getattr__" in found
    return None if dynamic else frozenset(found)


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements at the top, those inside ``if`` and ``try`` too."""
    for node in body:
        if isinstance(node, ast.If | ast.Try | ast.With):
            for part in ("body", "orelse", "finalbody"):
                yield from _statements(getattr(node, part, []))
            for handler in getattr(node, "handlers", []):
                yield from _statements(handler.body)
        else:
            yield node
