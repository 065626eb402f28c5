"""What this machine lets us do, each finding with its fix."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from trainwright.core.quantity import show_bytes, show_milli
from trainwright.service.context import Context
from trainwright.store.database import health

LOW_SPACE_BYTES = 2 * 2**30
"""Below this the next checkpoint or dataset may not fit."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        needed: whether trainwright cannot work without it.
        remedy: what to do when it is not ok.
    """

    subject: str
    ok: bool
    words: str
    remedy: str = ""
    needed: bool = True


def examine(context: Context, home: Path) -> list[Finding]:
    """Return every finding, in a fixed order."""
    return [
        Finding("python", ok=True, words=f"{sys.version.split()[0]} at {sys.executable}"),
        *_programs(),
        *_state(home),
        *_machine(context),
        *_database(context),
    ]


def _programs() -> list[Finding]:
    bash = shutil.which("bash")
    git = shutil.which("git")
    version = subprocess.run([git, "--version"], capture_output=True, text=True, check=False).stdout if git else ""  # noqa: S603
    return [
        Finding("shell", bash is not None, bash or "no bash: run: texts use /bin/sh", "install bash", needed=False),
        Finding(
            "git",
            git is not None,
            version.strip().removeprefix("git version ") or "not found: fingerprints have no commit",
            "install git",
            needed=False,
        ),
    ]


def _state(home: Path) -> list[Finding]:
    free = shutil.disk_usage(home).free
    return [
        Finding("state", os.access(home, os.W_OK), str(home), "set TW_HOME to a folder that you may write"),
        Finding(
            "disk",
            free >= LOW_SPACE_BYTES,
            f"{show_bytes(free)} free",
            "free space, or set TW_HOME to another disk",
            needed=False,
        ),
    ]


def _machine(context: Context) -> list[Finding]:
    findings: list[Finding] = []
    for node in context.backend.nodes():
        total = node.total
        words = f"{show_milli(total.cpu_milli)} cores, {show_bytes(total.memory_bytes)} memory"
        findings.append(Finding("machine", total.cpu_milli > 0, words, "give this process at least one core"))
        gpus = ", ".join(f"{d.index}: {d.model} {show_bytes(d.vram_bytes)}" for d in node.devices)
        findings.append(
            Finding(
                "gpu",
                bool(node.devices),
                gpus or "none found through NVML",
                "with an NVIDIA GPU: pip install 'trainwright[gpu]'; without one nothing is wrong",
                needed=False,
            )
        )
    return findings


def _database(context: Context) -> list[Finding]:
    with context.database.reading() as rows:
        words, count = health(rows)
    return [
        Finding("database", words == "ok", f"{words}, {count} runs", f"restore a backup of {context.database.path}")
    ]
