"""Capture the machine: what its nodes offer, the system and the processor."""

import os
from pathlib import Path

from trainwright.core.fingerprint import Hardware
from trainwright.core.node import Node

_CPUINFO = Path("/proc/cpuinfo")
_FIRST_CPU_BYTES = 4096
"""Holds the first processor; the kernel writes the rest only when it is read, which takes long with many cores."""


def capture_hardware(nodes: tuple[Node, ...], cpuinfo: Path = _CPUINFO) -> Hardware:
    """Return the hardware that runs, summed over ``nodes``; under 1 ms.

    Args:
        nodes: what may be used, GPUs in the order of nodes and devices; with none, the whole machine counts.
        cpuinfo: where Linux describes the processor.
    """
    names = os.uname()
    if nodes:
        # Half a core is a core to whoever counts threads.
        cores = sum(-(-node.total.cpu_milli // 1000) for node in nodes)
        memory_bytes = sum(node.total.memory_bytes for node in nodes)
    else:
        cores = os.cpu_count() or 1
        memory_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return Hardware(
        system=names.sysname,
        machine=names.machine,
        cpu=_cpu_model(cpuinfo) or names.machine,
        cores=cores,
        memory_bytes=memory_bytes,
        gpus=tuple(device.model for node in nodes for device in node.devices),
    )


def _cpu_model(cpuinfo: Path) -> str:
    """Return the processor's name; empty where the system does not tell, as on most ARM machines."""
    try:
        with cpuinfo.open("rb", buffering=0) as file:
            text = file.read(_FIRST_CPU_BYTES) or b""
    except OSError:
        return ""
    for line in text.decode(errors="replace").splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "model name":
            return " ".join(value.split())
    return ""
