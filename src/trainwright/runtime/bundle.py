"""The runtime, and the names that pipeline files use, as one file that travels with the job: ``runtime-<digest>.pyz``.

It holds the sources and, for the interpreter that built it, their byte code: another one passes over that and compiles.
The folder beside it, put on ``PYTHONPATH``, lets ``import trainwright as tw`` work in any environment of the user's.
"""

from __future__ import annotations

import os
import sys

from trainwright.runtime import atomic, reading

TYPE_CHECKING = False
if TYPE_CHECKING:
    import types

_FOLDERS = ("runtime", "dsl")
"""Of the package, that travel."""

BEGIN = "import sys; sys.path.append(sys.argv.pop(1)); from trainwright.runtime.__main__ import main; main()"
"""A program for ``python -c``, with the bundle and the words for ``__main__`` behind it."""

_MAIN = "from trainwright.runtime.__main__ import main\n\nmain()\n"

_BEHIND = '__path__.append(os.path.dirname(os.path.dirname(__file__)) + ".pyz/trainwright")\n'

_PACKAGE = '''"""trainwright inside a job: the calls a script may use."""

import os
import sys

__all__ = {names}
__version__ = "{version}"


def _whole():
    """Find the full installation, if this environment has one: it goes first, so that a step may call ``tw``."""
    for entry in sys.path:
        folder = os.path.join(entry, "trainwright")
        if folder not in __path__ and os.path.isfile(os.path.join(folder, "runtime", "__init__.py")):
            return [folder]
    return []


{path}__path__[:0] = _whole()


def __getattr__(name):
    from trainwright.runtime.public import HOMES

    for module, names in HOMES.items():
        if name in names:
            return getattr(__import__("trainwright." + module, fromlist=(name,)), name)
    raise AttributeError("module 'trainwright' has no attribute " + repr(name))
'''


def build(folder: str, version: str) -> str:
    """Return the bundle of this very code in ``folder``; made when absent, whole or not at all.

    Args:
        folder: absolute; made when absent.
        version: of trainwright, for ``trainwright.__version__`` inside the job.

    Raises:
        OSError: it cannot be written.
    """
    from hashlib import sha256

    members = _members(version)
    hasher = sha256(str(sys.implementation.cache_tag).encode())
    for name, text in members:
        hasher.update(f"{name} {len(text)}\n".encode() + text)
    path = os.path.join(folder, f"runtime-{hasher.hexdigest()[:16]}.pyz")
    if not os.path.exists(path):
        os.makedirs(folder, exist_ok=True)
        atomic.create(path, _archive(members))
    return path


def front(path: str, version: str) -> str:
    """Return the folder for ``PYTHONPATH`` beside the bundle at ``path``; made when absent.

    The bundle itself would do, but each interpreter that starts in a job would read its directory of contents, whether
    it imports us or not: as much as a folder costs seven times over.

    Raises:
        OSError: it cannot be written.
    """
    folder = os.path.splitext(path)[0]
    package = os.path.join(folder, "trainwright", "__init__.py")
    if not os.path.exists(package):
        os.makedirs(os.path.dirname(package), exist_ok=True)
        atomic.create(package, _package(version, _BEHIND))
    return folder


def _package(version: str, path: str) -> bytes:
    """Return the ``__init__.py`` of trainwright inside a job."""
    from trainwright.runtime.public import HOMES

    names = sorted(name for names in HOMES.values() for name in names)
    return _PACKAGE.format(version=version, path=path, names=names).encode()


def _members(version: str) -> list[tuple[str, bytes]]:
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    package = _package(version, "")
    found = [("__main__.py", _MAIN.encode()), ("trainwright/__init__.py", package)]
    for folder in _FOLDERS:
        for name in sorted(os.listdir(os.path.join(here, folder))):
            if name.endswith(".py"):
                with open(os.path.join(here, folder, name), "rb") as file:
                    found.append((f"trainwright/{folder}/{name}", file.read()))
    return found


def _archive(members: list[tuple[str, bytes]]) -> bytes:
    """Return the bytes of the archive: not compressed."""
    import io
    import zipfile

    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in members:
            archive.writestr(zipfile.ZipInfo(name), text)
            archive.writestr(zipfile.ZipInfo(name + "c"), _byte_code(name, text))
    return buffer.getvalue()


def _compiled(name: str, text: bytes) -> types.CodeType:
    """Return the code of a module; taken over from Python's own cache where that is of this very source."""
    import importlib.util
    import marshal

    top = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    path = os.path.join(top, name)
    if name.startswith(tuple(f"trainwright/{folder}/" for folder in _FOLDERS)):
        try:
            head = importlib.util.MAGIC_NUMBER + bytes(4) + _stamp(os.stat(path).st_mtime, len(text))
            cached = reading.read(importlib.util.cache_from_source(path))
        except (OSError, NotImplementedError):
            cached = head = b""
        if cached and cached.startswith(head):
            return _named(marshal.loads(cached[len(head) :]), name)  # noqa: S302 - Python would run it as it is
    return compile(text, name, "exec", dont_inherit=True)


def _stamp(changed_s: float, size: int) -> bytes:
    return (int(changed_s) & 0xFFFFFFFF).to_bytes(4, "little") + (size & 0xFFFFFFFF).to_bytes(4, "little")


def _named(code: types.CodeType, name: str) -> types.CodeType:
    """Return the code with ``name`` for its file: where it was compiled is nobody's business."""
    inner = tuple(_named(one, name) if isinstance(one, type(code)) else one for one in code.co_consts)
    return code.replace(co_filename=name, co_consts=inner)


def _byte_code(name: str, text: bytes) -> bytes:
    """Return what PEP 552 calls an unchecked hash-based pyc."""
    import importlib.util
    import marshal

    code = _compiled(name, text)
    flags = (1).to_bytes(4, "little")
    return importlib.util.MAGIC_NUMBER + flags + importlib.util.source_hash(text) + marshal.dumps(code)
