"""``tw reproduce``: a run made again from its record, graded before it starts and compared at its end."""

import json
import shutil
from pathlib import Path

import pytest
from shell import Shell

from trainwright.core.ids import Digest
from trainwright.plugins.stores.local import LocalContent

GIT = "git -c user.name=ada -c user.email=ada@example.org -c init.defaultBranch=main"
PIPELINE = """
pipeline: fit
params: {C: 1.5, seed: 7}
data: {raw: datasets/points@latest}
reproduce: {tolerance: {train.drift: 0.01}}
steps:
  train:
    run: python train.py ${{ data.raw }} ${{ out.model }}
    out: {model: model}
  judge:
    run: python judge.py ${{ train.model }}
    check: "auc >= 0.1"
  register: {uses: register, with: {model: train.model, name: fit, alias: candidate}}
"""
TRAIN = """\
import os
import sys

import trainwright as tw

text = open(sys.argv[1]).read()
open(os.environ["TRACE"], "a").write("train\\n")
times = len(open(os.environ["TRACE"]).readlines())
tw.log(rows=len(text.splitlines()), drift=1 + times * float(os.environ.get("DRIFT", "0")))
open(sys.argv[2], "w").write(text)
"""


def prepare(folder: Path) -> Shell:
    """A pipeline and its data in a project."""
    shell = Shell(folder, TRACE=str(folder.parent / "trace"), HOME=str(folder.parent))
    shell.write("fit.yaml", PIPELINE)
    (shell.folder / "train.py").write_text(TRAIN)
    shell.write("judge.py", "import trainwright as tw; tw.log(auc=0.5)\n")
    (folder.parent / "points.csv").write_text("1\n2\n3\n")
    shell.run("dataset", "add", "points", "../points.csv", code=0)
    return shell


@pytest.fixture
def tw(tmp_path):
    with prepare(tmp_path / "p") as shell:
        yield shell


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """A project with one run, which tests make again and leave as it is."""
    with prepare(tmp_path_factory.mktemp("ran") / "p") as shell:
        shell.run("run", "fit.yaml", code=0)
        yield shell


def traced(tw: Shell) -> int:
    return len((tw.folder.parent / "trace").read_text().split())


def words(text: str) -> list[str]:
    """Return the lines with one space between words."""
    return [" ".join(line.split()) for line in text.splitlines()]


def drop(tw: Shell, *names: str) -> None:
    """Lose the stored bytes of every file of these contents."""
    content = LocalContent(tw.folder / ".trainwright/content")
    for name in names:
        for _, _, sha256 in content.entries(Digest(name)):
            for path in (tw.folder / ".trainwright/content").rglob(f"*{sha256[4:]}"):
                path.chmod(0o600)
                path.unlink()
    shutil.rmtree(tw.folder / ".trainwright/content/trees", ignore_errors=True)


def test_a_run_is_made_again_from_its_record_whatever_became_of_code_and_data(tw):
    tw.run("run", "fit.yaml", code=0)
    (tw.folder / "train.py").write_text("raise SystemExit('edited')\n")
    (tw.folder.parent / "points.csv").write_text("other\n")
    said = tw.run("reproduce", "1", code=0)
    lines = said.err.splitlines()
    assert lines[0].startswith("reproduces fit #1 (r")
    assert lines[1] == "grade: same-environment"
    assert "it was inherited, not locked" in lines[2]
    assert "points.csv holds other bytes by now; the store has the 6B of the run" in said.err
    assert "judge.auc 0.5 0.5 0 exact equal" in words(said.out)
    assert "1 of 1 outputs have the same bytes" in said.out
    assert said.out.splitlines()[-1] == "✓ reproduced"
    assert traced(tw) == 2, "nothing was reused"
    first, second = tw.show("1"), tw.show("2")
    assert first["run"]["fingerprint"] == second["run"]["fingerprint"]
    assert [s["state"] for s in second["steps"]] == ["succeeded", "succeeded", "skipped"]


