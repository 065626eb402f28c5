"""Environments of steps, as a user meets them: locked at submit, built once, shared, refused, collected."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from shell import Shell, ended, golden, until

from wheelhouse import Index, hash_of, only_here, wheel

pytestmark = pytest.mark.heavy  # real builds by uv, some twenty of them

TWO = """
pipeline: two
steps:
  old:
    run: python -c "import alpha; print(alpha.VERSION)" > ${{ out.v }}
    out: {v: file}
    environment: {requirements: old.txt}
  new:
    call: steps:new
    with: {before: old.v}
    out: {v: value}
    environment: {requirements: new.txt}
  plain:
    run: echo "${VIRTUAL_ENV:-none of its own}"
"""
STEPS = """
import alpha, beta
import trainwright as tw


def new(before):
    tw.log(version=float(alpha.VERSION))
    return [before.read_text().strip(), alpha.VERSION, beta.VERSION]
"""


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("house")
    for name, version, needs in (("alpha", "1.0", ""), ("alpha", "2.0", ""), ("beta", "1.0", "alpha")):
        wheel(folder, name, version, needs)
    return folder


@pytest.fixture
def sh(tmp_path: Path, house: Path):
    with Shell(tmp_path / "p", **only_here(house)) as shell:
        shell.write("old.txt", "alpha<2\n")
        shell.write("new.txt", "beta\n")
        shell.write("steps.py", STEPS)
        shell.write("two.yaml", TWO)
        yield shell


def keys(sh: Shell) -> list[str]:
    return sorted(one["key"] for one in sh.run("env", "ls", "--json", code=0).json)


def test_two_steps_run_in_two_environments(sh: Shell) -> None:
    sh.run("run", "two.yaml", code=0)
    run = sh.show()
    assert sh.step(run, "new")["state"] == "succeeded"
    new = sh.attempts(run, "new")[0]
    assert new["metrics"]["version"]["last"] == 2.0
    store = sh.folder / ".trainwright"
    made = next(o for o in run["outputs"] if o["step"] == "new")
    value = next(p for p in store.glob("runs/*/new/1/outputs/v*"))
    assert json.loads((value / "value.json" if value.is_dir() else value).read_text()) == ["1.0", "2.0", "1.0"]
    assert made["kind"] == "value"
    locks = run["fingerprint"]["environment"]["locks"]
    assert sorted(one["asked"]["path"] for one in locks.values()) == ["new.txt", "old.txt"]
    assert not run["fingerprint"]["environment"]["locked"]
    assert "none of its own" in sh.run("logs", "-1/plain", code=0).out
    said = sh.run("show", "-1", code=0).out
    assert "other steps: inherited, not locked" in said
    assert "environment old: built in" in said
    shown = sh.run("show", "-1", "--fingerprint", code=0).out
    assert "new.txt: Python 3." in shown
    assert "2 packages (locked)" in shown


def test_the_same_lock_is_built_once_for_two_projects(sh: Shell, tmp_path: Path, house: Path) -> None:
    sh.run("run", "two.yaml", code=0)
    before = keys(sh)
    with Shell(tmp_path / "q", TW_MACHINE_DIR=sh.environ["TW_MACHINE_DIR"], **only_here(house)) as other:
        other.write("mine.txt", "alpha < 2  # in other words\n")
        other.write(
            "p.yaml",
            "pipeline: p\nenvironment: {requirements: mine.txt}\nsteps: {a: {run: python -c 'import alpha'}}\n",
        )
        other.run("run", "p.yaml", code=0)
        assert keys(other) == before
        assert "environment: locked: mine.txt" in other.run("show", "-1", code=0).out
        assert "not locked" not in other.run("show", "-1", code=0).out
        assert "built in" not in other.run("show", "-1", code=0).out


def test_a_changed_requirement_is_a_miss_that_names_the_package(sh: Shell) -> None:
    sh.write("mine.py", "import alpha\n\n\ndef version():\n    return alpha.VERSION\n")
    step = "{call: 'mine:version', out: {v: value}, environment: {requirements: new.txt}}"
    sh.write("p.yaml", f"pipeline: p\nsteps: {{a: {step}}}\n")
    sh.run("run", "p.yaml", code=0)
    assert "cache a: hit" in sh.run("plan", "p.yaml", code=0).out
    sh.write("new.txt", "beta\nalpha<2\n")
    said = sh.run("plan", "p.yaml", code=0).out
    assert "cache a: miss: environment changed: alpha 2.0 → 1.0; code changed: other files differ" in said
    sh.write("p.yaml", f"pipeline: p\nsteps: {{a: {step.replace('{requirements: new.txt}', 'inherit')}}}\n")
    assert "environment changed: locked before, inherited now" in sh.run("plan", "p.yaml", code=0).out


def test_without_a_network_what_was_locked_before_runs_and_nothing_else(sh: Shell) -> None:
    sh.run("run", "two.yaml", code=0)
    for key in keys(sh):
        sh.run("env", "rm", key[:12], code=0)
    sh.run("run", "two.yaml", "--cache", "off", code=0, UV_OFFLINE="1")
    assert len(keys(sh)) == 2
    sh.write("new.txt", "gamma>=7\n")
    said = sh.run("run", "two.yaml", code=2, UV_OFFLINE="1").err
    assert "error[TW2212]: uv cannot lock new.txt" in said
    assert "where: two.yaml:12:33" in said
    assert "gamma" in said


def test_a_lock_with_a_wrong_hash_is_refused_in_the_words_of_uv(sh: Shell) -> None:
    sh.write("wrong.lock", f"alpha==1.0 --hash=sha256:{'0' * 64}\n")
    sh.write("p.yaml", "pipeline: p\nsteps: {a: {run: python x.py, environment: {lockfile: wrong.lock}}}\n")
    sh.run("run", "p.yaml", code=1)
    said = sh.run("why", "-1/a", code=0).out
    assert "environment-failed" in said
    assert "its environment could not be built:" in said
    assert "alpha" in said
    assert "tw env lock FILE --upgrade" in said
    assert "hash" in sh.run("logs", "-1/a", code=0).out.lower()
    assert keys(sh) == []


def test_what_is_no_lock_is_refused_before_anything_is_queued(sh: Shell) -> None:
    sh.write("wrong.lock", "# a\n\nalpha>=1.0\n")
    sh.write("p.yaml", "pipeline: p\nsteps: {a: {run: python x.py, environment: {lockfile: wrong.lock}}}\n")
    said = sh.run("run", "p.yaml", code=2).err
    assert "error[TW1083]: 'alpha>=1.0' has not one version" in said
    assert "wrong.lock:3" in said
    assert sh.run("ps", "--json", code=0).json == []


def test_mistakes_and_their_remedies(sh: Shell) -> None:
    sh.write("gone.yaml", "pipeline: p\nsteps:\n  a: {run: x, environment: {requirements: gone.txt}}\n")
    sh.write("image.yaml", f"pipeline: p\nsteps:\n  a: {{run: x, environment: {{image: 'reg/a@sha256:{'0' * 64}'}}}}\n")
    sh.write(
        "python.yaml", 'pipeline: p\nsteps:\n  a: {run: x, environment: {requirements: old.txt, python: "3.99"}}\n'
    )
    said = [
        sh.run("validate", "gone.yaml", code=2).err,
        sh.run("run", "gone.yaml", code=2).err,
        sh.run("plan", "image.yaml", code=3).err,
        sh.run("run", "image.yaml", code=3).err,
        "\n".join(line for line in sh.run("run", "python.yaml", code=2).err.splitlines() if "why:" not in line) + "\n",
        sh.run("env", "rm", "abc", code=4).err,
        sh.run("env", "build", "two.yaml", "--dry-run", code=4).err,
        sh.run("env", "build", "two.yaml", "--step", "old", "--engine", "no-such-engine", code=1).err,
    ]
    golden("environments_mistakes", "".join(said).replace(str(sh.folder), "HERE"))


def test_without_uv_there_is_one_clear_error(sh: Shell) -> None:
    sh.write("p.yaml", "pipeline: p\nsteps: {a: {run: python x.py, environment: {requirements: old.txt}}}\n")
    program = "from trainwright.runtime import uv; from trainwright.cli import main; uv.find = lambda _: ''"
    python = shutil.which("python", path=sh.environ["PATH"]) or ""
    done = subprocess.run(
        [python, "-c", f"{program}; main.main(['run', 'p.yaml'])"],
        cwd=sh.folder, env=sh.environ, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 2, done
    assert "error[TW2211]: uv is not installed" in done.stderr
    assert "fix: pip install 'trainwright[env]'" in done.stderr


def test_a_build_that_dies_with_its_runner_is_made_anew(sh: Shell, house: Path) -> None:
    sh.write("alpha.lock", f"alpha==1.0 --hash=sha256:{hash_of(house / 'alpha-1.0-py3-none-any.whl')}\n")
    sh.write(
        "p.yaml", "pipeline: p\nsteps:\n  a: {run: python -c 'import alpha', environment: {lockfile: alpha.lock}}\n"
    )
    with Index(house) as index:
        run = sh.start("run", "p.yaml", **index.settings)
        until(index.asked.is_set, "uv asks for the wheel")
        runner = json.loads(next(sh.folder.glob(".trainwright/runs/*/a/1/runner.json")).read_text())
        psutil.Process(runner["pid"]).send_signal(signal.SIGKILL)
        index.may_answer.set()
        said = ended(run)
    assert said.code == 0, said
    assert [a["state"] for a in sh.attempts(sh.show(), "a")] == ["lost", "succeeded"]
    assert len(keys(sh)) == 1


def test_an_environment_in_use_is_not_collected(sh: Shell) -> None:
    sh.write("p.yaml", "pipeline: p\nsteps: {a: {run: touch up; sleep 600, environment: {requirements: old.txt}}}\n")
    run = sh.run("run", "-d", "p.yaml", code=0).out.strip()
    until(lambda: any(sh.folder.glob(f".trainwright/runs/{run}/a/1/work/up")), "the step runs")
    (one,) = sh.run("env", "ls", "--json", code=0).json
    assert (one["leased"], one["packages"]) == (True, 1)
    assert sh.run("gc", "--keep-envs", "0s", "--json", code=0).json["collected"]["environments"]["count"] == 0
    assert "error[TW5611]" in sh.run("env", "rm", one["key"], code=1).err
    sh.run("stop", run, code=0)
    sh.run("wait", run)
    until(lambda: not sh.run("env", "ls", "--json").json[0]["leased"], "the runner has ended")
    planned = sh.run("gc", "--keep-envs", "0s", "--dry-run", "--json", code=0).json["collected"]["environments"]
    assert planned["count"] == 1
    assert keys(sh) == [one["key"]]
    assert sh.run("gc", "--keep-envs", "0s", "--json", code=0).json["collected"]["environments"] == planned
    assert keys(sh) == []


def test_locks_are_shown_and_written(sh: Shell, house: Path) -> None:
    first = sh.run("env", "lock", "two.yaml", "--step", "old", "--json", "-o", "old.lock", code=0).json
    assert [(one["known"], one["environment"]["packages"]) for one in first] == [(False, 1)]
    line = f"alpha==1.0 --hash=sha256:{hash_of(house / 'alpha-1.0-py3-none-any.whl')}\n"
    assert (sh.folder / "old.lock").read_text() == line == first[0]["lock"]
    assert sh.run("env", "lock", "two.yaml", "--step", "old", "--json", code=0).json[0]["known"]
    assert not sh.run("env", "lock", "two.yaml", "--step", "old", "--upgrade", "--json", code=0).json[0]["known"]
    assert "two.txt" not in sh.run("env", "lock", "two.yaml", code=0).out
    plan = sh.run("plan", "two.yaml", "--json", code=0).json
    assert "example" not in json.dumps(plan)


def test_a_containerfile_is_printed_without_an_engine(sh: Shell) -> None:
    said = sh.run("env", "build", "two.yaml", "--step", "new", "--dry-run", "--base", "localhost/base:1", code=0).out
    key = sh.run("env", "lock", "two.yaml", "--step", "new", "--json", code=0).json[0]["environment"]["key"]
    golden("environments_containerfile", said.replace(key, "KEY").replace(key[:12], "KEY"))


def another_python() -> tuple[str, str]:
    """A Python of another version that is here: its version and the folder of its programs; empty for none."""
    places = [*os.environ["PATH"].split(":"), *map(str, Path.home().glob(".pyenv/versions/*/bin"))]
    for minor in (12, 13, 10):
        for folder in places:
            program = Path(folder) / f"python3.{minor}"
            if minor != sys.version_info[1] and program.exists() and "shims" not in folder:
                return f"3.{minor}", folder
    return "", ""


@pytest.mark.skipif(not another_python()[0], reason="there is no second Python here")
def test_a_step_may_run_in_another_python_and_speaks_to_us_all_the_same(sh: Shell) -> None:
    version, folder = another_python()
    asked = f'{{requirements: old.txt, python: "{version}"}}'
    sh.write("mine.py", "import alpha, sys\n\n\ndef version():\n    return list(sys.version_info[:2])\n")
    script = "import sys, trainwright as tw; tw.log(minor=sys.version_info[1])"
    sh.write(
        "p.yaml",
        f"""
        pipeline: p
        environment: {asked}
        steps:
          call: {{call: 'mine:version', out: {{v: value}}}}
          run: {{run: 'python -c "{script}"'}}
        """,
    )
    sh.run("run", "p.yaml", code=0, PATH=f"{sh.environ['PATH']}:{folder}")
    run = sh.show()
    assert sh.attempts(run, "run")[0]["metrics"]["minor"]["last"] == int(version.partition(".")[2])
    (lock,) = run["fingerprint"]["environment"]["locks"].values()
    assert lock["python"].startswith(f"{version}.")
    assert run["fingerprint"]["environment"]["locked"]
    assert run["fingerprint"]["environment"]["packages"] == {}


def test_a_warm_interpreter_never_serves_a_step_with_its_own_environment(sh: Shell) -> None:
    sh.write("mine.py", "import sys\n\n\ndef prefix():\n    return sys.prefix\n")
    step = "{call: 'mine:prefix', warm: [numpy], out: {v: value}, environment: {requirements: old.txt}}"
    sh.write("p.yaml", f"pipeline: p\nsteps: {{a: {step}}}\n")
    before = set(Path(sh.environ["TW_RUNTIME_DIR"]).glob("warm-*"))
    for _ in range(2):
        sh.run("run", "p.yaml", "--cache", "off", code=0)
        made = next(sh.folder.glob(f".trainwright/runs/{sh.show()['run']['id']}/a/1/outputs/v*"))
        text = (made / "value.json" if made.is_dir() else made).read_text()
        assert keys(sh)[0] in text
    assert set(Path(sh.environ["TW_RUNTIME_DIR"]).glob("warm-*")) == before
