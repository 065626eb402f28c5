"""What an attempt may take: memory by a cgroup where one can be made, else by a watchdog that is soft; cpu by shares.

cgroup v1 and v2 differ only in file names and in where a group may be made; ``Layout`` says how. The runner steps into
the group, starts the command, and steps out again: so the command is inside from its first instruction, and the runner,
which has to tell how it ended, is not.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MOUNT = "/sys/fs/cgroup"
WATCH_S = 0.5
"""How often the watchdog looks: a process that grows faster than memory per half second escapes it for that long."""


class Layout:
    """How one version of cgroups names things.

    Attributes:
        version: 1 or 2.
        home: group this process is in; a v2 group that passes controllers on cannot hold it.
        memory: folder below which memory groups can be made.
        cpu: the same for cpu; None when there is no such controller.
    """

    __slots__ = ("cpu", "home", "memory", "version")

    def __init__(self, version: int, home: str, memory: str, cpu: str | None) -> None:
        self.version = version
        self.home = home
        self.memory = memory
        self.cpu = cpu


class Limits:
    """The limits of one attempt, from before the command starts until no process of it is left.

    Attributes:
        kind: ``cgroup-v1``, ``cgroup-v2``, ``watchdog`` (soft: looked at twice a second) or ``none``.
    """

    def __init__(self, resources: dict[str, Any], layout: Layout | None, name: str) -> None:
        self._memory_bytes: int = resources["memory_bytes"]
        self._groups: list[str] = []
        self._layout = layout
        self.kind = "watchdog" if self._memory_bytes else "none"
        if layout is not None and self._memory_bytes and self._make(layout, name, resources["cpu_milli"]):
            self.kind = f"cgroup-v{layout.version}"

    def enter(self) -> None:
        """Put this very process into the groups, so that what it starts is born there."""
        try:
            for group in self._groups:
                _write(os.path.join(group, "cgroup.procs"), str(os.getpid()))
        except OSError:
            self.leave()
            self.close()
            self.kind = "watchdog"

    def leave(self) -> None:
        """Take this process out again, to where it was."""
        if self._layout is not None:
            for group in self._groups:
                above = self._layout.home if self._layout.version == 2 else os.path.dirname(group)  # noqa: PLR2004
                _try_write(os.path.join(above, "cgroup.procs"), str(os.getpid()))

    def exceeded(self, pids: list[int]) -> bool:
        """Tell whether the watchdog sees these processes above the limit; always False with a cgroup."""
        return self.kind == "watchdog" and resident_bytes(pids) > self._memory_bytes

    def oom_killed(self) -> bool:
        """Tell whether the kernel killed a process of the attempt for memory."""
        if not self._groups or self._layout is None:
            return False
        name = "memory.oom_control" if self._layout.version == 1 else "memory.events"
        counters = dict(line.split(" ", 1) for line in _read(self._groups[0], name).splitlines() if " " in line)
        return int(counters.get("oom_kill", "0")) > 0

    def peak_bytes(self) -> int:
        """Return the most memory the attempt had at once; 0 without a cgroup."""
        if not self._groups or self._layout is None:
            return 0
        text = _read(self._groups[0], "memory.max_usage_in_bytes" if self._layout.version == 1 else "memory.peak")
        return int(text) if text.strip().isdigit() else 0

    def close(self) -> None:
        """Remove the groups; harmless to repeat."""
        for group in self._groups:
            _remove(group)
        self._groups = []

    def _make(self, layout: Layout, name: str, cpu_milli: int) -> bool:
        """Make the groups and set them; tell whether memory is held."""
        group = os.path.join(layout.memory, name)
        limit = "memory.limit_in_bytes" if layout.version == 1 else "memory.max"
        try:
            os.mkdir(group)
            self._groups.append(group)
            _write(os.path.join(group, limit), str(self._memory_bytes))
        except OSError:
            self.close()
            return False
        if layout.version == 1 and layout.cpu:
            self._share(os.path.join(layout.cpu, name), "cpu.shares", max(2, cpu_milli * 1024 // 1000))
        elif layout.cpu:
            _try_write(os.path.join(group, "cpu.weight"), str(min(10_000, max(1, cpu_milli // 10))))
        return True

    def _share(self, group: str, name: str, value: int) -> None:
        """Make a cpu group; without one the attempt merely competes as an equal."""
        try:
            os.mkdir(group)
        except OSError:
            return
        self._groups.append(group)
        _try_write(os.path.join(group, name), str(value))


def find_layout(mount: str = MOUNT, membership: str | None = None) -> Layout | None:
    """Return where groups can be made on this machine, or None.

    Args:
        mount: of the cgroup file systems.
        membership: text of ``/proc/self/cgroup``; read when None.
    """
    text = membership if membership is not None else _read("/proc/self", "cgroup")
    own = {}
    for line in text.splitlines():
        _, controllers, path = line.split(":", 2)
        for controller in controllers.split(","):
            own[controller] = path.lstrip("/")
    memory = os.path.join(mount, "memory", own.get("memory", ""))
    if "memory" in own and os.access(memory, os.W_OK):
        cpu = os.path.join(mount, "cpu", own.get("cpu", ""))
        return Layout(1, memory, memory, cpu if "cpu" in own and os.access(cpu, os.W_OK) else None)
    return _find_second(mount, own.get("", ""))


def raise_open_files() -> None:
    """Allow as many open files as we may: the customary 1024 are few for loaders of data with many workers."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == hard:
        return
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (OSError, ValueError):  # unlimited is more than the kernel gives
        return


def resident_bytes(pids: list[int]) -> int:
    """Return the resident memory of these processes together; shared pages count for each."""
    page = os.sysconf("SC_PAGE_SIZE")
    total = 0
    for pid in pids:
        fields = _read(f"/proc/{pid}", "statm").split()
        total += int(fields[1]) * page if len(fields) > 1 else 0
    return total


def _find_second(mount: str, path: str) -> Layout | None:
    """Look for a v2 group that passes the memory controller on: our own, or the one above it.

    A group with processes in it cannot have children with controllers, unless it is the root; so mostly the one above.
    """
    for candidate in (path, os.path.dirname(path)):
        folder = os.path.join(mount, candidate) if candidate else mount
        if not os.access(os.path.join(folder, "cgroup.subtree_control"), os.W_OK):
            continue
        if "memory" not in _read(folder, "cgroup.subtree_control").split():
            _try_write(os.path.join(folder, "cgroup.subtree_control"), "+memory +cpu")
        passed_on = _read(folder, "cgroup.subtree_control").split()
        if "memory" in passed_on:
            return Layout(2, os.path.join(mount, path), folder, folder if "cpu" in passed_on else None)
    return None


def _remove(group: str) -> None:
    try:
        os.rmdir(group)
    except OSError:  # it still holds a process that is stuck: it goes with the next boot
        return


def _write(path: str, text: str) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)


def _try_write(path: str, text: str) -> None:
    try:
        _write(path, text)
    except OSError:
        return


def _read(folder: str, name: str) -> str:
    try:
        with open(os.path.join(folder, name), "rb") as file:
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""