def test_it_registers_nothing_and_is_shown_with_its_original(ran):
    again = ran.run("reproduce", "1", "--json", code=0).json
    assert [m["version"] for m in ran.run("model", "ls", "--json", code=0).json] == [1]
    original = again["original"]
    assert again["reproduces"]["run"] == original["id"]
    assert again["reproduces"]["grade"] == "same-environment"
    assert f"made again by runs/{again['id']}, same-environment, succeeded" in ran.run("show", "1").out
    assert f"reproduces runs/{original['id']}, same-environment" in ran.run("show", again["id"]).out
    assert f"reproduces runs/{original['id']}" in ran.run("why", again["id"]).out
    assert "makes runs/" in ran.run("why", f"{again['id']}/register").out


def test_metrics_are_compared_within_the_tolerance_of_the_pipeline(tw):
    tw.run("run", "fit.yaml", code=0, DRIFT="0.009")
    within = tw.run("reproduce", "1", code=0, DRIFT="0.009")
    assert "train.drift 1.009 1.018 0.009 0.01 within" in words(within.out)
    beyond = tw.run("reproduce", "1", code=7, DRIFT="0.009")
    assert "train.drift 1.009 1.027 0.018 0.01 differs" in words(beyond.out)
    assert beyond.out.splitlines()[-1] == "✗ not reproduced"
    forgiving = ("--tolerance", "drift=1", "--tolerance", "train.drift=5%", "--tolerance", "nothing=1")
    said = tw.run("reproduce", "1", *forgiving, "--json", code=0, DRIFT="0.009").json
    assert said["comparison"]["reproduced"] is True
    assert said["comparison"]["unused"] == ["nothing"]
    assert [m["tolerance"] for m in said["comparison"]["metrics"]] == ["5%", "exact", "exact"]
    assert "TW2209" in tw.run("reproduce", "1", "--tolerance", "drift", code=2).err


def test_a_detached_one_is_compared_by_whoever_waits_for_it(ran):
    again = ran.run("reproduce", "1", "-d", code=0, DRIFT="1").out.strip()
    said = ran.run("wait", again, code=7)
    assert "train.drift" in said.out
    assert "✗ not reproduced" in said.out


def test_a_fingerprint_is_an_address_and_a_dry_run_queues_nothing(ran):
    before = traced(ran), len(ran.run("ps", "--json", code=0).json)
    address = f"fp:{ran.show('1')['run']['fingerprint'][7:19]}"
    said = ran.run("reproduce", address, "--dry-run", "--json", code=0).json
    assert said["grade"] == "same-environment"
    assert {gap["part"] for gap in said["gaps"]} == {"environment", "steps"}
    assert before == (traced(ran), len(ran.run("ps", "--json", code=0).json))


def test_data_that_is_gone_is_read_from_its_origin_or_refused_with_the_list(tw):
    tw.run("run", "fit.yaml", code=0)
    digest = tw.show()["fingerprint"]["data"]["raw"]
    drop(tw, digest)
    said = tw.run("reproduce", "1", code=0)
    assert "note:  data: raw (datasets/points@1, 6B" in said.err
    assert "points.csv still holds the same and was read again" in said.err

    drop(tw, digest)
    (tw.folder.parent / "points.csv").write_text("other\n")
    said = tw.run("reproduce", "1", code=4)
    assert "grade: none, it cannot start" in said.err
    assert "lost:  data: raw (datasets/points@1, 6B" in said.err
    assert "points.csv holds others by now" in said.err
    assert "error[TW4107]" in said.err
    (tw.folder.parent / "points.csv").unlink()
    drop(tw, tw.show("1")["fingerprint"]["code"]["tree"])
    said = tw.run("reproduce", "1", "--into", "out", code=4)
    assert "lost:  code: its bytes" in said.err
    assert "nothing to read at" in said.err
    assert tw.run("reproduce", "1", "--dry-run", "--json", code=0).json["grade"] is None
    assert not (tw.folder / "out").exists()
    assert len(tw.run("ps", "--json", code=0).json) == 2, "nothing was queued"


