"""The code that counts for a step: its script, what that imports, and every file that is not Python. Pure.

An import counts as every module of that name in the captured tree, wherever it lies: where Python would look is not
known before it runs, and one module too many only makes a step run again.
"""

from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

from trainwright.core.cache import Closure, Imports
from trainwright.core.codec import digest_of
from trainwright.core.job import CodeTree, Command, Template
from trainwright.plan.invocation import Invocation, invocation_of

_PYTHON = (".py", ".pyw")
_MOST_FOLLOWED = 500
"""Modules of one step; beyond it all code counts, so that a submit stays quick."""

_AT_START = ("sitecustomize.py", "usercustomize.py")


class TreeFile(NamedTuple):
    """One captured file."""

    path: str
    sha256: str


class SourceTree:
    """A captured tree and what its Python files import.

    Args:
        code: its manifest, and where commands start.
        files: all of it.
        read: returns what the file with this path and sha256 imports.
    """

    def __init__(self, code: CodeTree, files: Collection[TreeFile], read: Callable[[TreeFile], Imports]) -> None:
        self.code = code
        self._read = read
        self._python = {file.path: file for file in files if file.path.endswith(_PYTHON)}
        others = sorted((file.path, file.sha256) for file in files if not file.path.endswith(_PYTHON))
        self.rest = digest_of(others)
        self._found: dict[str | tuple[Template, ...], Closure] = {}  # by what is to be executed
        self._places: dict[str, list[str]] = {}  # last name of a folder or module -> where it is
        for path in self._python:
            self._place(path)

    def closure(self, command: Command) -> Closure:
        """Return the code that counts for a command."""
        text = command.argv if command.shell is None else command.shell
        text = text if command.call is None else command.call.target
        if text not in self._found:
            module = "" if command.call is None else command.call.target.partition(":")[0]
            self._found[text] = self.closure_of_module(module) if module else self._closure(invocation_of(command))
        return self._found[text]

    def _closure(self, call: Invocation | str) -> Closure:
        if isinstance(call, str):
            return self._whole(call)
        start, name = self._start(call)
        if not start:
            return self._whole(f"{name} is not in it")
        if any(self._is_code(argument) for argument in call.arguments):
            return self._whole("an argument names Python code")
        return self._from(start, name)

    def closure_of_module(self, module: str) -> Closure:
        """Return the code that counts for a function of a module."""
        start = self._find(module)
        return self._from(start, module) if start else self._whole(f"{module} is not in it")

    def _whole(self, why: str) -> Closure:
        return Closure(f"whole code tree: {why}", tree=self.code.digest)

    def _from(self, start: Collection[str], name: str) -> Closure:
        found: dict[str, str] = {}
        left = [*start, *(p for p in self._python if p.rpartition("/")[2] in _AT_START)]
        while left:
            path = left.pop()
            if path in found:
                continue
            file = self._python[path]
            found[path] = file.sha256
            if len(found) > _MOST_FOLLOWED:
                return self._whole(f"{name} imports more than {_MOST_FOLLOWED} modules")
            imports = self._read(file)
            if imports.dynamic:
                return self._whole(f"{path} {imports.dynamic}")
            for module in imports.modules:
                left += self._imported(path, module)
            if imports.files:
                left += [p for p in self._python if p.rpartition("/")[2] in imports.files]
        count = len(found)
        shown = f"closure of {name}: {count} module{'s' if count > 1 else ''}"
        return Closure(shown, modules=dict(sorted(found.items())), rest=self.rest)

    def _start(self, call: Invocation) -> tuple[Collection[str], str]:
        """Return the files that run first, and how they are shown; no files when they are not in the tree."""
        if call.module:
            return [*self._find(call.module), *self._find(f"{call.module}.__main__")], call.module
        path = _joined(self.code.folder, call.script)
        return ([path] if path in self._python else []), call.script

    def _is_code(self, argument: str) -> bool:
        """Tell whether an argument is the name of Python code in the tree, which a library may load by it."""
        value = argument.rpartition("=")[2]
        if value.endswith(_PYTHON):
            return True
        module, colon, _ = value.partition(":")
        names = module.split(".")
        known = range(1 if colon else 2, len(names) + 1)  # models.resnet.Net is found by models.resnet
        return "/" not in module and any(self._exists(names[:count]) for count in known)

    def _exists(self, names: list[str]) -> bool:
        """Tell whether a dotted name is a module or package somewhere in the tree."""
        ends = [*_PYTHON, "/__init__.py"]
        places = (_joined(folder, "/".join(names)) for folder in self._places.get(names[0], ()))
        return any(place + end in self._python for place in places for end in ends)

    def _imported(self, path: str, module: str) -> Collection[str]:
        stem = module.lstrip(".")
        level = len(module) - len(stem)
        if not level:
            return self._find(stem)
        folder = path.split("/")[:-level]
        if len(path.split("/")) < level:
            return ()
        return self._below("/".join(folder), stem.split(".") if stem else [])

    def _find(self, module: str) -> list[str]:
        """Return the files of a dotted name and of the packages on the way, below every folder that has the first."""
        names = module.split(".")
        return [path for folder in self._places.get(names[0], ()) for path in self._below(folder, names)]

    def _below(self, folder: str, names: list[str]) -> list[str]:
        """Return the files of ``folder`` and of ``names`` below it: ``p/__init__.py``, ``p/q.py``; ``*`` takes all."""
        found = self._own(folder)
        for name in names:
            if name == "*":
                return [*found, *(p for p in self._python if p.startswith(folder + "/" if folder else ""))]
            folder = _joined(folder, name)
            found += [folder + end for end in _PYTHON if folder + end in self._python] + self._own(folder)
        return found

    def _own(self, folder: str) -> list[str]:
        path = _joined(folder, "__init__.py")
        return [path] if path in self._python else []

    def _place(self, path: str) -> None:
        """Note under which names a file can be imported, and from which folder."""
        parts = path.split("/")
        for depth, name in enumerate(parts):
            word = name.partition(".")[0] if depth == len(parts) - 1 else name
            folders = self._places.setdefault(word, [])
            folder = "/".join(parts[:depth])
            if folder not in folders[-1:]:
                folders.append(folder)


def _joined(folder: str, path: str) -> str:
    """Return a path from the top of the tree, without ``.`` and ``..``."""
    names: list[str] = []
    for name in f"{folder}/{path}".split("/"):
        if name == "..":
            names = names[:-1] if names else ["\0"]  # out of the tree: nothing is there
        elif name not in {"", "."}:
            names.append(name)
    return "/".join(names)


def parts_of(closure: Closure, folder: str) -> Mapping[str, str]:
    """Return what a closure adds to a key, part by part."""
    if closure.tree:
        return {"code": closure.tree, "folder": folder}
    modules = {f"code {path}": sha256 for path, sha256 in closure.modules.items()}
    return {**modules, "code other files": closure.rest, "folder": folder}
