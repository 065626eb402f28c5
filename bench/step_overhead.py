"""What an isolated, durable step costs beside the bare process it wraps.

A chain of 50 and a fan-out of 200 steps, each literally ``python -c pass``, run by ``tw run`` in the default setting:
every commit synced to disk (SQLite WAL, synchronous=FULL), a runner process per attempt, results and outputs synced.
Exit codes are read back from the store, and one output is read back through its address. Beside it, interleaved in the
same run, the same processes started bare, one after another or as many at once as there are cores.

CPU is user + system of every process of ours and theirs: this process adopts orphans (child subreaper), so engine,
supervisor, runners and commands are all reaped and counted here. ``chain_step_cpu_ratio`` leaves out what a run
costs once (a chain of 50 less a chain of 2), ``start_up_cpu_s`` is that. Prints one JSON object last.
"""

import argparse
import ctypes
import json
import os
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PYTHON = sys.executable
TW = str(Path(PYTHON).parent / "tw")
PR_SET_CHILD_SUBREAPER = 36


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer steps and repetitions")
    quick = parser.parse_args().quick
    chain, fan_out, repeats = (20, 60, 1) if quick else (50, 200, 3)
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    env = {k: v for k, v in os.environ.items() if not k.startswith("TW_") and k != "PYTHONDONTWRITEBYTECODE"}
    rows = []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        warm = Path(name) / "warm"
        ours(warm, pipeline(2, chained=True), env, 2)  # byte code, bundle
        for i in range(repeats):
            rows.append(
                {
                    "chain": ours(Path(name) / f"c{i}", pipeline(chain, chained=True), env, chain),
                    "short": ours(Path(name) / f"s{i}", pipeline(2, chained=True), env, 2),
                    "bare_chain": bare(chain, 1),
                    "fan_out": ours(Path(name) / f"f{i}", pipeline(fan_out, chained=False), env, fan_out),
                    "bare_fan_out": bare(fan_out, os.cpu_count() or 1),
                }
            )
        idle_mb = idle_memory_mb(Path(name) / "idle", env)
    print(json.dumps({"rows": rows}), file=sys.stderr)
    figures = {
        "chain_cpu_ratio": middle(rows, "chain", "bare_chain", "cpu_s"),
        "fan_out_cpu_ratio": middle(rows, "fan_out", "bare_fan_out", "cpu_s"),
        "chain_wall_ratio": middle(rows, "chain", "bare_chain", "wall_s"),
        "fan_out_wall_ratio": middle(rows, "fan_out", "bare_fan_out", "wall_s"),
        "chain_step_cpu_ratio": statistics.median(
            (r["chain"]["cpu_s"] - r["short"]["cpu_s"]) / (r["bare_chain"]["cpu_s"] * (chain - 2) / chain) for r in rows
        ),
        "start_up_cpu_s": statistics.median(r["short"]["cpu_s"] - 3 * r["bare_chain"]["cpu_s"] / chain for r in rows),
        "bare_process_cpu_ms": statistics.median(r["bare_chain"]["cpu_s"] for r in rows) / chain * 1000,
        "idle_memory_mb": idle_mb,
    }
    print(json.dumps({"bench": "step_overhead", "figures": {k: round(v, 3) for k, v in figures.items()}}))


def middle(rows: list, ours_: str, floor: str, key: str) -> float:
    """Return the median ratio of ours to the floor beside it."""
    return statistics.median(r[ours_][key] / r[floor][key] for r in rows)


def pipeline(steps: int, *, chained: bool) -> str:
    """Return a pipeline of so many steps; the last also writes an output, so that one is read back."""
    lines = ["pipeline: overhead", "steps:"]
    for i in range(steps):
        lines += [f"  s{i:03d}:", f"    run: ['{PYTHON}', -c, pass]", "    resources: {cpu: 1}"]
        lines += [f"    depends_on: s{i - 1:03d}"] if chained and i else []
    lines += ["  proof:", "    run: echo done > ${{ out.text }}", "    out: {text: file}"]
    lines += [f"    depends_on: s{steps - 1:03d}"]
    return "\n".join(lines) + "\n"


