"""An interpreter that has imported what steps ask for, so that their functions start by a fork and not by an import.

It is a supervisor in the Python of the job, see ``supervisor.supervise``: a process for each attempt all the same. It
holds installed modules alone, never the user's own: the code of a step comes from its captured tree. What cannot be
forked, because threads run or a device is open, is not served: whoever asked starts the ordinary way.
"""

from __future__ import annotations

import os
import sys

from trainwright.runtime import atomic, reading, tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

BEGIN = (
    "import sys; path = sys.path[:]; sys.path[:] = [sys.argv.pop(1)]; import trainwright; "
    "sys.path[:] = [entry for entry in path if entry]; from trainwright.runtime.__main__ import main; main()"
)
"""As ``bundle.BEGIN``, for an interpreter with all its packages: our own come from the bundle nonetheless."""

ROOM = b"TW_ROOM"
"""Variable whose length is the room for what a forked process shows of itself in ``/proc``."""

ROOM_BYTES = 8192

REFUSED_S = 600.0
"""How long what a warm interpreter said against itself is believed: packages change."""

_MATTERS = (
    *(b"PATH", b"HOME", b"LANG", b"LC_", b"TZ", b"PYTHON", b"LD_", b"MALLOC_", b"CUDA"),
    *(b"OMP_", b"MKL_", b"OPENBLAS_", b"BLIS_", b"NUMEXPR_", b"ARROW_", b"JE_ARROW_", b"NPY_", b"SKLEARN_", b"SCIPY_"),
)
"""Beginnings of the variables that interpreters and packages look at when they start: a process for each set."""

_QUIET = {b"ARROW_DEFAULT_MEMORY_POOL": b"system", b"JE_ARROW_MALLOC_CONF": b"background_thread:false"}
"""Without these pyarrow starts a thread."""

_NEVER = frozenset({"polars", "torch", "tensorflow", "jax", "cupy"})
"""Packages whose pools or devices a forked process cannot use; one that used polars hangs all its children."""


