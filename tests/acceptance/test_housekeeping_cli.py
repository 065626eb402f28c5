"""``tw gc`` and ``tw doctor --repair`` as a person types them."""

import hashlib
import os
import sqlite3
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from shell import Shell

PIPELINE = """\
pipeline: small
params: {weight: 1}
data: {raw: raw.csv}
steps:
  train:
    run: cp ${{ data.raw }} ${{ out.model }}; echo ${{ params.weight }} >> ${{ out.model }}; echo "told"
    out: {model: model}
  judge:
    run: test -s ${{ train.model }} && python -c 'import trainwright as tw; tw.log(auc=0.9)'
    check: auc >= 0.8
  register: {uses: register, with: {model: train.model, name: small, alias: candidate}}
"""


@pytest.fixture
def tw(tmp_path):
    places = {name: str(tmp_path / name) for name in ("home", "machine", "runtime")}
    environ = {"TW_HOME": places["home"], "TW_MACHINE_DIR": places["machine"], "TW_RUNTIME_DIR": places["runtime"]}
    with Shell(tmp_path / "project", **environ) as shell:
        shell.write("raw.csv", "x,y\n1,2\n")
        shell.write("pipeline.yaml", PIPELINE)
        yield shell


def home(tw) -> Path:
    return Path(tw.environ["TW_HOME"])


def age(tw, hours: float) -> None:
    """Make all that is there as old as that: records and files."""
    with closing(sqlite3.connect(home(tw) / "state.db")) as base, base:
        at = (datetime.now(UTC) - timedelta(hours=hours)).isoformat(timespec="microseconds")
        base.execute("UPDATE run SET finished_at = ? WHERE finished_at IS NOT NULL", (at,))
    then = time.time() - hours * 3600
    for path in (home(tw) / "content" / "manifests").rglob("*"):
        os.utime(path, (then, then))


def tree_hash(folder: Path) -> str:
    hasher = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        facts = path.lstat()
        hasher.update(f"{path.relative_to(folder)} {facts.st_mode} {facts.st_mtime_ns}\n".encode())
        hasher.update(path.read_bytes() if path.is_file() and not path.is_symlink() else b"")
    return hasher.hexdigest()


def attempt(tw, run: str = "-1", step: str = "train") -> Path:
    return home(tw) / "runs" / str(tw.show(run)["run"]["id"]) / step / "1"


@pytest.mark.slow
def test_collecting_frees_scratch_and_content_and_what_is_recorded_still_works(tw, tmp_path):
    tw.run("run", "pipeline.yaml", code=0)
    tw.write("failing.yaml", "pipeline: failing\nsteps: {a: {run: 'echo bad; exit 3'}}\n")
    tw.run("run", "failing.yaml", code=1)
    tw.run("run", "pipeline.yaml", "-p", "weight=2", code=0)
    lineage = tw.run("lineage", "models/small@candidate", code=0).out
    age(tw, 50)
    before = tree_hash(home(tw))
    told = tw.run("gc", "--keep-runs", "2d", "--dry-run", code=0)
    assert "nothing was touched" in told.out
    assert told.err == ""
    assert tree_hash(home(tw)) == before
    dry = tw.run("gc", "--dry-run", "--json", code=0).json
    done = tw.run("gc", "--json", code=0).json
    assert {**dry["collected"], "dry_run": False} == done["collected"]
    assert done["freed_bytes"] == dry["freed_bytes"] > 0
    assert done["collected"]["removed"] == []
    assert done["collected"]["scratch"]["count"] == 5
    assert sorted(p.name for p in attempt(tw).iterdir() if p.is_dir()) == []
    assert tw.run("logs", "2/a", code=0).out == "bad\n"
    removed = tw.run("gc", "--keep-runs", "2d", "--json", code=0).json["collected"]
    assert len(removed["removed"]) == 1
    assert tw.run("show", "2").code == 4
    assert tw.run("lineage", "models/small@candidate", code=0).out == lineage
    for version in (1, 2):
        with sqlite3.connect(home(tw) / "state.db") as base:
            digest = base.execute("SELECT digest FROM model_version WHERE version = ?", (version,)).fetchone()[0]
        base.close()
        assert export(tw, digest, tmp_path / f"out{version}") == f"x,y\n1,2\n{version}\n"
    assert tw.run("run", "pipeline.yaml", code=0)
    assert tw.run("doctor", "--deep", code=0)
    said = tw.run("gc", code=0)
    assert said.out == "freed 0B\n"
    assert "tw gc --keep-runs 30d" in said.err


