"""Functions that start from a warm interpreter end as those of a fresh one do, and nobody depends on it."""

import os
import signal
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from test_local_backend import TestLocalBackend

from trainwright.core.artifact import ArtifactKind
from trainwright.core.ids import AttemptId, Digest
from trainwright.core.job import Argument, Call, CodeTree, Command, JobSpec
from trainwright.plugins.backends.local.backend import LocalBackend
from trainwright.plugins.backends.local.settings import LocalSettings
from trainwright.ports.backend import Ended
from trainwright.ports.testing.backend import await_end
from trainwright.ports.testing.jobs import Draft
from trainwright.runtime import content, tree

CODE = """
import atexit, os, random, signal, subprocess, sys, threading, time

def began():
    with open(os.environ["TW_ATTEMPT_DIR"] + "/began", "a") as file:
        file.write("began\\n")

def quick():
    began()
    return "weights"

def endless():
    began()
    subprocess.Popen(["setsid", "sleep", "600"])
    subprocess.Popen(["sh", "-c", "setsid nohup sh -c 'sleep 600; true' & sleep 600"])
    if os.fork() == 0:
        time.sleep(600)
    time.sleep(600)

def nothing():
    began()

def half():
    with open(os.environ["TW_ATTEMPT_DIR"] + "/outputs/model", "w") as file:
        file.write("weights")
    os._exit(0)

def stubborn():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
    began()
    time.sleep(600)

def ends(how):
    print("said", how, flush=True)
    if how == "raise":
        raise ValueError("no good")
    if how.startswith("exit "):
        sys.exit(int(how[5:]))
    if how == "words":
        sys.exit("these words")
    if how.startswith("signal "):
        os.kill(os.getpid(), int(how[7:]))
        time.sleep(600)
    if how == "abort":
        os.abort()
    if how == "interrupt":
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(600)
    if how == "pipe":
        os.write(os.pipe()[1] if False else broken(), b"x")
    if how == "memory":
        kept = [bytearray(os.urandom(1 << 20)) * 8 for _ in range(1000)]
        time.sleep(len(kept))

def broken():
    reader, writer = os.pipe()
    os.close(reader)
    return writer

def tidy():
    global kept
    kept = open(os.environ["TW_ATTEMPT_DIR"] + "/kept", "w")
    kept.write("kept")
    atexit.register(print, "at exit")
    threading.Thread(target=lambda: (time.sleep(0.1), print("a thread"))).start()

def metrics():
    import trainwright as tw
    tw.log(loss=0.25)

def told():
    import json, numpy
    return {
        "colour": os.environ.get("COLOUR"),
        "room": os.environ.get("TW_ROOM"),
        "variables": sorted(os.environ),
        "mark": open("/proc/self/environ").read().split("\\0")[0],
        "words": open("/proc/self/cmdline").read().strip("\\0").split("\\0"),
        "descriptors": sorted(int(fd) for fd in os.listdir("/proc/self/fd")),
        "argv": [os.path.basename(word) for word in sys.argv],
        "path": sys.path,
        "here": os.getcwd(),
        "session": os.getsid(0) == os.getpid() == os.getpgid(0),
        "signals": [str(signal.getsignal(n)) for n in (1, 2, 13, 15, 17, 25)],
        "blocked": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])),
        "stdin": os.readlink("/proc/self/fd/0"),
        "collects": __import__("gc").isenabled(),
        "numbers": [random.random(), numpy.random.random()],
        "modules": len(sys.modules),
    }
"""

THREADED = "import threading, time\nthreading.Thread(target=time.sleep, args=(600,), daemon=True).start()\n"


def pids_of(sockets: Path, kind: str = "warm-") -> list[int]:
    """The warm interpreters, or all supervisors, that serve this folder, not the runners they forked."""
    found = []
    for pid in tree.pids():
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            continue
        if b"\0supervise\0" + os.fsencode(f"{sockets}/{kind}") in words:
            found.append(pid)
    parents = {pid: fields[1] for pid in found if (fields := tree.stat_fields(pid))}  # some are gone by now
    return [pid for pid, parent in parents.items() if int(parent) not in found]


