"""What an isolated, durable step costs beside the bare process it wraps.

A chain of 50 and a fan-out of 200 steps, each literally ``python -c pass``, run by ``tw run`` in the default setting:
every commit synced to disk (SQLite WAL, synchronous=FULL), a runner process per attempt, results and outputs synced.
Exit codes are read back from the store, and one output is read back through its address. Beside it, interleaved in the
same run, the same processes started bare, one after another or as many at once as there are cores.

CPU is user + system of every process of ours and theirs: this process adopts orphans (child subreaper), so engine,
supervisor, runners and commands are all reaped and counted here. ``chain_step_cpu_ratio`` leaves out what a run
costs once (a chain of 50 less a chain of 2), ``start_up_cpu_s`` is that. Prints one JSON object last.

``--function --imports pandas`` measures functions instead: steps that make a tiny table, from a warm interpreter and
from a fresh one each, and beside them bare forks of a process that has imported pandas and runs the same function.
Figures are CPU milliseconds a step; what a run costs once is left out: a chain of many steps less a chain of two. The
warm interpreter is up before, and its own time for each step is counted.
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
SHOW = [TW, "show", "-1", "--json", "--limit", "1000"]
PR_SET_CHILD_SUBREAPER = 36


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer steps and repetitions")
    parser.add_argument("--function", action="store_true", help="measure functions, warm and cold")
    parser.add_argument("--imports", default="pandas", help="modules that the functions import, with commas between")
    chosen = parser.parse_args()
    if chosen.function:
        functions(chosen.imports.split(","), *((20, 3) if chosen.quick else (50, 5)))
        return
    quick = chosen.quick
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


def functions(modules: list[str], steps: int, repeats: int) -> None:
    """Measure functions that use ``modules``, warm and cold and as bare forks, interleaved, and print."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    env = {k: v for k, v in os.environ.items() if not k.startswith("TW_") and k != "PYTHONDONTWRITEBYTECODE"}
    env["OMP_NUM_THREADS"] = "1"
    rows = []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        lives = Path(name)
        (lives / "rt").mkdir(mode=0o700)
        env |= {"TW_RUNTIME_DIR": str(lives / "rt"), "TW_MACHINE_DIR": str(lives / "m"), "TW_WARM": ",".join(modules)}
        warm_up(lives, modules, env)
        spent = {}
        for i in range(repeats):
            for way in ("warm", "cold"):
                told = env if way == "warm" else env | {"TW_WARM": "off"}
                for count in (steps, 2):
                    spent[count] = chain_of_functions(lives / f"{way}{i}-{count}", modules, told, count)
                spent[way] = (spent[steps] - spent[2]) / (steps - 2) * 1000
            forked = subprocess.run(
                [PYTHON, "-c", FORKS.format(imports=", ".join(modules), function=function_text(modules), count=steps)],
                env=env | {"ARROW_DEFAULT_MEMORY_POOL": "system"},
                capture_output=True,
                check=True,
            )
            rows.append({"warm": spent["warm"], "cold": spent["cold"], "fork": float(forked.stdout)})
        end_all()
    print(json.dumps({"rows": rows}), file=sys.stderr)
    figures = {
        "function_ms": statistics.median(r["warm"] for r in rows),
        "cold_ms": statistics.median(r["cold"] for r in rows),
        "bare_fork_ms": statistics.median(r["fork"] for r in rows),
        "function_to_bare_fork": statistics.median(r["warm"] / r["fork"] for r in rows),
    }
    print(json.dumps({"bench": "step_overhead_function", "figures": {k: round(v, 3) for k, v in figures.items()}}))


FORKS = """
import {imports}
import gc, os, resource
{function}
tiny()
gc.freeze()
def spent():
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
before = spent()
for _ in range({count}):
    pid = os.fork()
    if pid == 0:
        tiny()
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
print((spent() - before) / {count} * 1000)
"""


def function_text(modules: list[str]) -> str:
    """Return a module with the function of each step."""
    body = 'assert len(pandas.DataFrame({"a": [1, 2, 3]})) == 3' if "pandas" in modules else "pass"
    return f"import {', '.join(modules)}\ndef tiny():\n    {body}\n"


def warm_up(folder: Path, modules: list[str], env: dict) -> None:
    """Run steps until a warm interpreter listens, and the byte code is there."""
    deadline = time.monotonic() + 60
    while not list((folder / "rt").glob("warm-*.sock")):
        assert time.monotonic() < deadline, "no warm interpreter came up"
        subprocess.run([TW, "run", "pipeline.yaml"], cwd=chain_folder(folder / "up", modules, 2), env=env, check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip


def chain_folder(folder: Path, modules: list[str], steps: int) -> Path:
    """Make a project whose pipeline is a chain of so many functions."""
    folder.mkdir(exist_ok=True)
    (folder / "tiny_step.py").write_text(function_text(modules))
    lines = ["pipeline: functions", "steps:"]
    for i in range(steps):
        lines += [f"  s{i:03d}:", "    call: tiny_step:tiny", f"    warm: [{', '.join(modules)}]"]
        lines += [f"    depends_on: s{i - 1:03d}"] if i else []
    (folder / "pipeline.yaml").write_text("\n".join(lines) + "\n")
    return folder


def chain_of_functions(folder: Path, modules: list[str], env: dict, steps: int) -> float:
    """Run a chain; return the CPU seconds of all that took part, those who serve and stay included."""
    chain_folder(folder, modules, steps)
    before = cpu_s() + living_cpu_s()
    subprocess.run([TW, "run", "pipeline.yaml"], cwd=folder, env=env, check=True, capture_output=True)
    while True:  # runners and engines that are orphans by now
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            break
        if not pid and all("supervise" in of_process(p, "cmdline") for p in children(os.getpid())):
            break
        time.sleep(0.0 if pid else 0.01)
    spent = cpu_s() + living_cpu_s() - before
    shown = json.loads(subprocess.run(SHOW, cwd=folder, env=env, capture_output=True, check=True).stdout)
    assert [a["exit_code"] for a in shown["attempts"]] == [0] * steps
    return spent


def living_cpu_s() -> float:
    """Return user + system seconds of our descendants that live, and of the children that they reaped."""
    total = 0
    for pid in children(os.getpid()):
        total += sum(map(int, of_process(pid, "stat").rpartition(") ")[2].split()[11:15]))
    return total / os.sysconf("SC_CLK_TCK")


def of_process(pid: int, name: str) -> str:
    """Return a file of ``/proc/PID``; empty when the process is gone."""
    try:
        return Path(f"/proc/{pid}/{name}").read_text()
    except OSError:
        return ""


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
    shown = json.loads(subprocess.run(SHOW, cwd=folder, env=env, capture_output=True, check=True).stdout)
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
