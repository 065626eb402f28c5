"""What one Python file imports, told by reading it; and whether reading can tell. Pure.

Wrong only to one side: whatever might load or read code in a way that reading does not show counts as dynamic, and then
all captured code counts.
"""

import ast
import re
from collections.abc import Iterator

from trainwright.core.cache import Imports

READING = 1
"""Number of these rules; whoever keeps what :func:`imports_of` returned keeps it under this number."""

_BY_NAME = frozenset(
    {
        "imp", "importlib", "pkgutil", "runpy", "zipimport", "code", "codeop", "pluggy", "stevedore",
        "subprocess", "pty", "sh", "invoke", "plumbum", "pexpect", "fabric",
        "hydra", "mmcv", "mmengine", "jsonargparse", "gin",
    }
)  # fmt: skip
"""Modules with which a program imports by a name that it makes up, or starts others."""

_CALLED = frozenset({"exec", "eval", "compile", "__import__", "execfile", "LightningCLI"})
_ATTRIBUTES = frozenset(
    {
        "__import__", "__loader__", "__spec__", "import_module", "exec_module", "load_module", "load_source",
        "spec_from_file_location", "run_path", "run_module", "meta_path", "path_hooks", "create_subprocess_exec",
        "create_subprocess_shell", "system", "popen", "posix_spawn", "posix_spawnp", "startfile", "LightningCLI",
    }
)  # fmt: skip
_STARTS = re.compile(r"(exec|spawn)[lv]p?e?")
_UNPICKLES = {
    **dict.fromkeys(("pickle", "cPickle", "_pickle", "dill", "cloudpickle"), frozenset({"load", "loads", "Unpickler"})),
    "joblib": frozenset({"load"}),
    "torch": frozenset({"load"}),
    "pandas": frozenset({"read_pickle"}),
    "shelve": frozenset({"open", "Shelf", "DbfilenameShelf"}),
}
"""What reads pickles, which import the modules that they name."""

_SCRIPT = re.compile(r"[\w./-]*\w\.pyw?")


def imports_of(source: bytes) -> Imports:
    """Return what a file imports; a file that does not parse counts as dynamic."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Imports(dynamic="does not parse")
    found = _Reading()
    try:
        for node in ast.walk(tree):
            found.take(node)
    except RecursionError:
        return Imports(dynamic="does not parse")
    return Imports(tuple(sorted(found.modules)), tuple(sorted(found.files)), found.verdict())


class _Reading:
    """What was seen so far."""

    def __init__(self) -> None:
        self.modules: set[str] = set()
        self.files: set[str] = set()
        self._called: dict[str, str] = {}  # what a module is called in this file -> its name
        self._taken: list[tuple[str, str]] = []  # name, attribute: pickle.load
        self._dynamic: list[str] = []  # in the order of reading

    def take(self, node: ast.AST) -> None:
        match node:
            case ast.Import(names=names):
                for alias in names:
                    self._import(alias.name)
                    self._called[alias.asname or alias.name.split(".")[0]] = alias.name.split(".")[0]
            case ast.ImportFrom():
                self._import_from(node)
            case ast.Name(id=name) if name in _CALLED:
                self._dynamic.append(f"uses {name}")
            case ast.Attribute(attr=name, value=owner):
                if _starts(name):
                    self._dynamic.append(f"uses {name}")
                if isinstance(owner, ast.Name):
                    self._taken.append((owner.id, name))
            case ast.keyword(arg="allow_pickle", value=value) if not _is_false(value):
                self._dynamic.append("unpickles with numpy")
            case ast.Constant(value=str(text)) if text.endswith((".py", ".pyw")):
                self._file(text)

    def verdict(self) -> str:
        """Return why reading cannot tell; empty when it can."""
        for owner, name in self._taken:
            self._unpickles(self._called.get(owner, ""), name)
        return next(iter(self._dynamic), "")

    def _import_from(self, node: ast.ImportFrom) -> None:
        for name in _from(node):
            self._import(name)
        for alias in node.names:
            if _starts(alias.name):
                self._dynamic.append(f"uses {alias.name}")
            self._unpickles((node.module or "").split(".")[0], alias.name)

    def _import(self, name: str) -> None:
        self.modules.add(name)
        if name.split(".", maxsplit=1)[0] in _BY_NAME:
            self._dynamic.append(f"uses {name.split('.', maxsplit=1)[0]}")

    def _unpickles(self, module: str, name: str) -> None:
        if name in _UNPICKLES.get(module, ()) or (name == "*" and module in _UNPICKLES):
            self._dynamic.append(f"unpickles with {module}")

    def _file(self, text: str) -> None:
        if _SCRIPT.fullmatch(text):
            self.files.add(text.rpartition("/")[2])
        elif not set(text) & {" ", "\n"}:  # a sentence names none
            self._dynamic.append(f"makes up names of files ({text[:20]})")


def _from(node: ast.ImportFrom) -> Iterator[str]:
    """Yield ``from a import b`` as ``a`` and ``a.b``: only the files can tell whether b is a module."""
    stem = "." * node.level + (node.module or "")
    yield stem
    joint = "" if stem.endswith(".") else "."
    for alias in node.names:
        yield f"{stem}{joint}{alias.name}"


def _is_false(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is False


def _starts(name: str) -> bool:
    return name in _ATTRIBUTES or _STARTS.fullmatch(name) is not None