class World:
    """A backend with a folder for sockets and the code of the steps."""

    def __init__(self, folder: Path, sockets: Path | None, allowed: str = "numpy extra", code: str = CODE) -> None:
        source = folder / "code"
        source.mkdir(exist_ok=True)
        (source / "steps.py").write_text(code)
        stored = content.put(str(folder / "content"), str(source))
        self.folder, self.sockets, self.number = folder, sockets, 0
        self.code = CodeTree(Digest(stored.digest), ".")
        self.settings = LocalSettings(
            folder / "runs", folder / "content", sys.executable, (str(Path(sys.executable).parent),), sockets=sockets,
            warm=frozenset(allowed.split()),
        )  # fmt: skip
        self.backend = LocalBackend(self.settings)

    def job(self, name: str, *, warm: tuple[str, ...] = ("numpy",), out: str = "", **draft: object) -> JobSpec:
        function, _, argument = name.partition(" ")
        self.number += 1
        arguments = {"how": Argument(argument)} if argument else {}
        command = Command(call=Call(f"steps:{function}", arguments))
        job = Draft(step=f"{function}{self.number}", code=self.code, **draft).make(command)  # type: ignore[arg-type]
        return replace(job, warm=warm, outputs=dict.fromkeys(out.split(), ArtifactKind.VALUE))

    def run(self, job: JobSpec) -> Ended:
        self.backend.start(job)
        return await_end(self.backend, job.attempt)

    def log(self, job: JobSpec, name: str = "log") -> str:
        return (self.backend.folder(job.attempt) / name).read_text()

    def value(self, job: JobSpec) -> Mapping[str, object]:
        import json

        return json.loads((self.backend.folder(job.attempt) / "outputs" / "told").read_text())

    def parent(self, job: JobSpec) -> int:
        """The pid of who forked the runner of a job that runs."""
        import json

        folder = self.backend.folder(job.attempt)
        while not (folder / "began").exists():
            self.backend.wait([job.attempt], 0.02)
        return int(tree.stat_fields(json.loads((folder / "runner.json").read_text())["pid"])[1])

    def serving(self, *warm: str) -> int:
        """Run until a warm interpreter serves; return its pid."""
        assert self.sockets is not None
        known = set(self.sockets.glob("warm-*.sock"))
        for _ in range(200):
            made = set(self.sockets.glob("warm-*.sock")) - known
            if made:
                return pids_of(self.sockets)[-1]
            self.run(self.job("nothing", warm=warm or ("numpy",)))
        raise AssertionError("no warm interpreter came up")

    def end(self) -> None:
        """End all who serve this world, ordinary supervisors too."""
        for pid in pids_of(self.sockets, "") if self.sockets else ():
            tree.send(pid, signal.SIGKILL)


@pytest.fixture
def sockets() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir="/tmp") as name:  # the path of a socket is short, pytest's folders are not
        yield Path(name)


