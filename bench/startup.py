"""How long it takes to begin: `tw --help`, `import trainwright`, and from `tw run` to the start of the first step.

Prints one JSON object last. CPU seconds are user + system of the process and its children; each figure is the median.
The first-step figure has the wall time from before `tw run` is spawned to a time stamp that the step itself writes;
beside it stands `bare_python_s`, an interpreter that starts and writes the same stamp: the floor.
"""

import argparse
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

PIPELINE = """\
pipeline: stamp
params: {n: 0}
steps:
  first:
    run: python stamp.py ${{ out.stamp }} ${{ params.n }}
    out: {stamp: file}
"""
STAMP = "import sys, time; open(sys.argv[1], 'w').write(repr(time.time()))\n"
TW = str(Path(sys.executable).parent / "tw")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    repeats = 3 if parser.parse_args().quick else 11
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "project"
        folder.mkdir()
        (folder / "pipeline.yaml").write_text(PIPELINE)
        (folder / "stamp.py").write_text(STAMP)
        env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        env |= {"TW_HOME": f"{name}/home", "TW_RUNTIME_DIR": f"{name}/rt", "TW_MACHINE_DIR": f"{name}/machine"}
        first_step(folder, env, 0)  # byte-compiles and makes the state folder
        figures = {
            "help_cpu_s": median(lambda _: cpu_s([TW, "--help"], env), repeats),
            "import_ms": median(lambda _: import_ms(env), repeats),
            "bare_python_s": median(lambda _: bare_python(folder, env), repeats),
            "first_step_s": median(lambda i: first_step(folder, env, i), repeats),
            "first_step_new_project_s": median(lambda i: first_step(folder, env | {"TW_HOME": f"{name}/h{i}"}, i), 3),
        }
        end_all(name)
    print(json.dumps({"bench": "startup", "figures": {k: round(v, 4) for k, v in figures.items()}}))


def median(measure, repeats: int) -> float:
    """Return the median of so many measurements."""
    return statistics.median(measure(i) for i in range(1, repeats + 1))


def cpu_s(command: list[str], env: dict[str, str]) -> float:
    """Return the CPU seconds of one finished command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, env=env, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def import_ms(env: dict[str, str]) -> float:
    """Return the milliseconds that the import statement takes in a fresh interpreter."""
    code = "import time; t = time.perf_counter(); import trainwright; print((time.perf_counter() - t) * 1000)"
    return float(subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, check=True).stdout)


def bare_python(folder: Path, env: dict[str, str]) -> float:
    """Return the seconds until a plain interpreter has written its stamp."""
    began = time.time()
    subprocess.run([sys.executable, "stamp.py", "bare"], cwd=folder, env=env, check=True)
    return float((folder / "bare").read_text()) - began


def first_step(folder: Path, env: dict[str, str], n: int) -> float:
    """Return the seconds from the command to the start of its first step."""
    began = time.time()
    command = [TW, "run", "pipeline.yaml", "-p", f"n={n}"]
    subprocess.run(command, cwd=folder, env=env, capture_output=True, check=True)
    shown = subprocess.run([TW, "show", "-1", "--json"], cwd=folder, env=env, capture_output=True, check=True).stdout
    attempt = json.loads(shown)["attempts"][0]["id"]
    stamp = Path(env["TW_HOME"]) / "runs" / attempt / "outputs" / "stamp"
    return float(stamp.read_text()) - began


def end_all(folder: str) -> None:
    """End the supervisor that was started for this folder."""
    for place in Path("/proc").iterdir():
        try:
            ours = place.name.isdigit() and folder.encode() in (place / "cmdline").read_bytes()
        except OSError:
            continue
        if ours:
            os.kill(int(place.name), signal.SIGTERM)


if __name__ == "__main__":
    main()
