"""Stands for the interpreter of runners and supervisors: the same program, but it may die at a numbered point.

``python runner_host.py -I -S -B LIBRARY run|supervise PLACE``, with the round's folder in ``CRASH_FOLDER``. The file
``plan`` there says who dies: ``runner STEP AT`` or ``supervisor fork AT``. It counts once. With a file ``record`` there
every process writes down the points it passed. A file ``seeded`` names a bug to have.
"""

import os
import sys
from collections.abc import Mapping

HERE = __file__.rpartition("/")[0]
LIBRARY, VERB, PLACE = sys.argv[-3:]
FOLDER = os.environ["CRASH_FOLDER"]

sys.path.insert(0, HERE)
from points import Points, note  # noqa: E402

sys.path[0] = LIBRARY

PLAN = FOLDER + "/plan"
CHANGES = ("fsync", "ftruncate", "rename", "replace", "link", "unlink", "rmdir", "mkdir", "symlink", "utime")


def plan() -> tuple[str, str, int]:
    """Return who is to die, and at which of its points."""
    words = read(PLAN).split()
    return (words[0], words[1], int(words[2])) if words else ("", "", 0)


def read(path: str) -> str:
    """Return what a file says; nothing when there is none."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return ""
    with os.fdopen(fd) as file:
        return file.read()


def within(points: Points) -> None:
    """Make every change that this process makes on disk a moment, and each write one in its middle too.

    The moment after one change is the moment before the next, but for the start of the command, which goes on.
    """
    for name in CHANGES:
        points.around(os, name, after=False)
    points.around(os, "posix_spawn")
    write = os.write

    def torn(fd: int, data: bytes) -> int:
        view = memoryview(data)
        half = len(view) // 2
        points.here("before write")
        done = 0
        if half:
            done = write(fd, view[:half])
            points.here("inside write")
        return done + write(fd, view[done:])

    os.write = torn  # type: ignore[assignment]


def run_mortal(folder: str, env: Mapping[bytes, bytes]) -> None:
    """Run an attempt in this process, which may be the one to die."""
    from trainwright.runtime import runner

    step, number = folder.split("/")[-2:]
    who, what, at = plan()
    mine = who == "runner" and what == step
    points = Points(FOLDER, f"runner {step}/{number}", at=at if mine else 0, once=PLAN)
    recording = os.access(FOLDER + "/record", os.F_OK)
    if mine or recording:
        within(points)
    points.here("before run")
    runner.run(folder, env)
    points.here("after run")
    if recording:
        note(f"{FOLDER}/points", f"runner {step} {len(points.seen)}")


def main() -> None:
    """Be the runtime."""
    sys.argv = [LIBRARY, VERB, PLACE]
    from trainwright.runtime import __main__, runner

    bug = read(FOLDER + "/seeded")
    if bug:
        import importlib

        sys.path.append(HERE)
        importlib.import_module("seeded").into_runner(bug)
        sys.path.remove(HERE)
    original = runner.run

    def run(folder: str, env: Mapping[bytes, bytes], *_: object, **__: object) -> bool:
        runner.run = original
        run_mortal(folder, env)
        return False

    runner.run = run
    if VERB == "supervise":
        who, _, at = plan()
        points = Points(FOLDER, "supervisor", at=at if who == "supervisor" else 0, once=PLAN)
        fork = os.fork

        def counted() -> int:
            points.here("before fork")
            pid = fork()
            if pid:
                points.here("after fork")
                if os.access(FOLDER + "/record", os.F_OK):
                    note(f"{FOLDER}/points", f"supervisor fork {len(points.seen)}")
            return pid

        os.fork = counted
        note(f"{FOLDER}/supervisors", str(os.getpid()))
    __main__.main()


main()
