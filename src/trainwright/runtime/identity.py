"""Who a process is, in one text that no later process has: machine, boot, pid and when it began."""

from __future__ import annotations

import os

from trainwright.runtime import tree


def of_process(pid: int) -> str:
    """Return the text of a process of this machine."""
    return f"{os.uname().nodename}:{_boot()}:{pid}:{_began(pid)}"


def is_gone(identity: str) -> bool:
    """Tell whether the process is known to be dead: it was on this machine, and is not any more."""
    host, boot, pid, ticks = identity.rsplit(":", 3)
    if host != os.uname().nodename:
        return False
    return boot != _boot() or _began(int(pid)) != ticks


def _boot() -> str:
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return "unknown"


def _began(pid: int) -> str:
    """Return when a process began, in ticks since the start of the machine; ``gone`` for none and for a zombie."""
    fields = tree.stat_fields(pid)
    return fields[19].decode() if fields and fields[0] not in {b"Z", b"X"} else "gone"
