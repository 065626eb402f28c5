"""The processes of an attempt: all that the command started, however far they went away from it."""

from __future__ import annotations

import os
import time

from trainwright.runtime import reading

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any
else:
    try:
        import _signal as signal  # the plain module: signal itself loads enum first
    except ImportError:
        import signal

TERM = int(signal.SIGTERM)

SIGNALS = (signal.SIGCHLD, signal.SIGTERM)
"""What the runner waits for; blocked from its first line, so that none is missed."""

_PR_SET_CHILD_SUBREAPER = 36
_KNOWN: dict[str, Any] = {}
_QUICK_S = 0.01
_SLOW_S = 0.2


class Tree:
    """Every descendant of this process.

    The runner is a child subreaper: whatever loses its parent, even a daemon in a session of its own, becomes a child
    of the runner. So "no child left" is "nothing left". Where the kernel refuses that, processes are found by the
    attempt's mark in their environment.

    Attributes:
        statuses: wait status of every child reaped, by pid.
        cpu_s: user and system time of all that was reaped.
        max_rss_bytes: of the largest process.
    """

    def __init__(self, mark: bytes) -> None:
        self._mark = mark
        self._adopts = _become_subreaper()
        self.statuses: dict[int, int] = {}
        self.cpu_s = 0.0
        self.max_rss_bytes = 0

    def reap(self) -> bool:
        """Collect what has ended; tell whether no process of the attempt is left."""
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return self._adopts or not any(marked(self._mark))
            if pid == 0:
                return False
            self.statuses[pid] = status
            self.cpu_s += usage.ru_utime + usage.ru_stime
            self.max_rss_bytes = max(self.max_rss_bytes, usage.ru_maxrss * 1024)

    def end(self, grace_s: float) -> None:
        """Send TERM to all, once each, and KILL after the grace; return when nothing is left."""
        deadline = time.monotonic() + grace_s
        asked: set[int] = set()
        pause_s = _QUICK_S
        while not self.reap():
            forced = time.monotonic() >= deadline
            for pid in self._members():
                if forced:
                    send(pid, signal.SIGKILL)
                elif pid not in asked:
                    send(pid, signal.SIGTERM)
                    asked.add(pid)
            left_s = _QUICK_S if forced else max(deadline - time.monotonic(), 0.0)
            signal.sigtimedwait([signal.SIGCHLD], min(pause_s, left_s))
            pause_s = min(pause_s * 2, _SLOW_S)

    def _members(self) -> list[int]:
        found = descendants(os.getpid())
        if not self._adopts:
            found += [pid for pid in marked(self._mark) if pid not in found]
        return found


def descendants(root: int) -> list[int]:
    """Return the pids below ``root``, parents first; zombies are left out, their children are not."""
    dead: set[int] = set()
    below = children(dead)
    found: list[int] = []
    todo = [root]
    while todo:
        next_ones = below.get(todo.pop(0), [])
        found += next_ones
        todo += next_ones
    return [pid for pid in found if pid not in dead]


def children(dead: set[int] | None = None) -> dict[int, list[int]]:
    """Return the pids of the children of each process; those of zombies are added to ``dead``."""
    found: dict[int, list[int]] = {}
    for pid in pids():
        fields = stat_fields(pid)
        if fields:
            found.setdefault(int(fields[1]), []).append(pid)
            if fields[0] == b"Z" and dead is not None:
                dead.add(pid)
    return found


def handles(pid: int, number: int) -> bool:
    """Tell whether a process has a handler of its own for a signal."""
    try:
        status = reading.read(f"/proc/{pid}/status")
    except OSError:
        return False
    mask = status.partition(b"\nSigCgt:")[2].partition(b"\n")[0].strip()
    return bool(mask) and bool(int(mask, 16) >> (number - 1) & 1)


