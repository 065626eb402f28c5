"""What is asked for becomes a lock: from files of every kind, kept, stored, and told when it cannot be made."""

import os
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from build import context
from trainwright.core.codec import from_json, to_json
from trainwright.core.environment import StepEnvironment
from trainwright.core.errors import ConflictError, NotFoundError, SpecError
from trainwright.core.fingerprint import Environment
from trainwright.core.ids import Digest
from trainwright.plan.compile import compile_plan
from trainwright.plan.environments import locked_environments
from trainwright.runtime import virtualenv
from trainwright.runtime.uv import find
from trainwright.service.context import Context
from trainwright.service.environments import built, remove, restorable
from trainwright.service.locking import lock_plan
from trainwright.service.submit import environment_of
from trainwright.spec.load import load
from wheelhouse import Index, hash_of, surroundings, wheel


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("house")
    for name, version, needs in (("alpha", "1.0", ""), ("alpha", "2.0", ""), ("beta", "1.0", "alpha")):
        wheel(folder, name, version, needs)
    return folder


@pytest.fixture
def project(tmp_path: Path, house: Path) -> Context:
    return replace(context(tmp_path), environ=surroundings(house))


Lock = Callable[[str], StepEnvironment]


@pytest.fixture
def lock(project: Context) -> Lock:
    def of(words: str) -> StepEnvironment:
        document = load(f"pipeline: p\nsteps: {{a: {{run: x, environment: {words}}}}}\n", "p.yaml")
        plan = lock_plan(project, document, compile_plan(document, {}, ()), project.here)
        (found,) = locked_environments(plan).values()
        return found

    return of


def text(project: Context, environment: StepEnvironment) -> str:
    assert environment.lock is not None
    return project.content.read(environment.lock, "lock").decode()


def pin(house: Path, name: str, version: str) -> str:
    return f"{name}=={version} --hash=sha256:{hash_of(house / f'{name}-{version}-py3-none-any.whl')}\n"


def test_every_way_of_asking_for_the_same_gives_the_same_environment(project: Context, lock: Lock, house: Path) -> None:
    folder = project.here
    (folder / "r.txt").write_text("-r more.txt\n")
    (folder / "more.txt").write_text("beta\n")
    (folder / "l.lock").write_text(f"--index-url https://u:p@example.org\n{pin(house, 'beta', '1.0')}")
    with (folder / "l.lock").open("a") as file:
        file.write(pin(house, "alpha", "2.0"))
    (folder / "pyproject.toml").write_text('[project]\nname = "mine"\nversion = "1"\ndependencies = ["beta"]\n')
    found = [lock(w) for w in ("{requirements: r.txt}", "{lockfile: l.lock}", "{project: .}")]
    assert len({one.key for one in found}) == 1
    assert len({one.lock for one in found}) == 1
    assert text(project, found[0]) == pin(house, "alpha", "2.0") + pin(house, "beta", "1.0")
    assert found[0].packages == 2


def test_a_project_with_a_uv_lock_is_taken_as_it_is_locked(project: Context, lock: Lock, house: Path) -> None:
    toml = '[project]\nname = "mine"\nversion = "1"\nrequires-python = ">=3.11"\ndependencies = ["alpha<2"]\n'
    extra = '[project.optional-dependencies]\nmore = ["beta"]\n'
    (project.here / "pyproject.toml").write_text(toml + extra)
    uv = find(project.environ["PATH"])
    with Index(house) as index:
        env = {**project.environ, **index.settings}
        index.may_answer.set()
        subprocess.run([uv, "lock", "--quiet"], cwd=project.here, env=env, check=True)
        object.__setattr__(project, "environ", env)  # as the lock knows its index
        _check_project(project, lock, house, toml + extra)


