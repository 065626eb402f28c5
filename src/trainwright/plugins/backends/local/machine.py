"""What this machine has: cores, memory and GPUs, within what its cgroup allows."""

import os
from dataclasses import replace
from pathlib import Path

from trainwright.core.node import Device, Node
from trainwright.core.resources import Resources

NAME = "local"
"""Of the one node."""

_CGROUPS = Path("/sys/fs/cgroup")
_UNLIMITED = 1 << 60
"""Bytes; version 1 says "no limit" with a number near 2**63."""


def node() -> Node:
    """Return the machine, with nothing taken."""
    devices = gpus()
    total = Resources(real_cpu_milli(), real_memory_bytes(), gpu_milli=1000 * len(devices))
    return Node(NAME, total, replace(total), devices)


def real_cpu_milli(cgroups: Path = _CGROUPS, membership: str | None = None) -> int:
    """Return thousandths of a core that this process may use: its affinity, cut by the quota of its cgroups.

    Args:
        cgroups: where they are mounted.
        membership: text of ``/proc/self/cgroup``; None = read it.
    """
    limits = [len(os.sched_getaffinity(0)) * 1000]
    for folder in _folders(cgroups, "cpu", membership):
        quota, _, period = _read(folder / "cpu.max").partition(" ")
        if not quota:
            quota, period = _read(folder / "cpu.cfs_quota_us"), _read(folder / "cpu.cfs_period_us")
        if quota.isdigit() and period.isdigit() and int(period):
            limits.append(int(quota) * 1000 // int(period))
    return max(min(limits), 1)


def real_memory_bytes(cgroups: Path = _CGROUPS, membership: str | None = None) -> int:
    """Return the bytes of memory that this process may use: what is installed, cut by its cgroups."""
    limits = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    for folder in _folders(cgroups, "memory", membership):
        limit = _read(folder / "memory.max") or _read(folder / "memory.limit_in_bytes")
        if limit.isdigit() and int(limit) < _UNLIMITED:
            limits.append(int(limit))
    return min(limits)


def gpus() -> tuple[Device, ...]:
    """Return the GPUs that NVML knows and ``CUDA_VISIBLE_DEVICES`` admits; none where there is no NVML."""
    try:
        import pynvml
    except ImportError:
        return ()
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return ()
    try:
        found = []
        for index in range(pynvml.nvmlDeviceGetCount()):
            handle = pynvml.nvmlDeviceGetHandleByIndex(index)
            uuid, model = (_text(f(handle)) for f in (pynvml.nvmlDeviceGetUUID, pynvml.nvmlDeviceGetName))
            if admits(os.environ.get("CUDA_VISIBLE_DEVICES"), index, uuid):
                found.append(_device(index, model, int(pynvml.nvmlDeviceGetMemoryInfo(handle).total)))
        return tuple(found)
    except pynvml.NVMLError:
        return ()
    finally:
        pynvml.nvmlShutdown()


def admits(visible: str | None, index: int, uuid: str) -> bool:
    """Tell whether ``CUDA_VISIBLE_DEVICES`` (None = not set) lets a GPU be used; it lists indices or UUID prefixes."""
    if visible is None:
        return True
    names = [name.strip() for name in visible.split(",")]
    return any(name == str(index) or (name.startswith("GPU-") and uuid.startswith(name)) for name in names)


def _device(index: int, model: str, vram_bytes: int) -> Device:
    return Device(index, model, vram_bytes, free_vram_bytes=vram_bytes)


def _folders(cgroups: Path, controller: str, membership: str | None) -> list[Path]:
    """Return the folders of the cgroups we are in, innermost first, of version 2 and of ``controller``'s version 1."""
    if membership is None:
        membership = _read(Path("/proc/self/cgroup"))
    found: list[Path] = []
    for line in membership.splitlines():
        _, names, path = line.split(":", 2)
        if names and controller not in names.split(","):
            continue
        top = cgroups / names if names else cgroups
        for root in {top, cgroups / controller} if names else {top}:
            inner = root / path.lstrip("/")
            found += [f for f in (inner, *inner.parents) if f == root or root in f.parents]
    return found


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value
