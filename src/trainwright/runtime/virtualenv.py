"""Environments of a machine, ``<root>/<key>/``: built once from a lock, held while they are used.

Beside each lie two files that are never removed. ``<key>.lease`` is an ``flock`` that all share who use it, and that
whoever removes it has alone; its time says when it was last used. ``<key>.lock`` is an ``flock`` of who builds, and of
the uv that works for it, so that nobody builds beside an orphan. What has no ``.ready`` is not whole, and made anew.
"""

from __future__ import annotations

import os
import time

from trainwright.runtime import atomic, disk, plainjson, reading, tree, uv

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

READY = ".ready"
FACTS = "environment.json"
"""In the folder of an attempt: which environment it got, whether it was built for it, and how long that took."""

_LOCK, _LEASE, _TEXT = ".lock", ".lease", ".requirements.txt"
_POLL_S = 0.05
_DIGITS = frozenset("0123456789abcdef")


class BuildError(Exception):
    """An environment cannot be built; the message is for a person."""


class StoppedError(Exception):
    """Somebody wants the attempt to end before its environment is there."""


class Wanted:
    """What to build.

    Attributes:
        key: of the environment.
        python: version of the interpreter.
        lock: its text.
        packages: how many it names.
    """

    __slots__ = ("key", "lock", "packages", "python")

    def __init__(self, key: str, python: str, lock: bytes, packages: int) -> None:
        if len(key) != 64 or not _DIGITS.issuperset(key):  # noqa: PLR2004 - sha256
            raise BuildError(f"{key!r} is no key of an environment")
        self.key, self.python, self.lock, self.packages = key, python, lock, packages


