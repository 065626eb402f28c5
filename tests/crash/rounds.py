"""One round: a project in a folder of its own, somebody dies, another engine takes over, and all must be right."""

import contextlib
import ctypes
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import scenario as scenarios
from checks import Round, supervisors, sweep, violations
from host import FREEZE_LEASE, LEASE_NOT_TAKEN, Host
from host import main as be_engine

from trainwright.runtime import tree

_PR_SET_PDEATHSIG = 1
DEADLINE_S = 60.0
_DEADLINE_OF_BUGS_S = 15.0
_PUBLISHING = 25
"""A point of a runner after its command has ended."""

_TICK_S = 0.002
_LONGEST_HUNT_S = 0.05


@dataclass(frozen=True, slots=True)
class Order:
    """What a round is to do.

    Attributes:
        kind: ``engine`` and ``freeze``: the engine dies, or stands still, at a numbered point; ``runner`` and
            ``supervisor`` likewise; ``both``: a runner in the middle, and the engine at a point after that;
            ``random``: whoever, at random instants; ``record``: nobody, points are counted.
        step: whose runner dies.
        at: number of the point, or seed.
        lasts_s: length of a calm run, for random instants.
    """

    kind: str
    scenario: str = "main"
    step: str = "-"
    at: int = 0
    bug: str = ""
    lasts_s: float = 1.0

    def __str__(self) -> str:
        return f"{self.scenario} {self.kind} {self.step} {self.at}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of a round.

    Attributes:
        met: the points at which somebody died, in words.
        took_s: until the run had ended.
        wrong: violations.
        points: (kind, step) → how many there are; of a ``record`` round.
        folder: kept when something is wrong, unless a bug was seeded.
    """

    order: Order
    met: tuple[str, ...]
    wrong: tuple[str, ...]
    took_s: float
    points: dict[tuple[str, str], int] = field(default_factory=dict)
    folder: str = ""


def leave_tidily() -> None:
    """Let TERM, Ctrl-C and the end of who started us end this worker and its round's processes."""

    def leave(*_: object) -> None:
        for played in _LIVING:
            played.sweep()
            shutil.rmtree(played.folder, ignore_errors=True)
        os._exit(1)

    signal.signal(signal.SIGTERM, leave)
    signal.signal(signal.SIGINT, leave)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)


def play(order: Order) -> Verdict:
    """Play one round and check it."""
    folder = Path(tempfile.mkdtemp(prefix="twc", dir="/tmp"))  # the path of a socket is short
    began = time.monotonic()
    wrong: list[str] = []
    played = _Played(order, folder)
    _LIVING.append(played)
    try:
        scenarios.lay_out(folder, order.scenario)
        if order.bug:
            (folder / "seeded").write_text(order.bug)
        wrong = _PLAYS[order.kind](played)
        took_s = time.monotonic() - began
        wrong += violations(Round(folder, order.scenario, played.runners_killed))
        met = _lines(folder / "met")
        return Verdict(order, (*met, *played.met), tuple(wrong), took_s, _points(folder), str(folder) if wrong else "")
    except Exception:  # noqa: BLE001 - a check that breaks is a finding too
        wrong = [*wrong, traceback.format_exc()]
        return Verdict(order, (*_lines(folder / "met"),), tuple(wrong), 0.0, folder=str(folder))
    finally:
        played.sweep()
        _LIVING.remove(played)
        if not wrong or order.bug:
            shutil.rmtree(folder, onerror=_open_up)