def test_a_mixture_and_a_failure_are_said_and_made_again_as_a_whole(tw):
    tw.write("judge.py", "import trainwright as tw; tw.log(auc=0.05)\n")
    tw.run("run", "fit.yaml", code=7)
    tw.write("judge.py", "import trainwright as tw; tw.log(auc=0.5)\n")
    tw.run("resume", "1", "--with-code", "WORKTREE", code=0)
    said = tw.run("reproduce", "2", code=0)
    assert "gap:   steps: train did not run, but taken over from runs/" in said.err
    assert traced(tw) == 2
    failed = tw.run("reproduce", "1", code=0)
    assert "note:  steps: the original is failed: the step judge failed" in failed.err
    assert "✓ reproduced" in failed.out


def test_a_run_that_goes_on_is_not_made_again(tw):
    tw.write("slow.yaml", "pipeline: slow\nsteps:\n  a: {run: exec sleep 60}\n")
    run = tw.run("run", "-d", "slow.yaml", code=0).out.strip()
    assert "TW5301" in tw.run("reproduce", run, code=1).err
    tw.run("stop", run, code=0)
    tw.run("wait", run, code=1)
    assert "TW4001" in tw.run("reproduce", "nothing", code=4).err
    assert "TW2104" in tw.run("reproduce", f"{run}/a", code=2).err


def test_another_machine_is_a_gap_and_one_that_is_too_small_refuses(tw):
    tw.write("gpus.yaml", "pipeline: gpus\nparams: {seed: 1}\nsteps:\n  a: {run: echo a, resources: {gpu: 1}}\n")
    for name, cards in (("large", ["H100", "H100"]), ("other", ["A100"]), ("small", [])):
        gpus = [{"model": card, "memory": "80Gi"} for card in cards]
        tw.write(f"../{name}.json", json.dumps({"cpu": 8, "memory": "64Gi", "gpus": gpus}))
    machine = lambda name: str(tw.folder.parent / f"{name}.json")  # noqa: E731
    tw.run("run", "gpus.yaml", code=0, TW_INVENTORY=machine("large"))
    said = tw.run("reproduce", "gpus", code=0, TW_INVENTORY=machine("other"))
    assert "gap:   hardware: it differs: gpus H100, H100 → A100" in said.err
    assert "✓ reproduced" in said.out, "neither has metrics or outputs"
    said = tw.run("reproduce", "gpus", code=3, TW_INVENTORY=machine("small"))
    assert "error[TW3301]" in said.err
    assert len(tw.run("ps", "--json", code=0).json) == 2


def test_functions_and_members_of_a_fan_out_are_made_again(tw):
    (tw.folder / "fan.py").write_text(
        "import trainwright as tw\n\n\n"
        "@tw.step(out={'names': 'value'})\ndef find():\n    return ['a', 'bb']\n\n\n"
        "@tw.step(out={'size': 'value'})\ndef measure(name, seed):\n"
        "    tw.log(size=len(name) * seed, bad=float('nan'))\n    return len(name)\n\n\n"
        "@tw.pipeline(reproduce={'tolerance': {'measure.*.size': '1%'}})\ndef fan(seed: int = 3):\n"
        "    measure.options(for_each=find())(tw.each.value, seed)\n"
    )
    tw.run("run", "fan.py", code=0)
    (tw.folder / "fan.py").unlink()
    said = tw.run("reproduce", "fan", "--json", code=0).json
    verdicts = {m["name"]: (m["verdict"], m["tolerance"]) for m in said["comparison"]["metrics"]}
    assert verdicts == {
        "measure.0.size": ("equal", "1%"),
        "measure.1.size": ("equal", "1%"),
        "measure.0.bad": ("not-a-number", "exact"),
        "measure.1.bad": ("not-a-number", "exact"),
    }
    assert {o["original"] == o["now"] for o in said["comparison"]["outputs"]} == {True}
    assert len(said["comparison"]["outputs"]) == 3


