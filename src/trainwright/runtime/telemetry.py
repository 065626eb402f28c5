"""What an attempt uses while it runs: cpu, memory and GPU, one line every few seconds in ``usage.jsonl``.

Short attempts leave no line: their totals are in the result. NVML is called through its C interface, so that no
package is needed in the runner's place; without the library or a GPU the fields are left out.
"""

from __future__ import annotations

import os
import time

from trainwright.runtime import limits, plainjson, tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ctypes
    from typing import Any

FILE = "usage.jsonl"
FIRST_S, EVERY_S = 1.0, 5.0
"""When the first sample is taken, and how far apart the others are."""


class Sampler:
    """Takes samples of the processes below this one.

    Attributes:
        peak_bytes: largest resident memory seen.
    """

    def __init__(self, folder: str, devices: list[int]) -> None:
        self._path = os.path.join(folder, FILE)
        self._devices = devices
        self._nvml: Nvml | None = None
        self._due = time.monotonic() + FIRST_S
        self._before: tuple[float, float] | None = None
        self.peak_bytes = 0

    def sample(self, now: float) -> None:
        """Take a sample when one is due.

        Args:
            now: of ``time.monotonic``.
        """
        if now < self._due:
            return
        self._due = now + EVERY_S
        pids = tree.descendants(os.getpid())
        resident = limits.resident_bytes(pids)
        self.peak_bytes = max(self.peak_bytes, resident)
        line: dict[str, Any] = {"t": round(time.time(), 3), "memory_bytes": resident, "processes": len(pids)}
        used_s = cpu_seconds(pids)
        if self._before is not None and now > self._before[0]:
            line["cpu"] = round(max(0.0, used_s - self._before[1]) / (now - self._before[0]), 3)
        self._before = (now, used_s)
        if self._devices:
            self._nvml = self._nvml or Nvml()
            line["gpus"] = [self._nvml.usage(index) for index in self._devices]
        self._append(plainjson.dumps(line) + "\n")

    def _append(self, line: str) -> None:
        """Write a line; on a full disk it is lost, and the attempt is not."""
        try:
            fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        except OSError:
            return
        try:
            os.write(fd, line.encode())
        except OSError:
            return
        finally:
            os.close(fd)


class Nvml:
    """The few calls of NVIDIA's management library that are needed."""

    def __init__(self) -> None:
        self._library: ctypes.CDLL | None = None
        try:
            import ctypes as c

            library = c.CDLL("libnvidia-ml.so.1")
            if library.nvmlInit_v2() == 0:
                self._library = library
        except OSError:
            return

    def usage(self, index: int) -> dict[str, int]:
        """Return utilisation (per cent) and memory in use (bytes) of a device; empty when it cannot be told."""
        if self._library is None:
            return {}
        import ctypes as c

        handle = c.c_void_p()
        if self._library.nvmlDeviceGetHandleByIndex_v2(c.c_uint(index), c.byref(handle)) != 0:
            return {}
        rates = (c.c_uint * 2)()  # nvmlUtilization_t: gpu, memory
        memory = (c.c_ulonglong * 3)()  # nvmlMemory_t: total, free, used
        found: dict[str, int] = {}
        if self._library.nvmlDeviceGetUtilizationRates(handle, c.byref(rates)) == 0:
            found["utilisation_percent"] = int(rates[0])
        if self._library.nvmlDeviceGetMemoryInfo(handle, c.byref(memory)) == 0:
            found["memory_bytes"] = int(memory[2])
        return found


def cpu_seconds(pids: list[int]) -> float:
    """Return user and system time of these processes, with the children they have reaped."""
    ticks = 0
    for pid in pids:
        fields = tree.stat_fields(pid)
        ticks += sum(int(value) for value in fields[11:15])
    return ticks / os.sysconf("SC_CLK_TCK")
