"""What the acceptance tests type with: real ``tw`` processes in a folder of their own."""

import atexit
import contextlib
import difflib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import psutil

GOLDEN = Path(__file__).parent / "golden"
ACCEPT = bool(os.environ.get("TW_ACCEPT"))
PATIENCE_S = 60.0
ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")

_OURS = ("TW_", "PYTEST", "GIT_", "COLUMNS", "NO_COLOR", "FORCE_COLOR")


@cache
def runtime_folder() -> str:
    """Return where the supervisor of this test process listens; it is ended with us."""
    folder = tempfile.mkdtemp(prefix="tw-")
    atexit.register(_end_supervisors, folder)
    return folder


def _end_supervisors(folder: str) -> None:
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if any(word.startswith(folder + "/") for word in process.cmdline()):
                process.kill()
    shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True)
class Said:
    """What a command answered."""

    args: tuple[str, ...]
    code: int
    out: str
    err: str

    @property
    def json(self):
        return strict_json(self.out)

    def __str__(self):
        return f"tw {' '.join(self.args)}\nexit code {self.code}\n--- out\n{self.out}--- err\n{self.err}"


class Shell:
    """A person at a prompt in ``folder``; at the end nothing of what was started there is left."""

    def __init__(self, folder: Path, **environ: str):
        self.folder = folder
        bin_ = str(Path(sys.executable).parent)
        clean = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
        self.environ = {
            **clean,
            "PATH": f"{bin_}:{os.environ['PATH']}",
            "TERM": "dumb",
            "TW_ACTOR": "ada",
            "TW_MACHINE_DIR": f"{folder}-machine",  # other tests do not take this one's room
            "TW_RUNTIME_DIR": runtime_folder(),
            **environ,
        }
        folder.mkdir(parents=True, exist_ok=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes():
            with contextlib.suppress(psutil.Error):
                process.kill()

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return path

    def run(self, *args: str, cwd: Path | None = None, code: int | None = None, **environ: str) -> Said:
        """Run ``tw`` to its end; with ``code`` insist on that exit code."""
        done = subprocess.run(
            ("tw", *args),
            check=False,
            cwd=cwd or self.folder,
            env=self.environ | environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=2 * PATIENCE_S,
        )
        said = Said(args, done.returncode, done.stdout.decode(), done.stderr.decode())
        assert code in {None, said.code}, said
        assert "Traceback" not in said.err, said
        return said

    def start(self, *args: str, **environ: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            ("tw", *args),
            cwd=self.folder,
            env=self.environ | environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def shell(self, script: str, **environ: str) -> subprocess.CompletedProcess[str]:
        """Run a bash script in the folder."""
        return subprocess.run(
            ("bash", "-c", script),
            check=False,
            cwd=self.folder,
            env=self.environ | environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=2 * PATIENCE_S,
        )

    def step(self, run: dict, name: str) -> dict:
        return next(s for s in run["steps"] if s["name"] == name)

    def attempts(self, run: dict, name: str) -> list[dict]:
        return [a for a in run["attempts"] if a["step"] == name]

    def show(self, run: str = "-1") -> dict:
        return self.run("show", run, "--json", code=0).json

    def processes(self) -> list[psutil.Process]:
        """Return every process that was started in this folder or works for its project."""
        mine = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if process.pid != os.getpid() and process.status() != psutil.STATUS_ZOMBIE and self._is_ours(process):
                    mine.append(process)
        return mine

    def _is_ours(self, process: psutil.Process) -> bool:
        here = str(self.folder)
        cwd = process.cwd()
        if "supervise" in process.cmdline():
            return False
        return cwd == here or cwd.startswith(here + "/") or here in process.environ().get("TW_ATTEMPT_DIR", "")


def until(holds, what: str, patience_s: float = PATIENCE_S):
    """Return what ``holds`` gives once it is true; fail when it stays false."""
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline:
        found = holds()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError(f"never came true: {what}")


def ended(process: subprocess.Popen[str]) -> Said:
    """Wait for a command that was started."""
    try:
        out, err = process.communicate(timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        raise
    return Said(tuple(map(str, process.args[1:])), process.returncode, out, err)  # type: ignore[index]


def strict_json(text: str):
    """Parse JSON as a browser does: no NaN, no Infinity, no key twice."""

    def refuse(word):
        raise ValueError(f"{word} is not JSON")

    def once(pairs):
        assert len({key for key, _ in pairs}) == len(pairs), pairs
        return dict(pairs)

    return json.loads(text, parse_constant=refuse, object_pairs_hook=once)


def golden(name: str, text: str) -> None:
    """Compare with the kept text; TW_ACCEPT=1 keeps the present one."""
    path = GOLDEN / f"{name}.txt"
    if ACCEPT:
        GOLDEN.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return
    kept = path.read_text(encoding="utf-8") if path.exists() else ""
    change = "\n".join(difflib.unified_diff(kept.splitlines(), text.splitlines(), str(path), "now", lineterm=""))
    assert kept == text, f"{change}\nif this is meant: TW_ACCEPT=1 pytest tests/acceptance"


def steady(text: str, folder: Path) -> str:
    """Replace what differs between two equal runs: folders, ids, times, lengths."""
    text = text.replace(str(folder), "HERE")
    text = re.sub(r"(?<=[(/ ])r[a-z0-9]{9}(?=[)/]|$)", "RUN", text, flags=re.MULTILINE)
    text = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+(\+00:00|Z)", "WHEN", text)
    text = re.sub(r" #\d+ ", " #N ", text)
    return re.sub(r"\b(after|in) [\d.hms]+s\b", r"\1 LONG", text)