def test_a_restored_folder_is_whole_never_overwritten_and_reproduces_elsewhere(tw, tmp_path):
    tw.run("run", "fit.yaml", code=0)
    said = tw.run("reproduce", "1", "--into", "../carried", code=0)
    assert "next:  tw reproduce ../carried" in said.out
    carried = tmp_path / "carried"
    assert sorted(p.name for p in carried.iterdir()) == ["README.md", "code", "data", "record.json", "requirements.txt"]
    assert (carried / "data/raw/points.csv").read_text() == "1\n2\n3\n"
    assert "TW5201" in tw.run("reproduce", "1", "--into", "../carried", code=1).err
    assert "-p C=1.5 -p seed=7" in (carried / "README.md").read_text()
    assert not [p for p in tmp_path.iterdir() if p.name.endswith(".part")]

    with Shell(tmp_path / "elsewhere", TRACE=str(tmp_path / "trace")) as other:
        shutil.move(carried, other.folder / "here")
        again = other.run("reproduce", "./here", code=0)
        assert "compared with fit #1" in again.out
        assert again.out.splitlines()[-1] == "✓ reproduced"
        assert other.show()["run"]["fingerprint"] == tw.show("1")["run"]["fingerprint"]
        other.run("gc", code=0)
        assert "✓ reproduced" in other.run("wait", "1", code=0).out, "the original's records are kept"
        other.run("doctor", code=0)

        (other.folder / "here/code/__pycache__").mkdir()
        (other.folder / "here/code/__pycache__/x.pyc").touch()
        assert "✓ reproduced" in other.run("reproduce", "./here", code=0).out, "what came beside the code is not of it"
        (other.folder / "here/code/train.py").write_text("edited\n")
        assert "TW5304" in other.run("reproduce", "./here", code=1).err
        record = json.loads((other.folder / "here/record.json").read_text())
        record["fingerprint"]["seed"] = 8
        (other.folder / "here/record.json").write_text(json.dumps(record))
        assert "its record" in other.run("reproduce", "./here", code=1).err
        assert "TW4108" in other.run("reproduce", "./nowhere", code=4).err


@pytest.mark.slow
def test_g25_every_state_of_the_code_is_restored_to_the_byte(tw, tmp_path):
    """Five runs, five fingerprints; those of an edited and of an untracked file come back into an empty folder."""
    run = lambda folder: tw.run("run", "fit.yaml", cwd=folder, code=0, TW_HOME=str(tw.folder / ".trainwright"))  # noqa: E731
    tw.shell(f"echo .trainwright > .gitignore; {GIT} init -q; {GIT} add -A; {GIT} commit -qm first")
    run(tw.folder)
    tw.shell("echo '# edited' >> judge.py; chmod +x judge.py")
    run(tw.folder)
    edited = {p.name: p.read_bytes() for p in tw.folder.iterdir() if p.is_file()}
    tw.shell(
        "git checkout -q judge.py; echo 'WORD = 1' > extra.py; (echo import extra; cat judge.py) > j; mv j judge.py"
    )
    run(tw.folder)
    untracked = {p.name: p.read_bytes() for p in tw.folder.iterdir() if p.is_file()}
    tw.shell("git checkout -q judge.py; rm extra.py")
    outside = tmp_path / "outside"
    outside.mkdir()
    for name in ("fit.yaml", "train.py", "judge.py"):
        shutil.copy(tw.folder / name, outside)
    run(outside)
    tw.shell(f"git clone -q --depth 1 file://{tw.folder} ../shallow")
    run(tmp_path / "shallow")

    found = {number: tw.show(str(number)) for number in range(1, 6)}
    assert len({f["run"]["fingerprint"] for f in found.values()}) == 5
    states = [f["fingerprint"]["code"] for f in found.values()]
    assert [state["dirty"] for state in states] == [False, True, True, False, False]
    assert [state["shallow"] for state in states] == [False, False, False, False, True]
    assert [bool(state["commit"]) for state in states] == [True, True, True, False, True]

    for number, files in ((2, edited), (3, untracked)):
        empty = tmp_path / f"empty{number}"
        empty.mkdir()
        tw.run("reproduce", str(number), "--into", str(empty), code=0)
        assert {p.name: p.read_bytes() for p in (empty / "code").iterdir()} == files
        hashed = LocalContent(tmp_path / "hashing").put(empty / "code").digest
        assert hashed == found[number]["fingerprint"]["code"]["tree"], "modes and names too"
        data = LocalContent(tmp_path / "hashing").put(empty / "data/raw/points.csv").digest
        assert data == found[number]["fingerprint"]["data"]["raw"]
        assert "✓ reproduced" in tw.run("reproduce", str(number), code=0).out