def export(tw, digest: str, target: Path) -> str:
    script = "import sys; from trainwright.runtime import content; content.export(*sys.argv[1:])"
    done = tw.shell(f"python -c '{script}' {home(tw)}/content {digest} {target}")
    assert done.returncode == 0, done.stderr
    return target.read_text()


def test_an_age_that_is_none_is_refused(tw):
    said = tw.run("gc", "--keep-runs", "a month", code=2)
    assert "error[TW2005]" in said.err
    assert "--keep-runs 30d" in said.err


@pytest.mark.slow
def test_doctor_tells_and_mends_what_a_power_cut_left(tw):
    tw.run("dataset", "add", "raw", "raw.csv", code=0)
    tw.run("run", "pipeline.yaml", code=0)
    (bundle,) = (home(tw) / "runs" / ".runtime").glob("*.pyz")
    bundle.write_bytes(b"garbage")
    (attempt(tw) / "result.json").write_bytes(b"")
    digits = hashlib.sha256((tw.folder / "raw.csv").read_bytes()).hexdigest()
    blob = home(tw) / "content" / "blobs" / digits[:2] / digits
    blob.chmod(0o644)
    blob.write_bytes(b"x,")
    sick = tw.run("doctor", code=1)
    assert "✗ content" in sick.out
    assert "datasets/raw@1" in sick.out
    assert "- records" in sick.out
    assert "- runtime" in sick.out
    assert blob.exists()
    tw.run("doctor", "--repair", code=1)
    assert (attempt(tw) / "result.json.broken").exists()
    findings = {finding["subject"]: finding for finding in tw.run("doctor", "--json").json}
    assert [findings[name]["ok"] for name in ("content", "records", "database")] == [False, True, True]
    assert "datasets/raw@1" in findings["content"]["addresses"]
    tw.run("dataset", "add", "raw", "raw.csv", code=0)
    tw.run("doctor", "--deep", code=0)
    tw.run("run", "pipeline.yaml", code=0)


@pytest.mark.slow
def test_doctor_backs_up_the_database_and_says_how_to_go_back_to_a_backup(tw, tmp_path):
    tw.run("dataset", "add", "raw", "raw.csv", code=0)
    backup = home(tw) / "state.before-it-broke.db"
    tw.run("doctor", "--backup", str(backup), code=0)
    assert "error[TW5201]" in tw.run("doctor", "--backup", str(backup), code=1).err
    (home(tw) / "state.db").write_bytes(b"garbage" * 1000)
    said = tw.run("doctor", code=1)
    assert f"cp {backup} {home(tw)}/state.db" in said.out
    assert (home(tw) / "state.db").read_bytes() == b"garbage" * 1000
    fix = said.out.split("then: ")[1]
    assert tw.shell(fix).returncode == 0
    assert "datasets/raw@1" in tw.run("dataset", "ls", code=0).out


def test_doctor_tells_of_memory_files_supervisor_and_neighbours(tw):
    findings = {finding["subject"]: finding for finding in tw.run("doctor", "--json", code=0).json}
    assert {"memory limit", "open files", "supervisor", "held by"} <= findings.keys()
    assert findings["held by"]["words"] == "nobody but this project"
    few = tw.shell("ulimit -Sn 256; tw doctor")
    assert few.returncode == 0
    assert "- open files   256 here" in few.stdout
    assert "ulimit -n" in few.stdout
