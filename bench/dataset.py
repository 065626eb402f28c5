"""What ``tw dataset add`` costs, beside the hash alone and beside DVC, by CPU seconds of the whole process tree.

20,000 files of 10 KB and one of 2 GB, page cache warm, on the disk of the folder for temporary files (``--folder`` for
another). Every side is a command as a person types it, start-up included: ``tw dataset add small FOLDER`` in a fresh
project, ``dvc add -q FOLDER`` in a fresh ``dvc init --no-scm`` (analytics off, everything else as it comes, from an
environment of its own), and a process that only reads and hashes the same files with SHA-256. Order changes from
repeat to repeat; figures are ratios of medians.

A re-check is the same ``add`` again, nothing having changed: that is what both sides type, and after it both know that
the version is still the version. ``dvc status``, which says less, is measured too (``recheck_vs_dvc_status``).
"""

import argparse
import json
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

HASH = """\
import hashlib, os, sys
def digest(path):
    hasher, buffer = hashlib.sha256(), memoryview(bytearray(1 << 20))
    with open(path, "rb", buffering=0) as file:
        while got := file.readinto(buffer):
            hasher.update(buffer[:got])
    return hasher.hexdigest()
top = sys.argv[1]
paths = [os.path.join(f, n) for f, _, names in os.walk(top) for n in names] if os.path.isdir(top) else [top]
print(len([digest(path) for path in paths]))
"""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="4,000 files and 256 MiB, once")
    parser.add_argument("--folder", help="where to work; default: the folder for temporary files")
    parser.add_argument("--dvc", default=".venv-dvc/bin/dvc", help="the command (make .venv-dvc/.made)")
    parser.add_argument("--repeats", type=int, default=3, help="of everything; one when quick")
    asked = parser.parse_args()
    files, big_mib, repeats = (4_000, 256, 1) if asked.quick else (20_000, 2048, asked.repeats)
    dvc = str(Path(asked.dvc).absolute())
    with tempfile.TemporaryDirectory(prefix="tw-bench-", dir=asked.folder) as name:
        top = Path(name)
        lay(top, files, big_mib)
        rows = [run(top, dvc, backwards=bool(number % 2)) for number in range(repeats)]
    cpu = {key: statistics.median(row[key] for row in rows) for key in rows[0]}
    figures = {
        "add_small_vs_dvc": cpu["add_small"] / cpu["dvc_add_small"],
        "add_big_vs_dvc": cpu["add_big"] / cpu["dvc_add_big"],
        "recheck_vs_dvc": cpu["recheck"] / cpu["dvc_add_again"],
        "recheck_vs_dvc_status": cpu["recheck"] / cpu["dvc_status"],
        "big_vs_hash": cpu["add_big"] / cpu["hash_big"],
        "small_vs_hash": cpu["add_small"] / cpu["hash_small"],
    }
    shown = {key: round(value, 3) for key, value in figures.items()}
    seconds = {key: round(value, 2) for key, value in cpu.items()}
    print(json.dumps({"bench": "dataset", "figures": shown, "cpu_s": seconds, "files": files, "big_mib": big_mib}))


def lay(top: Path, files: int, big_mib: int) -> None:
    """Write what is added, from a seed."""
    chance = random.Random(27)
    for number in range(files):
        path = top / "small" / f"{number % 100:02}" / f"{number:06}.bin"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(chance.randbytes(10_000))
    with (top / "big.bin").open("wb") as file:
        for _ in range(big_mib):
            file.write(chance.randbytes(1 << 20))
    os.sync()


def run(top: Path, dvc: str, *, backwards: bool) -> dict[str, float]:
    """Return CPU seconds of every command, each project made anew."""
    sides: list[Callable[[Path, str], dict[str, float]]] = [hashing, ours, theirs]
    seconds: dict[str, float] = {}
    for side in reversed(sides) if backwards else sides:
        seconds |= side(top, dvc)
    return seconds


def hashing(top: Path, _: str) -> dict[str, float]:
    """Read and hash only; the first time merely warms the page cache."""
    found = {}
    for key, path in (("hash_small", top / "small"), ("hash_big", top / "big.bin")):
        cpu([sys.executable, "-c", HASH, str(path)], top)
        found[key] = cpu([sys.executable, "-c", HASH, str(path)], top)
    return found


def ours(top: Path, _: str) -> dict[str, float]:
    """Add, and add again."""
    tw = str(Path(sys.executable).parent / "tw")
    with tempfile.TemporaryDirectory(dir=top) as name:
        project = Path(name)
        add = [tw, "dataset", "add"]
        found = {"add_small": cpu([*add, "small", str(top / "small")], project)}
        found["recheck"] = cpu([*add, "small", str(top / "small")], project)
        warm(top / "big.bin")
        found["add_big"] = cpu([*add, "big", str(top / "big.bin")], project)
    return found


def theirs(top: Path, dvc: str) -> dict[str, float]:
    """Add, and add again; data lies in the project, as DVC wants it."""
    with tempfile.TemporaryDirectory(dir=top) as name:
        project = Path(name)
        cpu([dvc, "init", "--no-scm", "-q"], project)
        cpu([dvc, "config", "core.analytics", "false"], project)
        shutil.copytree(top / "small", project / "small")
        os.sync()
        found = {"dvc_add_small": cpu([dvc, "add", "-q", "small"], project)}
        found["dvc_add_again"] = cpu([dvc, "add", "-q", "small"], project)
        found["dvc_status"] = cpu([dvc, "status", "-q"], project)
        shutil.copy(top / "big.bin", project / "big.bin")
        os.sync()
        warm(project / "big.bin")
        found["dvc_add_big"] = cpu([dvc, "add", "-q", "big.bin"], project)
    return found


def warm(path: Path) -> None:
    """Bring a file into the page cache."""
    with path.open("rb", buffering=0) as file:
        buffer = bytearray(1 << 20)
        while file.readinto(buffer):
            pass


def cpu(argv: list[str], folder: Path) -> float:
    """Return user and system seconds of a command and all that it started and waited for."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("TW_", "DVC_"))}
    env |= {"TW_HOME": str(folder / "home"), "DVC_NO_ANALYTICS": "1"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(argv, cwd=folder, env=env, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


if __name__ == "__main__":
    main()
