"""Equal data is the equal version, on any day, in any order, in any place (G27); and data that is not copied."""

import os
import random
import shutil
import signal
import time
from pathlib import Path

import pytest
from shell import Shell, ended

MANY = 1000


@pytest.fixture
def tw(tmp_path: Path):
    with Shell(tmp_path / "project") as shell:
        yield shell


def lay(folder: Path, numbers) -> Path:
    for number in numbers:
        path = folder / f"{number % 7}" / f"é{number}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(str(number))
    return folder


def add(tw: Shell, path: Path, *options: str, **environ: str) -> dict:
    return tw.run("dataset", "add", "same", str(path), *options, "--json", cwd=None, code=0, **environ).json


def test_the_same_data_is_the_same_version_and_other_data_is_another(tw: Shell, tmp_path: Path) -> None:
    one = lay(tmp_path / "one", range(MANY))
    first = add(tw, one)
    two = lay(tmp_path / "two", reversed(range(MANY)))
    memory = Path("/dev/shm")  # another file system, where there is one
    elsewhere = shutil.copytree(one, (memory if os.access(memory, os.W_OK) else tmp_path) / f"tw-{os.getpid()}")
    try:
        same = [add(tw, two), add(tw, elsewhere)]
    finally:
        shutil.rmtree(elsewhere)
    for path in one.rglob("*"):
        os.utime(path, (1, 1))
    (one / "empty").mkdir()
    environs = ({"PYTHONHASHSEED": "0"}, {"PYTHONHASHSEED": "1"}, {"PYTHONHASHSEED": "2", "LC_ALL": "C"})
    same += [add(tw, one, "--strict", **environ) for environ in environs]
    same.append(add(tw, one, LC_ALL="C.UTF-8"))
    assert {(said["address"], said["new"]) for said in same} == {(first["address"], False)}
    digests = {first["version"]["content"]["digest"]}
    (one / "1" / "é1").rename(one / "1" / "other")
    digests.add(add(tw, one)["version"]["content"]["digest"])
    (two / "1" / "é1").write_text("2")
    (two / "2" / "é2").write_text("1")
    digests.add(add(tw, two)["version"]["content"]["digest"])
    (two / "3" / "é3").chmod(0o755)
    digests.add(add(tw, two)["version"]["content"]["digest"])
    facts = (two / "4" / "é4").stat()
    (two / "4" / "é4").write_text("X")
    os.utime(two / "4" / "é4", ns=(facts.st_atime_ns, facts.st_mtime_ns))
    digests.add(add(tw, two, "--strict")["version"]["content"]["digest"])
    assert len(digests) == 5


def test_killed_while_adding_nothing_is_lost_or_wrong(tw: Shell, tmp_path: Path) -> None:
    data = lay(tmp_path / "data", range(MANY))
    (data / "large").write_bytes(os.urandom(9_000_000))
    wanted = add(tw, data, TW_HOME=str(tmp_path / "other"))["version"]["content"]["digest"]
    chance = random.Random(5)
    for _ in range(4):
        process = tw.start("dataset", "add", "same", str(data))
        time.sleep(chance.uniform(0.1, 0.6))
        process.send_signal(signal.SIGKILL)
        process.communicate()
    said = add(tw, data)
    assert said["version"]["content"]["digest"] == wanted
    tw.run("doctor", "--deep", code=0)
    tw.shell("touch -d '2 hours ago' .trainwright/content/tmp/* 2>/dev/null")
    tw.run("gc", code=0)
    assert not list((tw.folder / ".trainwright" / "content" / "tmp").iterdir())
    tw.run("doctor", "--deep", code=0)


def test_two_who_add_the_same_at_once_make_one_version(tw: Shell, tmp_path: Path) -> None:
    data = lay(tmp_path / "data", range(300))
    tw.run("dataset", "ls", code=0)
    started = [tw.start("dataset", "add", "twice", str(data), "--json") for _ in range(2)]
    both = [ended(process) for process in started]
    assert [said.code for said in both] == [0, 0], both
    assert sorted(said.json["new"] for said in both) == [False, True]


def test_data_by_reference_is_read_where_it_is_or_not_at_all(tw: Shell, tmp_path: Path) -> None:
    data = lay(tmp_path / "data", range(30))
    noted = add(tw, data, "--reference")
    assert noted["by_reference"] == str(data)
    assert not list((tw.folder / ".trainwright" / "content").glob("blobs/*/*"))
    assert "by reference" in tw.run("dataset", "ls", code=0).out
    tw.write(
        "p.yaml",
        """\
        pipeline: p
        data: {raw: datasets/same@latest}
        steps:
          read: {run: "readlink -f ${{ data.raw }} > ${{ out.where }}", out: {where: file}}
        """,
    )
    tw.run("run", "p.yaml", code=0)
    tw.run("doctor", code=0)
    (data / "1" / "é1").write_text("X")
    tw.run("run", "p.yaml", "--cache", "refresh", code=1)
    why = tw.run("why", "-1").out
    assert f"{data}/1/é1 changed since it was added by reference" in why
    assert f"{data}/1/é1" in tw.run("doctor").out
    (data / "1" / "é1").write_text("1")
    tw.run("run", "p.yaml", "--cache", "refresh", code=0, TW_STRICT="1")
    assert add(tw, data, "--copy")["by_reference"] is None
    shutil.rmtree(data)
    tw.run("run", "p.yaml", "--cache", "refresh", code=0)


def test_nothing_large_is_copied_unasked(tw: Shell, tmp_path: Path) -> None:
    data = lay(tmp_path / "data", range(30))
    refused = tw.run("dataset", "add", "same", str(data), code=3, TW_COPY_LIMIT="10")
    assert "TW3511" in refused.err
    assert "--reference" in refused.err
    assert "--copy" in refused.err
    tw.write("p.yaml", f"pipeline: p\ndata: {{raw: {data}}}\nsteps:\n  read: {{run: 'true'}}\n")
    assert "p.yaml:2:" in tw.run("run", "p.yaml", code=3, TW_COPY_LIMIT="10").err
    assert not list((tw.folder / ".trainwright" / "content").glob("blobs/*/*"))
    tw.run("dataset", "add", "same", str(data), "--copy", code=0, TW_COPY_LIMIT="10")
    assert "TW2131" in tw.run("dataset", "ls", code=2, TW_COPY_LIMIT="much").err
    assert "TW2132" in tw.run("dataset", "add", "x", str(data), "--copy", "--reference", code=2).err


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_an_unreadable_file_is_one_clear_message(tw: Shell, tmp_path: Path) -> None:
    data = lay(tmp_path / "data", range(3))
    (data / "1" / "é1").chmod(0)
    said = tw.run("dataset", "add", "same", str(data), code=1)
    assert "é1 cannot be read: Permission denied" in said.err


def test_progress_is_for_terminals_only(tw: Shell, tmp_path: Path) -> None:
    data = lay(tmp_path / "data", range(3))
    assert tw.run("dataset", "add", "same", str(data), code=0).err == ""