class Held:
    """An environment in use until :meth:`release`, or the end of this process.

    Attributes:
        path: of its folder.
        built: whether it was built on this occasion.
        took_s: how long it took to get it.
    """

    __slots__ = ("_fd", "built", "path", "took_s")

    def __init__(self, path: str, fd: int, took_s: float, *, built: bool) -> None:
        self.path, self.built, self.took_s, self._fd = path, built, took_s, fd

    def release(self) -> None:
        """Use it no more."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


class Builder:
    """Builds on behalf of one attempt.

    Args:
        root: of the environments.
        env: of whoever builds: it says where packages come from.
        log: file that takes what uv says.
        is_stopped: asked now and then while it waits or builds.
    """

    def __init__(
        self, root: str, env: Mapping[bytes, bytes], log: str, is_stopped: Callable[[], bool] = lambda: False
    ) -> None:
        self._root, self._env, self._log, self._is_stopped = root, dict(env), log, is_stopped

    def hold(self, wanted: Wanted) -> Held:
        """Return the environment, built when nobody has; of many who want it at once one builds.

        Raises:
            BuildError: it cannot be built.
            StoppedError: we were told to stop.
            OSError: the folder cannot be written.
        """
        began = time.monotonic()
        refuse_foreign(self._root)
        path = os.path.join(self._root, wanted.key)
        lease = self._flock(path + _LEASE, shared=True)
        try:
            os.utime(path + _LEASE)
            built = not is_ready(path) and self._build(path, wanted)
        except BaseException:
            os.close(lease)
            raise
        return Held(path, lease, time.monotonic() - began, built=built)

    def _build(self, path: str, wanted: Wanted) -> bool:
        """Build, unless somebody else has by the time it is our turn; tell whether it was us."""
        turn = self._flock(path + _LOCK, shared=False)
        try:
            if is_ready(path):
                return False
            if os.path.lexists(path) and not disk.remove(path):
                raise BuildError(f"what is left of a build that was killed cannot be removed: {path}")
            try:
                self._make(path, wanted, turn)
            except (BuildError, StoppedError):
                disk.remove(path)
                raise
            return True
        finally:
            os.close(turn)

    def _make(self, path: str, wanted: Wanted, turn: int) -> None:
        """Make the environment in its final place: its scripts name it."""
        self._uv(["venv", "--no-project", "--python", self._interpreter(wanted.python), path], turn)
        text = path + _TEXT
        atomic.replace(text, wanted.lock)
        python = os.path.join(path, "bin", "python")
        if wanted.packages:
            words = ["pip", "sync", "--require-hashes", "--python", python, text]
            compiled = [] if b"UV_COMPILE_BYTECODE" in self._env else ["--compile-bytecode"]
            self._uv([*words, *compiled], turn)
        size_bytes = disk.size_of(path)
        _freeze(path)
        facts = {
            "format": 1,
            "key": wanted.key,
            "python": wanted.python,
            "packages": wanted.packages,
            "size_bytes": size_bytes,
            "at_s": time.time(),
        }
        os.chmod(path, 0o755)  # noqa: S103 - as any folder of programs
        atomic.replace(os.path.join(path, READY), atomic.encode(facts))
        os.chmod(path, 0o555)  # noqa: S103 - as above

    def _interpreter(self, version: str) -> str:
        """Return our own interpreter when it is of that version, else what uv is to look for."""
        import sys

        return sys.executable if version == ".".join(map(str, sys.version_info[:3])) else version

    def _uv(self, words: list[str], turn: int) -> None:
        """Let uv do something.

        Raises:
            BuildError: it is not installed, or it failed; with its last words.
            StoppedError: we were told to stop.
        """
        program = uv.find(os.fsdecode(self._env.get(b"PATH", b"")))
        if not program:
            raise BuildError("uv is not installed here: pip install 'trainwright[env]'")
        log = os.open(self._log, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        try:
            begin = os.fstat(log).st_size
            code = self._wait(self._start([program, *words], log, turn))
            if code:
                said = os.pread(log, 1 << 20, begin).decode("utf-8", "replace").splitlines()
                raise BuildError(uv.last_words(said) or f"uv {words[0]} ended with exit code {code}")
        finally:
            os.close(log)

    def _start(self, words: list[str], log: int, turn: int) -> int:
        env = {**self._env, b"NO_COLOR": b"1", b"UV_NO_PROGRESS": b"1"}
        for name in (b"VIRTUAL_ENV", b"PYTHONPATH", b"PYTHONHOME", b"UV_PYTHON", b"UV_PROJECT_ENVIRONMENT"):
            env.pop(name, None)
        os.set_inheritable(turn, True)  # noqa: FBT003 - the turn ends when uv does, also when we are killed
        try:
            return tree.spawn([os.fsencode(word) for word in words], env, log)
        finally:
            os.set_inheritable(turn, False)  # noqa: FBT003 - its only form

    def _wait(self, pid: int) -> int:
        """Return the exit code of uv; end it when we are to stop."""
        while True:
            gone, status = os.waitpid(pid, os.WNOHANG)
            if gone:
                return os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status)
            if self._is_stopped():
                tree.send(-pid, 9)
                os.waitpid(pid, 0)
                raise StoppedError
            time.sleep(_POLL_S)

    def _flock(self, path: str, *, shared: bool) -> int:
        """Return a descriptor that holds a lock; waits for it.

        Raises:
            StoppedError: we were told to stop while waiting.
        """
        import fcntl

        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        while True:
            try:
                fcntl.flock(fd, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
            except BlockingIOError:  # noqa: PERF203 - it is for waiting
                if self._is_stopped():
                    os.close(fd)
                    raise StoppedError from None
                time.sleep(_POLL_S)
            else:
                return fd


def for_attempt(
    order: dict[str, Any], folder: str, cwd: str, given: Mapping[bytes, bytes], is_stopped: Callable[[], bool]
) -> Held:
    """Return the environment of an attempt, built if need be; the attempt's log takes what uv says.

    Args:
        order: JSON of the attempt's ``job.json``.
        folder: of the attempt.
        cwd: where its command will start; this process goes there, since uv finds the project's settings from there on.
        given: environment of whoever asked.
        is_stopped: see :class:`Builder`.

    Raises:
        ContentError: the lock is not stored, or altered.
        BuildError, StoppedError, OSError: see :meth:`Builder.hold`.
    """
    from trainwright.runtime import content, environment

    asked = order["job"]["environment"]
    root = order.get("environments")
    if not root or not asked.get("lock"):
        raise BuildError("this pool builds no environments")
    lock = content.read(order["store"], asked["lock"], "lock")
    wanted = Wanted(asked["key"], asked["python"], lock, asked["packages"])
    env = environment.inherited(given, order.get("path", ()), 1000)
    env[b"TW_ATTEMPT_DIR"] = os.fsencode(folder)  # so that it is found when we are killed
    place = asked["asked"]["path"]
    home = os.path.join(cwd, place if asked["asked"]["kind"] == "project" else os.path.dirname(place))
    os.chdir(home if os.path.isdir(home) else cwd)
    held = Builder(root, env, os.path.join(folder, "log"), is_stopped).hold(wanted)
    facts = {"key": wanted.key, "built": held.built, "took_s": round(held.took_s, 3)}
    atomic.write_new(os.path.join(folder, FACTS), atomic.encode(facts))
    return held


def is_ready(path: str) -> bool:
    """Tell whether the environment in this folder is whole."""
    return os.path.exists(os.path.join(path, READY))


def refuse_foreign(root: str) -> None:
    """Make the folder of environments, or let it pass when nobody else may write it: what is there is executed.

    Raises:
        BuildError: it belongs to somebody else, or others may write it.
        OSError: it cannot be made.
    """
    os.makedirs(root, mode=0o755, exist_ok=True)
    facts = os.stat(root)
    if facts.st_uid != os.getuid() or facts.st_mode & 0o022:
        raise BuildError(f"{root} is not ours alone, and what lies there is executed: set TW_ENVS_DIR")


def facts_of(path: str) -> dict[str, Any]:
    """Return what ``.ready`` says; empty for an environment that is not whole."""
    return _facts(os.path.join(path, READY))


def told(folder: str) -> dict[str, Any]:
    """Return what an attempt noted of its environment; empty when it had none of its own."""
    return _facts(os.path.join(folder, FACTS))


def _facts(path: str) -> dict[str, Any]:
    try:
        found = plainjson.loads(reading.read(path))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def keys(root: str) -> list[str]:
    """Return the keys of all that lies in the folder, whole or not, sorted."""
    return [n for n in disk.names(root) if len(n) == 64 and _DIGITS.issuperset(n)]  # noqa: PLR2004 - as above


def used_at(root: str, key: str) -> float:
    """Return when an environment was last taken into use, in seconds since the epoch; 0 for never."""
    try:
        return os.stat(os.path.join(root, key) + _LEASE).st_mtime
    except OSError:
        return 0.0


def own_bytes(path: str) -> int:
    """Return the bytes of the files in a folder that nothing else shares: what its removal frees."""
    found = 0
    for folder, _, names in os.walk(path):
        for name in names:
            try:
                facts = os.lstat(os.path.join(folder, name))
            except OSError:
                continue
            found += facts.st_size if facts.st_nlink == 1 else 0
    return found


def is_leased(root: str, key: str) -> bool:
    """Tell whether a running attempt uses the environment."""
    fd = _alone(os.path.join(root, key) + _LEASE)
    if fd is None:
        return True
    os.close(fd)
    return False


def remove(root: str, key: str) -> bool:
    """Remove an environment that nobody uses; tell whether it is gone."""
    path = os.path.join(root, key)
    lease = _alone(path + _LEASE)
    if lease is None:
        return False
    turn = _alone(path + _LOCK)
    try:
        if turn is None:  # an orphan of a runner that was killed still writes there
            return False
        if is_ready(path):  # first: what is half removed is not whole
            os.chmod(path, 0o755)  # noqa: S103 - as above
            os.unlink(os.path.join(path, READY))
        disk.remove(path + _TEXT)
        return disk.remove(path)
    finally:
        os.close(lease)
        if turn is not None:
            os.close(turn)


def _alone(path: str) -> int | None:
    """Return a descriptor that has a lease alone; None when somebody shares it."""
    import fcntl

    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        return None
    return fd


def _freeze(path: str) -> None:
    """Let nothing be added to the folders or removed from them.

    The files stay as they are: they are uv's own, under a second name. Nothing of this holds for root.
    """
    for folder, names, _ in os.walk(path):
        for name in names:
            place = os.path.join(folder, name)
            if not os.path.islink(place):
                os.chmod(place, 0o555)  # noqa: S103 - as above
