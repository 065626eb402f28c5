"""Environments of a machine: built once, held while used, made anew when a build was killed."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from trainwright.runtime import uv, virtualenv
from trainwright.runtime.virtualenv import Builder, BuildError, StoppedError, Wanted
from wheelhouse import hash_of, surroundings, wheel

VERSION = ".".join(map(str, sys.version_info[:3]))


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("house")
    wheel(folder, "alpha", "1.0")
    wheel(folder, "alpha", "2.0")
    wheel(folder, "beta", "1.0", needs="alpha")
    return folder


def wanted(house: Path, *pins: str, key: str = "a" * 64) -> Wanted:
    lines = [f"{pin} --hash=sha256:{hash_of(house / (pin.replace('==', '-') + '-py3-none-any.whl'))}" for pin in pins]
    return Wanted(key, VERSION, "\n".join(lines).encode() + b"\n", len(pins))


def builder(root: Path, house: Path, is_stopped: Callable[[], bool] = lambda: False, **more: str) -> Builder:
    env = {os.fsencode(k): os.fsencode(v) for k, v in surroundings(house, **more).items()}
    root.mkdir(parents=True, exist_ok=True)
    return Builder(str(root / "envs"), env, str(root / "log"), is_stopped)


def says(path: str, program: str) -> str:
    return subprocess.run([f"{path}/bin/python", "-c", program], check=True, capture_output=True, text=True).stdout


def test_an_environment_is_built_in_its_place_and_found_the_next_time(tmp_path: Path, house: Path) -> None:
    first = builder(tmp_path, house).hold(wanted(house, "alpha==1.0", "beta==1.0"))
    assert (first.built, says(first.path, "import alpha, beta; print(alpha.VERSION)")) == (True, "1.0\n")
    assert virtualenv.facts_of(first.path)["packages"] == 2
    assert "Installed 2 packages" in (tmp_path / "log").read_text()
    again = builder(tmp_path, house).hold(wanted(house, "alpha==1.0", "beta==1.0"))
    assert (again.built, again.path) == (False, first.path)


def test_nothing_is_added_to_an_environment_but_by_root(tmp_path: Path, house: Path) -> None:
    held = builder(tmp_path, house).hold(wanted(house, "alpha==1.0"))
    folders = [Path(held.path), *(p for p in Path(held.path).rglob("*") if p.is_dir() and not p.is_symlink())]
    assert {folder.stat().st_mode & 0o222 for folder in folders} == {0}
    if os.getuid():
        with pytest.raises(PermissionError):
            (Path(held.path) / "new").touch()


def test_an_environment_without_packages_is_just_an_interpreter(tmp_path: Path, house: Path) -> None:
    held = builder(tmp_path, house).hold(Wanted("b" * 64, VERSION, b"", 0))
    assert says(held.path, "import sys; print(sys.prefix)").strip() == held.path


def test_a_wrong_hash_is_refused_and_leaves_nothing_that_counts(tmp_path: Path, house: Path) -> None:
    wrong = Wanted("c" * 64, VERSION, b"alpha==1.0 --hash=sha256:" + b"0" * 64 + b"\n", 1)
    with pytest.raises(BuildError, match=r"(?i)hash") as caught:
        builder(tmp_path, house).hold(wrong)
    assert "alpha" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not virtualenv.is_ready(str(tmp_path / "envs" / ("c" * 64)))


def test_a_version_that_is_nowhere_is_told_in_the_words_of_uv(tmp_path: Path, house: Path) -> None:
    absent = Wanted("d" * 64, VERSION, b"alpha==9.0 --hash=sha256:" + b"0" * 64 + b"\n", 1)
    with pytest.raises(BuildError, match=r"alpha==9\.0"):
        builder(tmp_path, house).hold(absent)


def test_without_uv_the_remedy_is_told(tmp_path: Path, house: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uv, "find", lambda _: "")
    with pytest.raises(BuildError, match=r"pip install 'trainwright\[env\]'"):
        builder(tmp_path, house).hold(wanted(house, "alpha==1.0"))


HOLD = """
import os, sys
from trainwright.runtime.virtualenv import Builder, Wanted
root, version, lock = sys.argv[1:]
held = Builder(root + "/envs", os.environb, root + "/log").hold(Wanted("a" * 64, version, lock.encode(), 1))
print(held.built)
"""


def test_of_sixteen_that_want_it_at_once_one_builds(tmp_path: Path, house: Path) -> None:
    lock = wanted(house, "alpha==1.0").lock.decode()
    words = [sys.executable, "-c", HOLD, str(tmp_path), VERSION, lock]
    many = [
        subprocess.Popen(words, env=surroundings(house), stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
        for _ in range(16)
    ]
    said = [process.communicate(timeout=120)[0].strip() for process in many]
    assert sorted(said) == ["False"] * 15 + ["True"]


def test_a_build_that_was_killed_is_made_anew(tmp_path: Path, house: Path, until: Any) -> None:
    slow = _slow_uv(tmp_path)
    pid = os.fork()
    if pid == 0:
        try:
            builder(tmp_path, house, PATH=f"{slow}:{os.environ['PATH']}").hold(wanted(house, "alpha==1.0"))
        finally:
            os._exit(1)
    until((slow / "begun").exists)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    path = tmp_path / "envs" / ("a" * 64)
    assert path.exists()
    assert not virtualenv.is_ready(str(path))
    (slow / "go").touch()  # the orphan ends, and with it its turn
    held = builder(tmp_path, house).hold(wanted(house, "alpha==1.0"))
    assert (held.built, says(held.path, "import alpha; print(alpha.VERSION)")) == (True, "1.0\n")


def test_whoever_is_told_to_stop_stops_building(tmp_path: Path, house: Path) -> None:
    slow = _slow_uv(tmp_path)
    began = time.monotonic()
    with pytest.raises(StoppedError):
        builder(tmp_path, house, (slow / "begun").exists, PATH=f"{slow}:{os.environ['PATH']}").hold(
            wanted(house, "alpha==1.0")
        )
    assert time.monotonic() - began < 60
    assert builder(tmp_path, house).hold(wanted(house, "alpha==1.0")).built


def test_what_is_in_use_is_not_removed(tmp_path: Path, house: Path) -> None:
    held = builder(tmp_path, house).hold(wanted(house, "alpha==1.0"))
    root, key = str(tmp_path / "envs"), "a" * 64
    assert virtualenv.keys(root) == [key]
    assert virtualenv.is_leased(root, key)
    assert not virtualenv.remove(root, key)
    held.release()
    assert not virtualenv.is_leased(root, key)
    assert virtualenv.remove(root, key)
    assert virtualenv.keys(root) == []
    assert builder(tmp_path, house).hold(wanted(house, "alpha==1.0")).built


def test_a_folder_that_others_may_write_is_not_trusted(tmp_path: Path, house: Path) -> None:
    (tmp_path / "envs").mkdir()
    (tmp_path / "envs").chmod(0o777)
    with pytest.raises(BuildError, match="not ours alone"):
        builder(tmp_path, house).hold(wanted(house, "alpha==1.0"))


def test_a_key_is_no_path() -> None:
    with pytest.raises(BuildError, match="no key"):
        Wanted("../" * 21 + "x", VERSION, b"", 0)


def _slow_uv(folder: Path) -> Path:
    """A uv that makes the environment, says so, and then waits to go on."""
    place = folder / "slow"
    place.mkdir()
    real = uv.find(os.environ["PATH"])
    (place / "uv").write_text(
        f'#!/bin/sh\n[ "$1" = venv ] && exec {real} "$@"\ntouch {place}/begun\n'
        f"while [ ! -e {place}/go ]; do sleep 0.02; done\n"
    )
    (place / "uv").chmod(0o755)
    return place
