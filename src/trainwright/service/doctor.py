"""What this machine lets us do, each finding with its fix."""

import os
import resource
import shutil
import stat
import subprocess
import sys
from pathlib import Path

from trainwright.core.errors import BackendError, Problem
from trainwright.core.quantity import show_bytes, show_milli
from trainwright.runtime.limits import find_layout
from trainwright.runtime.supervisor import is_listening
from trainwright.runtime.warm import REFUSED_S, refusal_of, socket_name
from trainwright.service.context import Context
from trainwright.service.devices import inventory_words
from trainwright.service.finding import Finding
from trainwright.service.repair import look_over
from trainwright.store.backup import back_up, how_to_restore
from trainwright.store.database import health

LOW_SPACE_BYTES = 2 * 2**30
"""Below this the next checkpoint or dataset may not fit."""


FEW_NODES = 4
"""More are not told one by one: tw gpu does."""

ENOUGH_FILES = 4096
"""Open files: a loader of data with eight workers and some shards each comes near 1024."""


def examine(
    context: Context, home: Path, sockets: Path, *, deep: bool, repair: bool, inventory: tuple[str, str] | None = None
) -> list[Finding]:
    """Return every finding, in a fixed order.

    Args:
        context: of the project.
        home: the state folder.
        sockets: folder in which the supervisor listens, when it is private.
        deep: hash all stored content.
        repair: mend what can be mended.
        inventory: file of the pretended nodes, and its flaw; None when they are real.

    Raises:
        BackendError: something cannot be mended.
    """
    database = _database(context)
    findings = [
        Finding("python", ok=True, words=f"{sys.version.split()[0]} at {sys.executable}"),
        *_programs(),
        *_state(home),
        *_machine(context, inventory),
        _memory_limit(),
        _open_files(),
        _supervisor(sockets),
        _warm(sockets, context.clock.now().timestamp()),
        database,
    ]
    if not database.ok:  # who needs what cannot be told without it
        return findings
    return [*findings, *look_over(context, deep=deep, repair=repair)]


def without_database(problem: Problem) -> list[Finding]:
    """Return the finding when the database cannot even be opened; the rest cannot be told without it."""
    return [Finding("database", ok=False, words=problem.message, remedy=how_to_restore(Path(problem.where)))]


def save_database(context: Context, target: Path) -> int:
    """Write a consistent copy of the database to the new file ``target``; return its bytes.

    Raises:
        ConflictError: ``target`` exists.
        BackendError: it cannot be written.
    """
    return back_up(context.database.path, target)


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


def _machine(context: Context, inventory: tuple[str, str] | None) -> list[Finding]:
    findings: list[Finding] = []
    nodes = context.backend.nodes()
    if inventory is not None:
        path, flaw = inventory
        words = f"pretended: {inventory_words(nodes)} ({path})" + (f"; {flaw}" if flaw else "")
        remedy = "mend the file; until then what it said before counts"
        findings.append(Finding("inventory", not flaw, words, remedy, needed=False))
    for node in nodes[:FEW_NODES]:
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
        held = ", ".join(node.foreign) or "nobody but this project"
        findings.append(Finding("held by", ok=True, words=held))
    return findings


def _memory_limit() -> Finding:
    layout = find_layout()
    if layout is not None:
        return Finding("memory limit", ok=True, words=f"held by cgroup v{layout.version} below {layout.memory}")
    return Finding(
        "memory limit",
        ok=False,
        words="no cgroup can be made: a watchdog looks twice a second, and a fast one escapes it for that long",
        remedy="run as a user whose cgroup is delegated: systemd-run --user --scope -p Delegate=yes bash",
        needed=False,
    )


def _open_files() -> Finding:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    unlimited = resource.RLIM_INFINITY
    most = "unlimited" if hard == unlimited else str(hard)
    return Finding(
        "open files",
        ok=soft == unlimited or soft >= ENOUGH_FILES,
        words=f"{'unlimited' if soft == unlimited else soft} here, {most} for the commands of steps",
        remedy=f"ulimit -n {most}",
        needed=False,
    )


def _supervisor(sockets: Path) -> Finding:
    facts = sockets.lstat() if sockets.exists() else None
    if facts is None or facts.st_uid != os.getuid() or stat.S_IMODE(facts.st_mode) & 0o077:
        return Finding(
            "supervisor",
            ok=False,
            words="has no private folder to listen in: every step starts an interpreter of its own",
            remedy="set TW_RUNTIME_DIR to a folder of yours with mode 700",
            needed=False,
        )
    listening = any(is_listening(str(path)) for path in sorted(sockets.glob("*.sock")))
    return Finding("supervisor", ok=True, words="listening" if listening else "not running; the next step starts it")


def _warm(sockets: Path, now_s: float) -> Finding:
    """Tell which interpreters have modules ready for functions, and which cannot be forked."""
    said = sorted(sockets.glob(refusal_of("*.sock")))
    try:
        refusals = [p.read_text(encoding="utf-8") for p in said if now_s - p.stat().st_mtime < REFUSED_S]
    except OSError:
        refusals = []
    if refusals:
        remedy = "leave the package out of warm:, or ask for one core, so that it starts no threads"
        return Finding("warm", ok=False, words="; ".join(refusals), remedy=remedy, needed=False)
    ready = sum(is_listening(str(path)) for path in sockets.glob(socket_name("*")))
    words = f"{ready} with their imports done" if ready else "none; the first step with warm: starts one"
    return Finding("warm", ok=True, words=words)


def _database(context: Context) -> Finding:
    path = context.database.path
    try:
        with context.database.reading() as rows:
            words, count = health(rows)
    except BackendError as error:
        return Finding("database", ok=False, words=error.problem.message, remedy=how_to_restore(path))
    return Finding("database", ok=words == "ok", words=f"{words}, {count} runs", remedy=how_to_restore(path))