@dataclass
class _Played:
    """A round under way.

    Attributes:
        runners_killed: how many.
        met: who was killed at random, in words.
        hosts: pids of the engines.
    """

    order: Order
    folder: Path
    runners_killed: int = 0
    met: list[str] = field(default_factory=list)
    hosts: list[int] = field(default_factory=list)

    def start(self, **options: object) -> int:
        """Fork an engine."""
        host = replace(Host(self.folder, self.order.scenario, bug=self.order.bug), **options)  # type: ignore[arg-type]
        sys.stdout.flush()
        pid = os.fork()
        if pid == 0:
            code = 1
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            try:
                log = os.open(self.folder / "host.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
                os.dup2(log, 1)
                os.dup2(log, 2)
                code = be_engine(host)
            except BaseException:  # noqa: BLE001 - the top of this process
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(code)
        self.hosts.append(pid)
        return pid

    def sweep(self) -> None:
        """End every process of the round."""
        for pid in self.hosts:
            with contextlib.suppress(ChildProcessError):
                if not os.waitpid(pid, os.WNOHANG)[0]:
                    os.kill(pid, signal.SIGKILL)
                    os.waitpid(pid, 0)
        sweep(self.folder)


_LIVING: list[_Played] = []
"""Rounds under way in this process: one or none."""


def _record(played: _Played) -> list[str]:
    (played.folder / "record").touch()
    return _end(played.start())


def _engine(played: _Played) -> list[str]:
    first = _status(played.start(kill_at=played.order.at))
    if first == signal.SIGKILL:
        return _end(played.start(), played.order.bug)
    return _complaints(first)


def _freeze(played: _Played) -> list[str]:
    """Let an engine stand still for longer than its lease, another take over, and the first wake up."""
    frozen = played.start(freeze_at=played.order.at, short_lease=True, patient=True)
    first = _status(frozen)
    if first != signal.SIGSTOP:
        return _complaints(first)
    other = played.start(short_lease=True, patient=True)
    dice = random.Random(played.order.at)
    time.sleep(FREEZE_LEASE.total_seconds() + dice.uniform(0.0, 1.2) * played.order.lasts_s)
    os.kill(frozen, signal.SIGCONT)
    return _end(other, played.order.bug) + _end(frozen, played.order.bug)


def _runner(played: _Played) -> list[str]:
    (played.folder / "plan").write_text(f"{played.order.kind} {played.order.step} {played.order.at}")
    wrong = _end(played.start(), played.order.bug)
    if played.order.kind == "runner" and (played.folder / "plan.met").exists():
        played.runners_killed = 1
    return wrong


def _both(played: _Played) -> list[str]:
    """Kill a runner while it publishes, then the engine that has to deal with that."""
    (played.folder / "plan").write_text(f"runner {played.order.step} {_PUBLISHING}")
    played.runners_killed = 1
    first = _status(played.start(kill_at=played.order.at, heir=True))
    if first == signal.SIGKILL:
        return _end(played.start(), played.order.bug)
    return _complaints(first)


def _random(played: _Played) -> list[str]:
    """Kill one to three times, each time one or several of engine, supervisor and runner."""
    dice = random.Random(played.order.at)
    instants = sorted(dice.uniform(0.0, 1.0) * played.order.lasts_s for _ in range(dice.choice((1, 1, 2, 3))))
    began = time.monotonic()
    host = played.start()
    for instant in instants:
        victims = dice.choice(("engine", "supervisor", "runner", "engine runner", "engine supervisor", "all"))
        while time.monotonic() - began < instant:
            code = _poll(host)
            if code is not None:
                return _complaints(code)
            time.sleep(_TICK_S)
        met = []
        if victims in {"engine", "engine runner", "engine supervisor", "all"}:
            os.kill(host, signal.SIGKILL)
            code = _status(host)
            if code != signal.SIGKILL:
                return _complaints(code)
            met.append("engine")
        if victims in {"supervisor", "engine supervisor", "all"}:
            for pid in supervisors(played.folder):
                tree.send(pid, signal.SIGKILL)
                met.append("supervisor")
        if victims in {"runner", "engine runner", "all"} and played.runners_killed < 2:
            met += _kill_runner(played, dice)
        played.met.append(f"{instant:.3f} s: {', '.join(met)}")
        if "engine" in met:
            host = played.start()
    return _end(host)


def _kill_runner(played: _Played, dice: random.Random) -> list[str]:
    deadline = time.monotonic() + _LONGEST_HUNT_S
    while time.monotonic() < deadline:
        living = []
        for path in sorted(played.folder.glob("home/runs/*/*/*/runner.json")):
            try:
                known = json.loads(path.read_bytes())
            except (OSError, ValueError):
                continue
            if not path.with_name("result.json").exists() and tree.is_alive(known):
                living.append((path.parent, int(known["pid"])))
        if living:
            folder, pid = dice.choice(living)
            tree.send(pid, signal.SIGKILL)
            played.runners_killed += 1
            return [f"runner of {folder.parent.name}/{folder.name}"]
        time.sleep(_TICK_S)
    return []


def _end(pid: int, bug: str = "") -> list[str]:
    return _complaints(_status(pid, _DEADLINE_OF_BUGS_S if bug else DEADLINE_S))


def _complaints(code: int) -> list[str]:
    if code == 0:
        return []
    words = {LEASE_NOT_TAKEN: "the lease of a dead engine was not taken at once", -1: "the run did not end"}
    return [words.get(code, f"an engine ended with code {code}; see host.log")]


def _status(pid: int, limit_s: float = DEADLINE_S) -> int:
    """Wait for an engine; return its exit code, the signal that killed or stopped it, or -1 after the deadline."""
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        code = _poll(pid)
        if code is not None:
            return code
        time.sleep(_TICK_S)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return -1


def _poll(pid: int) -> int | None:
    gone, status = os.waitpid(pid, os.WNOHANG | os.WUNTRACED)
    if not gone:
        return None
    if os.WIFSTOPPED(status):
        return int(os.WSTOPSIG(status))
    return int(os.WTERMSIG(status)) if os.WIFSIGNALED(status) else int(os.WEXITSTATUS(status))


def _points(folder: Path) -> dict[tuple[str, str], int]:
    found: dict[tuple[str, str], int] = {}
    for line in _lines(folder / "points"):
        kind, step, count = line.split()
        found[kind, step] = max(int(count), found.get((kind, step), 0))
    return found


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except FileNotFoundError:
        return []


def _open_up(again: Callable[[str], object], path: str, _: object) -> None:
    """Let a read-only working copy be removed."""
    Path(path).parent.chmod(0o700)
    again(path)


_PLAYS: dict[str, Callable[[_Played], list[str]]] = {
    "record": _record,
    "engine": _engine,
    "freeze": _freeze,
    "runner": _runner,
    "supervisor": _runner,
    "both": _both,
    "random": _random,
}