def test_what_a_clone_lacks_is_said_before_the_run(tw):
    tw.shell(
        "echo '*.bin filter=lfs' > .gitattributes; printf 'version https://git-lfs.github.com/spec/v1\\noid sha256:"
        + "4d" * 32
        + f"\\nsize 5\\n' > w.bin; {GIT} init -q; {GIT} add -A; {GIT} commit -qm first"
    )
    said = tw.run("run", "fit.yaml", code=0)
    lack = "w.bin is only a pointer of git LFS"
    assert f"warning: {lack}, and so the run has it; bring the bytes: git lfs pull" in said.err
    assert f"gap:   code: {lack}" in tw.run("reproduce", "1", "--dry-run", code=0).err
    assert "pointer    w.bin" in tw.run("show", "1", "--fingerprint", code=0).out


def test_the_fingerprint_is_shown_in_groups_and_beside_what_is_here_now(ran):
    said = ran.run("show", "1", "--fingerprint", code=0).out
    for line in ("  param      C=1.5", "seed         7", "  now        equal"):
        assert line in said.splitlines()
    assert "fit, 3 steps" in said
    facts = ran.run("show", "1", "--fingerprint", "--json", code=0).json
    assert facts["now"]["changed"] == facts["now"]["gone"] == facts["now"]["new"] == {}
    assert facts["fingerprint"]["seed"] == 7
    assert ran.run("show", facts["address"], code=0).out.splitlines()[0].split()[1] == facts["address"]


def test_compare_names_the_steps_the_files_and_the_lines_that_differ(tw):
    tw.run("run", "fit.yaml", code=0)
    tw.write("judge.py", "import trainwright as tw\ntw.log(auc=0.6)")
    tw.write("extra.py", "WORD = 1\n")
    (tw.folder / "raw.bin").write_bytes(b"\0\1")
    tw.write("fit.yaml", PIPELINE.replace("auc >= 0.1", "auc >= 0.2") + "  last: {run: echo last, depends_on: judge}\n")
    tw.run("run", "fit.yaml", code=0)
    said = tw.run("compare", "1", "2", code=0)
    parts = {tuple(line.split()[:2]) for line in said.out.splitlines()}
    assert {("plan", "steps.judge.checks"), ("plan", "steps.last"), ("file", "judge.py"), ("file", "extra.py")} <= parts
    assert "code: 2 files changed, 2 added, 0 removed" in said.err
    diff = tw.run("compare", "1", "2", "--code", code=0).out.splitlines()
    assert {"--- a/judge.py", "+++ b/extra.py", "--- /dev/null", "+tw.log(auc=0.6)", "+WORD = 1"} <= set(diff)
    assert "\\ No newline at end of file" in diff
    assert "Binary files /dev/null and b/raw.bin differ" in diff
    drop(tw, tw.show("2")["fingerprint"]["code"]["tree"])
    assert "TW4101" in tw.run("compare", "1", "2", "--code", code=4).err
    assert Path(tw.folder / "judge.py").exists()
