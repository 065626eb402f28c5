"""What one ``tw.log`` costs a training script, and that nothing acknowledged is lost when it is killed.

A job's script logs 100,000 points in a loop and is then ended with ``kill -9`` by itself, right after the last call
returned. ``log_us`` is microseconds a call as the script measured it; ``lost`` is how many of the points are missing
from the attempt's file afterwards. Prints one JSON object last.
"""

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

SCRIPT = """\
import os, signal, sys, time
import trainwright as tw
count = int(sys.argv[1])
tw.log(loss=1.0, step=0)
began = time.perf_counter()
for step in range(1, count + 1):
    tw.log(loss=1.0 / step, step=step)
spent = time.perf_counter() - began
print(spent / count * 1e6, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="10,000 calls, once")
    quick = parser.parse_args().quick
    count, repeats = (10_000, 1) if quick else (100_000, 5)
    rows = [run(count) for _ in range(repeats)]
    figures = {"log_us": statistics.median(us for us, _ in rows), "calls": count, "lost": max(lost for _, lost in rows)}
    print(json.dumps({"bench": "log_overhead", "figures": {k: round(v, 3) for k, v in figures.items()}}))


def run(count: int) -> tuple[float, int]:
    """Return microseconds a call and how many points were lost."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "job.json").write_text(json.dumps({"format": 1, "job": {"params": {}, "outputs": {}, "inputs": []}}))
        env = os.environ | {"TW_ATTEMPT_DIR": name, "TW_INPUTS": "{}", "TW_OUTPUTS": "{}"}
        done = subprocess.run([sys.executable, "-c", SCRIPT, str(count)], env=env, stdout=subprocess.PIPE, check=False)
        assert done.returncode == -signal.SIGKILL, done
        lines = (folder / "events.jsonl").read_bytes().splitlines()
        steps = {json.loads(line)["s"] for line in lines}
    return float(done.stdout), count + 1 - len(steps)


if __name__ == "__main__":
    main()