def matters(env: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
    """Return the variables that a warm interpreter depends on."""
    return {name: value for name, value in env.items() if name.startswith(_MATTERS)}


def key(python: bytes, modules: Iterable[str], env: Mapping[bytes, bytes]) -> str:
    """Return what tells one warm interpreter from another: 16 hexadecimal digits.

    Projects share them: the folder with ``trainwright``, last on ``PYTHONPATH``, counts by its name, a digest.
    """
    from hashlib import sha256

    known = {**matters(env), b"PYTHONPATH": b":".join([*_places(env)[:-1], os.path.basename(_places(env)[-1])])}
    variables = sorted(name + b"=" + value for name, value in known.items())
    words = [python, ",".join(sorted(modules)).encode(), *variables]
    return sha256(b"\0".join(words)).hexdigest()[:16]


def _places(env: Mapping[bytes, bytes]) -> list[bytes]:
    return env.get(b"PYTHONPATH", b"").split(b":")


def surroundings(env: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
    """Return the whole environment to start one with; it holds no secrets."""
    return {**_QUIET, **matters(env), ROOM: b"." * ROOM_BYTES}


def socket_name(name: str) -> str:
    """Return the file name of the socket of the interpreter with this :func:`key`."""
    return f"warm-{name}.sock"


def refusal_of(socket: str) -> str:
    """Return the file in which a warm interpreter that may not be forked says why."""
    return socket[: -len(".sock")] + ".refused"


def prepare(socket: str, modules: list[str]) -> Warm | None:
    """Import the modules; return what starts functions, or None when this process may not be forked.

    Args:
        socket: it will listen on; why it will not is written beside it.
        modules: names of modules, as in ``import``.
    """
    os.chdir("/")
    _load_own()
    before = _descriptors()
    try:
        for name in modules:
            __import__(name)
        _use()
        obstacle = _obstacle()
    except Exception as error:  # noqa: BLE001 - whatever a package raises when it is imported
        obstacle = f"{type(error).__name__}: {error}"
    if obstacle:
        words = f"{', '.join(modules)}: {obstacle}"
        sys.stderr.write(f"not warm: {words}\n")
        atomic.replace(refusal_of(socket), words.encode("utf-8", "replace"))
        return None
    if os.path.exists(refusal_of(socket)):
        os.unlink(refusal_of(socket))
    return Warm(os.path.basename(socket), modules, _descriptors() - before)


class Warm:
    """What runners of this process start functions with."""

    def __init__(self, name: str, modules: list[str], descriptors: set[int]) -> None:
        """Note how things are after the import.

        Args:
            name: of the socket.
            modules: that were imported.
            descriptors: that they opened.
        """
        self._name, self._modules, self._descriptors = name, modules, descriptors
        self._stamp = _stamp()
        self._front = os.fsdecode(_places(os.environb)[-1])
        fields = tree.stat_fields(os.getpid())
        self._shown = tuple(map(int, fields[45:49]))  # where arguments and environment begin and end

    def is_current(self) -> bool:
        """Tell whether no package was installed, changed or removed since."""
        return _stamp() == self._stamp

    def start(self, argv: list[bytes], env: dict[bytes, bytes], log: int) -> int:
        """Start a command as ``tree.spawn`` does, by a fork when it is a function that belongs here.

        Raises:
            OSError: it cannot be started.
        """
        obstacle = self._obstacle(argv, env)
        if obstacle:
            sys.stderr.write(f"not started warm: {obstacle}\n")
            return tree.spawn(argv, env, log)
        _take_variables(env)
        _take_numbers()
        pid = os.fork()
        if pid == 0:
            self._become(env, log)
        return pid

    def _obstacle(self, argv: list[bytes], env: dict[bytes, bytes]) -> str:
        if argv[1:] != [b"-m", b"trainwright.runtime.call"]:
            return "it is no function"
        if self._name != socket_name(key(argv[0], self._modules, env)):
            return "its interpreter or its variables are others"
        if len(_mark(env)) >= self._shown[3] - self._shown[2]:
            return "the path of its folder is too long"
        hidden = sorted(hidden_modules(os.getcwd()))
        return f"its code has modules that are loaded here from elsewhere: {', '.join(hidden)}" if hidden else ""

    def _become(self, env: dict[bytes, bytes], log: int) -> None:
        """Be the interpreter that calls the function; never returns."""
        code = 1
        try:
            os.setsid()
            self._take_descriptors(log)
            self._take_face(env)
            _take_state()
            tree.default_signals()
            code = _call(os.fsdecode(env[b"TW_ATTEMPT_DIR"]))
        except BaseException:  # noqa: BLE001 - the top of this process; its log is all there is to tell
            import traceback

            traceback.print_exc()
        finally:
            os._exit(code)

    def _take_descriptors(self, log: int) -> None:
        os.dup2(log, 1)
        os.dup2(log, 2)
        for fd in _descriptors() - self._descriptors - {0, 1, 2}:
            os.close(fd)

    def _take_face(self, env: dict[bytes, bytes]) -> None:
        """Show others the arguments and the environment of the attempt: its processes are known by their mark."""
        front = os.fsdecode(_places(env)[-1])
        sys.path[:] = [front if place == self._front else place for place in sys.path]
        begin, end, room, room_end = self._shown
        _show(begin, end, sys.executable.encode() + b"\0-m\0trainwright.runtime.call")
        _show(room, room_end, _mark(env))


def hidden_modules(folder: str) -> set[str]:
    """Return the names of modules in ``folder`` that an import would not find, since others are loaded already."""
    loaded = sys.modules
    found = set()
    for entry in os.listdir(folder):
        name = entry.partition(".")[0]
        if name not in loaded:
            continue
        if entry.endswith((".py", ".so")) or os.path.isfile(os.path.join(folder, entry, "__init__.py")):
            found.add(name)
    return found


def _use() -> None:
    """Use what is loaded a little: packages load more of themselves when they are first used."""
    pandas = sys.modules.get("pandas")
    if pandas is not None:
        frame = pandas.DataFrame({"number": [1.0, 2.0], "text": ["a", "b"]})
        frame["number"].sum()
        str(frame)


def _load_own() -> None:
    """Load what runs attempts and calls functions, so that no step has to.

    Before anything else: close together in memory it lies on few pages, and a forked process copies each that it uses.
    """
    import atexit
    import ctypes
    import random
    import threading
    import traceback

    from trainwright.runtime import annotations, call, calls, checkout, checkpoint, content, formats, runner, values

    _ = atexit, ctypes, random, threading, traceback, annotations, call, calls, checkout, checkpoint, content, formats
    _ = runner, values


def _obstacle() -> str:
    """Return why this process may not be forked; empty when it may."""
    never = sorted(_NEVER & sys.modules.keys())
    if never:
        return f"{', '.join(never)} was imported, and it cannot be used after a fork"
    tasks = os.listdir("/proc/self/task")
    if len(tasks) > 1:
        names = sorted(reading.read(f"/proc/self/task/{task}/comm").decode().strip() for task in tasks)
        return f"a thread was started by the import: {', '.join(names)}"
    return "CUDA was loaded" if b"/libcuda.so" in reading.read("/proc/self/maps") else ""


def _descriptors() -> set[int]:
    """Return all open descriptors."""
    found = {int(name) for name in os.listdir("/proc/self/fd")}
    for fd in list(found):
        try:
            os.fstat(fd)
        except OSError:  # noqa: PERF203 - the one of the listing itself
            found.discard(fd)
    return found


def _stamp() -> dict[str, int]:
    """Return when the interpreter, our own bundle and the folders of packages changed, in ns; not of what is gone."""
    found = {}
    bundle = getattr(tree.__loader__, "archive", "")
    for path in [sys.executable, bundle, *sys.path]:
        try:
            found[path] = os.stat(path).st_mtime_ns
        except OSError:  # noqa: PERF203 - a handful
            continue
    return found


def _take_variables(env: Mapping[bytes, bytes]) -> None:
    """Have these variables and no others, in the runner already.

    What a forked process need not do itself costs it no copies of the pages that it would write to. Most variables are
    those of the runner's last attempt.
    """
    for name in [name for name in os.environb if name not in env]:
        del os.environb[name]
    for name, value in env.items():
        if os.environb.get(name) != value:
            os.environb[name] = value


def _take_numbers() -> None:
    """Begin NumPy's random numbers anew for the process about to be forked; Python does its own at each fork."""
    numbers = sys.modules.get("numpy.random")
    if numbers is not None:
        numbers.seed()


def _mark(env: Mapping[bytes, bytes]) -> bytes:
    return b"TW_ATTEMPT_DIR=" + env[b"TW_ATTEMPT_DIR"]


def _show(begin: int, end: int, text: bytes) -> None:
    """Write over the part of this process's memory that ``/proc`` shows as its arguments or its environment."""
    import ctypes

    ctypes.memset(begin, 0, end - begin)
    ctypes.memmove(begin, text, min(len(text), end - begin - 1))


def _take_state() -> None:
    """Be as an interpreter that has just started: what it imports first, its arguments."""
    import gc

    from trainwright.runtime import call

    sys.path.insert(0, os.getcwd())
    sys.argv = [os.path.splitext(str(call.__file__))[0] + ".py"]
    gc.enable()


def _call(folder: str) -> int:
    """Call the function and tidy up as an interpreter does that ends; return the exit code."""
    import atexit
    import threading

    from trainwright.runtime import call

    code = call.main(folder, os.environ)
    threading._shutdown()  # type: ignore[attr-defined] # noqa: SLF001 - waits for the threads, as Python's own end
    atexit._run_exitfuncs()  # noqa: SLF001
    return code & 0xFF if _flush() else 120


def _flush() -> bool:
    """Write out what open files still hold; tell whether stdout and stderr could take all."""
    import gc
    from _io import _IOBase  # its face in io asks each object at length what it is

    for one in gc.get_objects():  # those made since the fork
        if isinstance(one, _IOBase) and one is not sys.stdout and one is not sys.stderr:
            try:
                one.flush()
            except (OSError, ValueError):  # closed, or only read from
                continue
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        return False
    return True