def marked(mark: bytes) -> Iterator[int]:
    """Yield the pids of others that were started with ``mark`` (``NAME=value``) in their environment."""
    for pid in pids():
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                variables = file.read().split(b"\0")
        except OSError:  # gone, or of another user
            continue
        if mark in variables and pid != os.getpid():
            yield pid


def pids() -> Iterator[int]:
    """Yield the pids of all processes that can be seen."""
    for name in os.listdir("/proc"):
        if name.isdigit():
            yield int(name)


def stat_fields(pid: int) -> list[bytes]:
    """Return the fields of ``/proc/PID/stat`` from the third on (state, ppid, …); empty when it is gone."""
    try:
        return reading.read(f"/proc/{pid}/stat").rpartition(b") ")[2].split()
    except OSError:
        return []


def identity(pid: int) -> dict[str, object]:
    """Return what tells this process from a later one with its pid: pid, start in ticks, boot."""
    fields = stat_fields(pid)
    return {"pid": pid, "start_ticks": int(fields[19]) if fields else -1, "boot_id": boot_id()}


def is_alive(known: Mapping[str, object]) -> bool:
    """Tell whether the process with this :func:`identity` still runs; a zombie does not."""
    pid = known.get("pid")
    if type(pid) is not int or known.get("boot_id") != boot_id():
        return False
    fields = stat_fields(pid)
    return bool(fields) and int(fields[19]) == known.get("start_ticks") and fields[0] not in {b"Z", b"X"}


def send(pid: int, number: int) -> None:
    """Send a signal; a process that is gone, or not ours, is left alone."""
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        return


def hold_signals() -> None:
    """Block what :data:`SIGNALS` names, and ignore the terminal: INT and HUP are not meant for the runner."""
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    ignore_terminal()


def release_signals() -> None:
    """Let :data:`SIGNALS` do again what they do: TERM ends this process."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)


def ignore_terminal() -> None:
    """Ignore INT and HUP."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)


def on_end_of_child(call: Callable[..., object] | None) -> None:
    """Have ``call`` called whenever a child may have ended; None for nothing."""
    signal.signal(signal.SIGCHLD, call or signal.SIG_DFL)


def default_signals() -> None:
    """Deal with signals as an interpreter does that has just started, and block none."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def next_signal(seconds: float) -> int:
    """Wait for one of :data:`SIGNALS`; return its number, or 0 after ``seconds``."""
    told = signal.sigtimedwait(SIGNALS, max(seconds, 0.0))
    return int(told.si_signo) if told else 0


def spawn(argv: list[bytes], env: dict[bytes, bytes], log: int) -> int:
    """Start a command in a session of its own, in the present folder; return its pid.

    Args:
        argv: the first is a path.
        env: all of its environment.
        log: descriptor that takes stdout and stderr; stdin is empty.

    Raises:
        OSError: it cannot be executed.
    """
    return os.posix_spawn(
        argv[0],
        argv,
        env,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
            (os.POSIX_SPAWN_DUP2, log, 1),
            (os.POSIX_SPAWN_DUP2, log, 2),
        ],
        setsid=True,
        setsigmask=[],
        setsigdef=[signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGCHLD],
    )


def _become_subreaper() -> bool:
    call = c_function("prctl")
    return call is not None and bool(call(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)


def c_function(name: str) -> Callable[..., int] | None:
    """Return a function of the C library, or None where there is none; looked for once, also on behalf of forks."""
    if name not in _KNOWN:
        try:
            import ctypes

            _KNOWN[name] = getattr(ctypes.CDLL(None), name)
        except (ImportError, OSError, AttributeError):
            _KNOWN[name] = None
    call: Callable[..., int] | None = _KNOWN[name]
    return call


def boot_id() -> str:
    """Return what tells this start of the machine from others; read once."""
    if "boot_id" not in _KNOWN:
        try:
            with open("/proc/sys/kernel/random/boot_id", "rb") as file:
                _KNOWN["boot_id"] = file.read().decode().strip()
        except OSError:
            _KNOWN["boot_id"] = ""
    return str(_KNOWN["boot_id"])