def _check_project(project: Context, lock: Lock, house: Path, toml: str) -> None:
    bare, with_extra, by_file = (
        lock("{project: .}"), lock("{project: ., extras: [more]}"), lock("{lockfile: uv.lock}")
    )  # fmt: skip
    assert text(project, bare) == pin(house, "alpha", "1.0") == text(project, by_file)
    assert text(project, with_extra) == pin(house, "alpha", "1.0") + pin(house, "beta", "1.0")
    assert len({bare.key, with_extra.key}) == 2
    (project.here / "pyproject.toml").write_text(toml.replace("alpha<2", "alpha>1"))
    with pytest.raises(SpecError) as caught:
        lock("{project: .}")
    assert caught.value.problem.code == "TW2212"
    assert "lock" in caught.value.problem.why


def test_a_lock_that_was_made_is_used_until_its_files_change(project: Context, lock: Lock, house: Path) -> None:
    (project.here / "r.txt").write_text("alpha\n")
    first = lock("{requirements: r.txt}")
    assert "==2.0" in text(project, first)
    wheel(house, "alpha", "3.0")
    try:
        assert lock("{requirements: r.txt}") == first
        (project.here / "r.txt").write_text("alpha # newer\n")
        assert "==3.0" in text(project, lock("{requirements: r.txt}"))
    finally:
        (house / "alpha-3.0-py3-none-any.whl").unlink()


def test_an_empty_file_is_an_interpreter_alone(project: Context, lock: Lock) -> None:
    (project.here / "r.txt").write_text("# nothing\n")
    found = lock("{requirements: r.txt}")
    assert (found.packages, text(project, found)) == (0, "")


def test_what_does_not_go_together_is_told_in_the_words_of_uv(project: Context, lock: Lock) -> None:
    (project.here / "r.txt").write_text("beta\nalpha>7\n")
    with pytest.raises(SpecError) as caught:
        lock("{requirements: r.txt}")
    problem = caught.value.problem
    assert (problem.code, problem.where) == ("TW2212", "p.yaml:2:49")
    assert "alpha" in problem.why
    assert "\n" not in problem.why


def test_only_a_locked_environment_is_restorable(project: Context, lock: Lock) -> None:
    (project.here / "r.txt").write_text("alpha\n")
    found = lock("{requirements: r.txt}")
    whole = Environment("3.11.7", {}, locked=True, locks={found.name: found})
    assert restorable(project, whole).exact
    assert from_json(Environment, to_json(whole)) == whole
    elsewhere = replace(whole, locks={found.name: replace(found, platform="linux-sparc")})
    assert "was locked for linux-sparc" in restorable(project, elsewhere).gaps[0]
    lost = replace(whole, locks={found.name: replace(found, lock=Digest("sha256:" + "0" * 64))})
    assert "is not stored any more" in restorable(project, lost).gaps[0]


def test_an_inherited_environment_is_at_best_what_is_here_now(project: Context) -> None:
    document = load("pipeline: p\nsteps: {a: {run: x}}\n", "p.yaml")
    here = environment_of(project, compile_plan(document, {}, ()))
    said = restorable(project, here)
    assert (said.exact, said.same_here) == (False, True)
    assert "was inherited, and no lock holds them" in said.gaps[0]
    other = replace(here, packages={**here.packages, "no-such-package": "1"})
    assert not restorable(project, other).same_here


def test_environments_of_the_machine_are_listed_and_removed(project: Context) -> None:
    assert built(project) == []
    keys = ["a" * 64, "ab" * 32]
    for key in keys:
        (project.environments / key).mkdir(parents=True)
        (project.environments / f"{key}.lease").touch()
    (project.environments / keys[0] / virtualenv.READY).write_text('{"python": "3.11.7", "packages": 3}')
    assert {(one.python, one.packages, one.leased) for one in built(project)} == {("3.11.7", 3, False), ("", 0, False)}
    with pytest.raises(NotFoundError, match="fits 2"):
        remove(project, "a")
    held = virtualenv.Builder(str(project.environments), {}, "log")._flock(
        str(project.environments / f"{keys[0]}.lease"), shared=True
    )
    with pytest.raises(ConflictError, match="in use"):
        remove(project, "aa")
    os.close(held)
    assert remove(project, "aa").key == keys[0]
    assert [one.key for one in built(project)] == [keys[1]]