@pytest.fixture
def world(tmp_path: Path, sockets: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    made = World(tmp_path, sockets)
    yield made
    made.end()


@pytest.fixture(scope="module")
def both() -> Iterator[tuple[World, World]]:
    """A world with a warm interpreter that serves, and one without."""
    patch = pytest.MonkeyPatch()
    patch.setenv("OMP_NUM_THREADS", "1")
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        folders = [Path(name) / word for word in ("s", "warm", "cold")]
        for folder in folders:
            folder.mkdir(mode=0o700)
        warm, cold = World(folders[1], folders[0]), World(folders[2], None)
        warm.serving()
        yield warm, cold
        warm.end()
    patch.undo()


def is_warm(world: World, job: JobSpec) -> bool:
    """Whether the attempt's function was forked: its runner has nothing to say about it."""
    return world.sockets is not None and not world.log(job, "runner.log")


class TestWarm(TestLocalBackend):
    @pytest.fixture(autouse=True)
    def _warm(self, both: tuple[World, World], tmp_path: Path) -> None:
        self.world = both[0]
        self.run_name = tmp_path.name

    def open(self) -> LocalBackend:
        return self.world.backend

    def _job(self, name: str, out: str = "") -> JobSpec:
        return self.world.job(name, out=out, run=self.run_name)

    def quick(self) -> JobSpec:
        return self._job("quick", "model")

    def endless(self) -> JobSpec:
        return self._job("endless")

    def half(self) -> JobSpec:
        return replace(self._job("half"), outputs=dict.fromkeys(("model", "report"), ArtifactKind.FILE))


ENDS = ("raise", "exit 0", "exit 3", "exit 300", "exit -1", "words", "signal 9", "signal 11", "signal 15", "signal 10")
OTHER_ENDS = ("abort", "interrupt", "pipe", "nothing")


@pytest.mark.parametrize("how", [*ENDS, *OTHER_ENDS])
def test_a_warm_function_ends_as_in_a_fresh_interpreter(both: tuple[World, World], how: str) -> None:
    seen = []
    for world in both:
        job = world.job(f"ends {how}")
        end = world.run(job)
        words = [line for line in world.log(job).splitlines() if not line.startswith(("  File", "Fatal", "Current"))]
        seen.append((end.cause, end.exit_code, end.signal, end.message, words[0]))
        assert is_warm(world, job) == (world is both[0])
    assert seen[0] == seen[1]


def test_time_memory_and_a_stop_are_judged_as_in_a_fresh_interpreter(both: tuple[World, World]) -> None:
    seen = []
    for world in both:
        late = world.run(world.job("stubborn", timeout_s=1.0))
        large = world.run(world.job("ends memory", memory_bytes=300 << 20))
        stopped = world.job("stubborn")
        world.backend.start(stopped)
        while not (world.backend.folder(stopped.attempt) / "began").exists():
            world.backend.wait([stopped.attempt], 0.02)
        world.backend.stop(stopped.attempt, "enough")
        end = await_end(world.backend, stopped.attempt)
        seen.append([(e.cause, e.exit_code, e.signal) for e in (late, large, end)] + [end.message])
    assert seen[0] == seen[1]
    assert seen[0][1][0] == "out-of-memory"


def test_files_threads_and_exit_handlers_are_finished_and_metrics_arrive(both: tuple[World, World]) -> None:
    for world in both:
        job = world.job("tidy")
        assert world.run(job).exit_code == 0
        assert world.log(job).split("\n")[:2] == ["a thread", "at exit"]
        assert world.log(job, "kept") == "kept"
        assert world.run(world.job("metrics")).metrics["loss"].last == 0.25


def test_what_a_function_sees_of_its_process_is_the_same(both: tuple[World, World]) -> None:
    seen = []
    for world in both:
        job = world.job("told", out="told", env={"COLOUR": "blue"})
        assert world.run(job).cause == "exited", world.log(job)
        told = dict(world.value(job))
        folder = str(world.backend.folder(job.attempt))
        assert told.pop("numbers")
        assert told.pop("modules")
        told["path"] = [p.replace(folder, "HERE").replace(str(world.folder), "WORLD") for p in told["path"]]  # type: ignore[attr-defined]
        told["mark"] = f"TW_ATTEMPT_DIR={folder}" in (told["mark"], "TW_ATTEMPT_DIR=" + folder)
        told["here"] = str(told["here"]).replace(folder, "HERE")
        seen.append(told)
    seen[1]["words"][0] = seen[0]["words"][0]  # type: ignore[index]  # python, or where it lies
    assert seen[0] == seen[1]
    assert seen[0]["words"][1:] == ["-m", "trainwright.runtime.call"]  # type: ignore[index]


def test_random_numbers_differ_between_two_steps(both: tuple[World, World]) -> None:
    drawn = []
    for _ in range(2):
        job = both[0].job("told", out="told")
        both[0].run(job)
        drawn.append(both[0].value(job)["numbers"])
    assert not set(drawn[0]) & set(drawn[1])  # type: ignore[call-overload]


def test_the_variables_of_who_submits_reach_the_function_and_those_that_matter_have_a_process_of_their_own(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = world.serving()
    monkeypatch.setenv("COLOUR", "green")
    monkeypatch.setenv("MKL_VERBOSE", "0")
    world.backend = LocalBackend(world.settings)  # the environment is that of the process when it opened the backend
    second = world.serving()
    assert first != second
    job = world.job("told", out="told")
    world.run(job)
    assert (world.value(job)["colour"], is_warm(world, job)) == ("green", True)


def test_two_lists_of_modules_do_not_share_a_process(world: World) -> None:
    world.serving()
    world.serving("numpy", "numpy.random")
    jobs = [world.job("endless", warm=warm) for warm in (("numpy",), ("numpy", "numpy.random"))]
    for job in jobs:
        world.backend.start(job)
    parents = {world.parent(job) for job in jobs}
    for job in jobs:
        world.backend.stop(job.attempt, "seen")
        await_end(world.backend, job.attempt)
    assert parents == set(pids_of(world.sockets))  # type: ignore[arg-type]
    assert len(parents) == 2


@pytest.mark.parametrize("package", ["thread", "polars", "error"])
def test_what_cannot_be_forked_starts_the_ordinary_way(
    world: World, monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    folder = world.folder / "packages"
    folder.mkdir()
    text = {"thread": THREADED, "polars": "import polars", "error": "raise RuntimeError('broken here')"}[package]
    (folder / "extra.py").write_text(text)
    (folder / "polars.py").write_text("")
    monkeypatch.setenv("PYTHONPATH", str(folder))
    world.backend = LocalBackend(world.settings)
    job = world.job("nothing", warm=("extra",))
    assert world.run(job).exit_code == 0
    said: list[Path] = []
    while not said:
        world.backend.wait([AttemptId("run1/none/1")], 0.02)
        said = list(world.sockets.glob("*.refused"))  # type: ignore[union-attr]
    word = {"thread": "a thread was started", "polars": "polars was imported", "error": "broken here"}[package]
    assert word in said[0].read_text()
    world.backend = LocalBackend(world.settings)
    assert world.run(replace(job, attempt=AttemptId("run1/again/1"))).exit_code == 0
    assert not pids_of(world.sockets)  # type: ignore[arg-type]  # another one is not even tried


def test_it_can_be_switched_off(world: World) -> None:
    off = LocalBackend(replace(world.settings, warm=frozenset()))
    job = world.job("nothing")
    off.start(job)
    assert await_end(off, job.attempt).exit_code == 0
    assert not list(world.sockets.glob("warm-*"))  # type: ignore[union-attr]


def test_code_that_hides_a_loaded_module_runs_in_a_fresh_interpreter(world: World) -> None:
    world.serving()
    (world.folder / "code" / "numpy.py").write_text("")
    stored = content.put(str(world.folder / "content"), str(world.folder / "code"))
    job = replace(world.job("nothing"), code=CodeTree(Digest(stored.digest), "."))
    assert world.run(job).exit_code == 0
    assert "loaded here from elsewhere: numpy" in world.log(job, "runner.log")


def test_its_death_is_no_steps_death_and_a_new_one_comes(world: World) -> None:
    pid = world.serving()
    job = world.job("stubborn")
    world.backend.start(job)
    assert world.parent(job) == pid
    os.kill(pid, signal.SIGKILL)
    assert world.run(world.job("nothing")).exit_code == 0
    world.backend.stop(job.attempt, "enough")
    assert await_end(world.backend, job.attempt).exit_code == 7
    for path in world.sockets.glob("warm-*.sock"):  # type: ignore[union-attr]
        path.unlink()
    world.backend = LocalBackend(world.settings)
    assert world.serving() != pid


def test_the_processes_of_a_dead_runner_are_found_and_ended(world: World) -> None:
    import json

    world.serving()
    job = world.job("endless")
    world.backend.start(job)
    world.parent(job)
    runner = json.loads(world.log(job, "runner.json"))["pid"]
    os.kill(runner, signal.SIGKILL)
    assert await_end(world.backend, job.attempt).cause == "lost"
    assert not list(tree.marked(b"TW_ATTEMPT_DIR=" + bytes(world.backend.folder(job.attempt))))


def test_it_leaves_when_packages_were_changed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = world.folder / "packages"
    folder.mkdir()
    monkeypatch.setenv("PYTHONPATH", str(folder))
    world.backend = LocalBackend(world.settings)
    pid = world.serving()
    (folder / "extra.py").write_text("")
    assert world.run(world.job("nothing")).exit_code == 0
    while pid in pids_of(world.sockets):  # type: ignore[arg-type]
        world.backend.wait([AttemptId("run1/none/1")], 0.02)
    assert not list(world.sockets.glob("warm-*.sock"))  # type: ignore[union-attr]


def runner_of(world: World, job: JobSpec) -> int:
    import json

    return int(json.loads(world.log(job, "runner.json"))["pid"])


def gone(world: World, pid: int) -> None:
    """Wait until a process has ended."""
    while tree.is_alive(tree.identity(pid)):
        world.backend.wait([AttemptId("run1/none/1")], 0.02)


def test_a_runner_stays_for_the_next_attempt_as_it_was_before_the_first(world: World) -> None:
    world.serving()
    seen = []
    for _ in range(4):
        job = world.job("told", out="told")
        world.run(job)
        seen.append((runner_of(world, job), world.value(job)["descriptors"], world.value(job)["session"]))
    assert [one for one in seen if one != seen[0]] == []
    held = Path(f"/proc/{seen[0][0]}/fd")
    while len(list(held.iterdir())) > 4:  # the line and the usual three, once it waits
        world.backend.wait([AttemptId("run1/none/1")], 0.02)


def test_two_attempts_at_once_have_two_runners_and_both_stay(world: World) -> None:
    world.serving()
    jobs = [world.job("stubborn") for _ in range(2)]
    for job in jobs:
        world.backend.start(job)
    parents = [world.parent(job) for job in jobs]
    for job in jobs:
        world.backend.stop(job.attempt, "enough")
        await_end(world.backend, job.attempt)
    after = world.job("nothing")
    world.run(after)
    assert parents == pids_of(world.sockets) * 2  # type: ignore[arg-type]
    assert runner_of(world, jobs[0]) != runner_of(world, jobs[1])
    assert is_warm(world, after)


@pytest.mark.parametrize("name", ["stubborn", "ends memory", "half"])
def test_a_runner_that_was_not_left_as_it_was_does_not_stay(world: World, name: str) -> None:
    world.serving()
    job = world.job(name, memory_bytes=300 << 20 if name == "ends memory" else 0, out="model" * (name == "half"))
    world.backend.start(job)
    if name == "stubborn":
        world.parent(job)
        world.backend.stop(job.attempt, "enough")
    end = await_end(world.backend, job.attempt)
    assert end.cause == {"stubborn": "stopped", "ends memory": "out-of-memory", "half": "output-invalid"}[name]
    gone(world, runner_of(world, job))
    assert world.run(world.job("nothing")).exit_code == 0


def test_a_runner_that_dies_at_its_second_attempt_loses_that_one_alone(world: World) -> None:
    world.serving()
    first = world.job("nothing")
    world.run(first)
    second = world.job("endless")
    world.backend.start(second)
    world.parent(second)
    assert runner_of(world, first) == runner_of(world, second)
    os.kill(runner_of(world, second), signal.SIGKILL)
    assert await_end(world.backend, second.attempt).cause == "lost"
    assert not list(tree.marked(b"TW_ATTEMPT_DIR=" + bytes(world.backend.folder(second.attempt))))
    third = world.job("nothing")
    assert world.run(third).exit_code == 0
    assert is_warm(world, third)


def test_one_who_waits_leaves_at_a_sign_of_it_and_when_its_interpreter_is_gone(world: World) -> None:
    pid = world.serving()
    for end in (lambda job: tree.send(runner_of(world, job), signal.SIGTERM), lambda _: tree.send(pid, signal.SIGKILL)):
        job = world.job("nothing")
        world.run(job)
        end(job)
        gone(world, runner_of(world, job))


def test_an_engine_that_did_not_ask_sees_the_end_of_an_attempt_whose_runner_stays(world: World) -> None:
    world.serving()
    job = world.job("stubborn")
    world.backend.start(job)
    world.parent(job)
    other = LocalBackend(world.settings)
    assert other.observe(job.attempt)
    function = tree.descendants(runner_of(world, job))
    assert len(function) == 1
    os.kill(function[0], signal.SIGTERM)
    end = await_end(other, job.attempt)
    assert (end.cause, end.exit_code) == ("exited", 7)
    assert tree.is_alive(tree.identity(runner_of(world, job)))