def ours(folder: Path, text: str, env: dict, steps: int) -> dict:
    """Run the pipeline; return wall and CPU seconds of all that took part, after checking the result."""
    folder.mkdir()
    (folder / "pipeline.yaml").write_text(text)
    env = env | {"TW_HOME": str(folder / "home"), "TW_RUNTIME_DIR": f"{folder}-rt", "TW_MACHINE_DIR": f"{folder}-m"}
    before, began = cpu_s(), time.perf_counter()
    subprocess.run(
        [TW, "run", "pipeline.yaml"],
        cwd=folder,
        env=env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
    )
    wall = time.perf_counter() - began
    end_all()
    spent = cpu_s() - before
    shown = json.loads(
        subprocess.run([TW, "show", "-1", "--json"], cwd=folder, env=env, capture_output=True, check=True).stdout
    )
    codes = [a["exit_code"] for a in shown["attempts"]]
    assert codes == [0] * (steps + 1), codes
    made = shown["outputs"][0]
    blob = next(
        p for p in (folder / "home" / "content" / "blobs").rglob("*") if p.is_file() and p.read_bytes() == b"done\n"
    )
    assert made["name"] == "text", blob
    end_all()
    return {"wall_s": wall, "cpu_s": spent}


def bare(count: int, at_once: int) -> dict:
    """Start the same processes bare."""
    before, began = cpu_s(), time.perf_counter()
    running: list[int] = []
    for _ in range(count):
        if len(running) == at_once:
            pid, status = os.wait()
            assert status == 0
            running.remove(pid)
        running.append(os.posix_spawn(PYTHON, [PYTHON, "-c", "pass"], os.environ))
    for _ in running:
        os.wait()
    return {"wall_s": time.perf_counter() - began, "cpu_s": cpu_s() - before}


def idle_memory_mb(folder: Path, env: dict) -> float:
    """Return the resident memory, in MB, of everything that stays while one step sleeps in a detached run."""
    folder.mkdir()
    (folder / "pipeline.yaml").write_text("pipeline: idle\nsteps:\n  sleep:\n    run: exec sleep 60\n")
    env = env | {"TW_HOME": str(folder / "home"), "TW_RUNTIME_DIR": f"{folder}-rt", "TW_MACHINE_DIR": f"{folder}-m"}
    subprocess.run([TW, "run", "-d", "pipeline.yaml"], cwd=folder, env=env, capture_output=True, check=True)
    time.sleep(3)
    total = 0.0
    for pid in children(os.getpid()):
        try:
            if b"sleep\x0060" not in Path(f"/proc/{pid}/cmdline").read_bytes():
                total += pss_kb(pid) / 1000
        except OSError:
            continue  # gone, or a zombie
    end_all()
    return total


def pss_kb(pid: int) -> int:
    """Return the proportional resident size of a process: pages shared by two count half for each."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return int(next(line.split()[1] for line in text.splitlines() if line.startswith("Pss:")))


def cpu_s() -> float:
    """Return user + system seconds of all children reaped so far."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def children(root: int) -> list[int]:
    """Return every descendant."""
    parents = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                parents[int(entry)] = int(Path(f"/proc/{entry}/stat").read_text().rpartition(") ")[2].split()[1])
            except OSError:
                continue
    found: list[int] = []
    todo = [root]
    while todo:
        above = todo.pop()
        below = [pid for pid, parent in parents.items() if parent == above]
        found += below
        todo += below
    return found


def end_all() -> None:
    """End and reap whatever is left, so that it is counted."""
    deadline = time.monotonic() + 10
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid:
            continue
        for left in children(os.getpid()):
            try:
                os.kill(left, signal.SIGTERM if time.monotonic() < deadline - 5 else signal.SIGKILL)
            except ProcessLookupError:
                continue
        time.sleep(0.02)


if __name__ == "__main__":
    main()
