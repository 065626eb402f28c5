"""The commands that read: JSON that a strict parser takes, data on stdout and talk on stderr, and every way to name."""

import re
import sys
from datetime import datetime

import pytest
from shell import ANSI, Shell, strict_json

PIPELINE = """\
pipeline: tiny
params: {slope: 2.0, seed: 7}
data: {raw: datasets/points@latest}
steps:
  prep:
    run: cp ${{ data.raw }}/points.csv ${{ out.table }}; echo copied
    out: {table: dataset}
  train:
    stage: training
    run: python train.py --table ${{ prep.table }} --model ${{ out.model }} --slope ${{ params.slope }}
    out: {model: model}
  judge:
    run: python judge.py --model ${{ train.model }}
    check: ["auc >= 0.5", "auc >= production.auc"]
  register: {uses: register, with: {model: train.model, name: tiny, alias: candidate}}
"""
TRAIN = """\
import sys
import trainwright as tw
tw.params(seed=7, device="cpu")
for step in range(3):
    tw.log(loss=1 / (step + 1), step=step)
    tw.progress(step + 1, 3)
print("trained")
open(sys.argv[4], "w").write("slope " + sys.argv[6])
"""
JUDGE = """\
import sys
import trainwright as tw
slope = float(open(sys.argv[2]).read().split()[1])
tw.log(auc=0.9 if slope >= 2 else 0.6, odd=float("nan"), far=float("-inf"))
"""


@pytest.fixture(scope="module")
def tw(tmp_path_factory):
    """Return a project with a model in production and a run that it kept out."""
    with Shell(tmp_path_factory.mktemp("reading") / "p") as shell:
        shell.write("raw/points.csv", "x,y\n1,2\n")
        shell.write("tiny.yaml", PIPELINE)
        shell.write("train.py", TRAIN)
        shell.write("judge.py", JUDGE)
        shell.run("dataset", "add", "points", "raw", code=0)
        shell.run("run", "tiny.yaml", code=0)
        shell.run("model", "promote", "tiny@candidate", "--reason", "first", code=0)
        shell.run("run", "tiny.yaml", "-p", "slope=1.0", code=7)
        shell.run("run", "tiny.yaml", "-p", "slope=3.0", code=0)
        yield shell


JSON = [
    ("ps", "--json"),
    ("show", "-1", "--json"),
    ("show", "-1", "--fingerprint", "--json"),
    ("why", "-2", "--json"),
    ("why", "-2/judge", "--json"),
    ("metrics", "-1", "--json"),
    ("metrics", "-1", "--series", "--json"),
    ("compare", "-1", "-2", "--json"),
    ("dataset", "ls", "--json"),
    ("dataset", "add", "points", "raw", "--json"),
    ("model", "ls", "--json"),
    ("model", "ls", "tiny", "--json"),
    ("lineage", "models/tiny@production", "--json"),
    ("lineage", "runs/1", "--json"),
    ("validate", "tiny.yaml", "--json"),
    ("plan", "tiny.yaml", "--json"),
    ("doctor", "--json"),
    ("wait", "-1", "--json"),
    ("schema",),
]


@pytest.mark.parametrize("command", JSON, ids=" ".join)
def test_json_is_json_and_nothing_else_is_on_stdout(tw, command):
    said = tw.run(*command, code=0)
    assert said.json is not None
    assert said.err == ""


@pytest.mark.parametrize("command", [("ps",), ("metrics", "1", "--series")], ids=" ".join)
def test_jsonl_is_one_document_a_line(tw, command):
    lines = tw.run(*command, "--jsonl", code=0).out.splitlines()
    assert [strict_json(line) for line in lines] == tw.run(*command, "--json", code=0).json


def test_a_run_writes_its_verdict_to_stdout_and_all_talk_to_stderr(tw):
    said = tw.run("run", "tiny.yaml", "-p", "slope=1.0", "--cache", "off", code=7)
    assert said.out.startswith("✗ tiny #")
    assert "▶ running" not in said.out
    assert "✓ succeeded train" in said.err
    assert "trained" not in said.out + said.err
    assert tw.run("run", "tiny.yaml", "-p", "slope=1.0", "--json", code=7).json["state"] == "failed"


def test_there_is_no_colour_and_no_wrapping_off_a_terminal(tw):
    tw.write("long.yaml", f"pipeline: long\nparams: {{path: {'/very/long' * 40}}}\nsteps: {{a: {{run: 'true'}}}}\n")
    tw.run("run", "long.yaml", code=0, FORCE_COLOR="1")
    for command in (("ps",), ("show", "long"), ("why", "tiny"), ("plan", "long.yaml"), ("model", "ls")):
        said = tw.run(*command, code=0, COLUMNS="40")
        assert not ANSI.search(said.out + said.err)
        assert all(line == line.rstrip() for line in said.out.splitlines())
    row = next(line for line in tw.run("ps").out.splitlines() if " long " in line)
    assert "/very/long" * 40 in row


def test_times_are_iso_8601_off_a_terminal(tw):
    found = re.findall(r"20\d\d-\S+", tw.run("ps").out)
    assert len(found) == len(tw.run("ps", "--json").json)
    assert all(datetime.fromisoformat(text).utcoffset() is not None for text in found)
    assert "ago" not in tw.run("show", "-1").out


def test_every_way_to_name_a_run(tw):
    first = tw.show("1")["run"]
    fingerprint = re.search("fp:[0-9a-f]+", tw.run("show", "1").out)
    assert fingerprint
    names = (first["id"][:5], "#1", "tiny#1", f"runs/{first['id']}", f"runs:/{first['id']}")
    for name in names:
        assert tw.run("show", name, code=0).out.startswith(f"✓ succeeded  tiny #1  {first['id']}"), name
    newest = tw.run("ps", "--json").json
    assert tw.show("tiny")["run"]["id"] == next(r["id"] for r in newest if r["pipeline"] == "tiny")
    assert tw.show("-1")["run"]["id"] == newest[0]["id"]
    assert tw.show("-2")["run"]["id"] == newest[1]["id"]
    assert f"fingerprint  {fingerprint[0]}" in tw.run("show", fingerprint[0], code=0).out
    assert "no run is called -99" in tw.run("show", "-99", code=4).err
    assert "did you mean tiny?" in tw.run("show", "tinny", code=4).err
    assert "names a step" in tw.run("wait", "-1/train", code=2).err
    assert re.match(r"(✓ succeeded|= cached)  runs/", tw.run("show", "tiny/train", code=0).out)
    assert "several runs" in tw.run("show", "r", code=2).err


def test_logs_whole_of_a_step_the_last_lines_and_followed(tw):
    whole = tw.run("logs", "3", code=0)
    assert whole.out == "copied\ntrained\n"
    assert re.findall("^--- (.*)", whole.err, re.MULTILINE) == [a["id"] for a in tw.show("3")["attempts"]]
    assert tw.run("logs", "3/train", "-n", "1", code=0).out == "trained\n"
    assert tw.run("logs", "3/train", "-n", "0", code=0).out == ""
    assert tw.run("logs", "-f", "3/train", code=0).out == "trained\n"
    assert tw.run("logs", "3/register", code=0).out == ""
    assert "did you mean train?" in tw.run("logs", "3/trian", code=4).err
    assert "no attempt 9" in tw.run("logs", "3/train/9", code=4).err


def test_metrics_last_values_and_series(tw):
    last = {(m["step"], m["name"]): m for m in tw.run("metrics", "3", "--json").json}
    assert last["train", "loss"] | {"attempt": 1} == {
        "step": "train", "attempt": 1, "name": "loss", "last": 1 / 3, "low": 1 / 3, "high": 1.0, "count": 3,
        "last_step": 2,
    }  # fmt: skip
    assert (last["judge", "odd"]["last"], last["judge", "far"]["last"]) == ("NaN", "-Infinity")
    series = tw.run("metrics", "3/train", "--series", "--json").json
    assert [(p["at_step"], p["value"]) for p in series] == [(0, 1.0), (1, 0.5), (2, 1 / 3)]
    assert "loss" in tw.run("metrics", "3/train", code=0).out
    assert "nothing was logged" in tw.run("metrics", "3/prep", code=0).err


def test_compare_says_what_differs_and_how_much_is_equal(tw):
    said = tw.run("compare", "1", "3", code=0)
    assert re.search(r"^param +slope +2 +3$", said.out, re.MULTILINE)
    assert "judge.auc" not in said.out
    assert re.search(r"\d+ parts are equal", said.err)
    assert "differ in nothing" in tw.run("compare", "1", "1", code=0).out
    parts = {line["part"] for line in tw.run("compare", "1", "3", "--all", "--json").json["differences"]}
    assert parts == {"param", "metric", "plan", "code", "data", "environment", "hardware"}
    assert tw.run("compare", "-1", "99").code == 4


def test_why_tells_the_gate_with_its_numbers_and_its_baseline(tw):
    out = tw.run("why", "2/judge", code=0).out
    assert "failed: auc >= production.auc  [auc = 0.6, production.auc = 0.9, against models/tiny/1]" in out
    assert "[gate-failed]" in out
    assert tw.run("why", "2/register", code=0).out.splitlines()[0].endswith("[upstream-failed]")
    assert tw.run("why", "1", code=0).out.startswith(f"runs/{tw.show('1')['run']['id']} succeeded")


def test_the_fingerprint_is_shown_whole(tw):
    out = tw.run("show", "3", "--fingerprint", code=0).out
    for word in ("plan", "code", "commit", "data", "params", "seed", "hardware", "environment"):
        assert re.search(rf"^{word} ", out, re.MULTILINE), word
    assert re.search(r"^data +raw sha256:[0-9a-f]{64}  \S+$", out, re.MULTILINE)
    assert "numpy==" in out


ADDRESSES = ("models/tiny@production", "models/tiny/1", "models/tiny", "models:/tiny/1", "tiny@production",
             "runs/1/train", "runs:/1/train/model", "runs/1", "datasets/points@1", "datasets/points")  # fmt: skip


@pytest.mark.parametrize("address", ADDRESSES)
def test_lineage_leads_from_every_kind_of_address_to_the_raw_files(tw, address):
    out = tw.run("lineage", address, code=0).out
    assert f"{tw.folder}/raw  raw source" in out


def test_lineage_of_what_is_not_there(tw):
    for address in (
        "models/none",
        "models/tiny@none",
        "models/tiny/9",
        "runs/1/none",
        "runs/1/train/none",
        "datasets/x",
    ):
        said = tw.run("lineage", address, code=4)
        assert said.err.startswith("error[TW4")
        assert "fix: " in said.err


def test_datasets_are_versions_of_content(tw):
    again = tw.run("dataset", "add", "points", "raw", code=0)
    assert again.out.startswith("datasets/points@1  sha256:")
    assert "the same content is datasets/points@1 already" in again.err
    tw.write("more/deep/a.csv", "1\n")
    tw.write("one.csv", "1\n")
    assert tw.run("dataset", "add", "team/more", "more", code=0).out.startswith("datasets/team/more@1")
    tw.write("more/b.csv", "2\n")
    second = tw.run("dataset", "add", "team/more", "more", "--json", code=0).json
    assert (second["address"], second["new"]) == ("datasets/team/more@2", True)
    assert tw.run("dataset", "add", "one", "file:one.csv", code=0).out.startswith("datasets/one@1")
    assert [v["version"] for v in tw.run("dataset", "ls", "team/more", "--json").json] == [2, 1]
    missing = tw.run("dataset", "add", "one", "onee.csv", code=4)
    assert "one.csv" in missing.err.split("fix:")[1]
    for name in ("../up", "two words", "a//b"):
        assert tw.run("dataset", "add", name, "one.csv", code=2).err.startswith("error[TW2101]"), name
    assert "no data source knows gopher:" in tw.run("dataset", "add", "one", "gopher://x/y", code=2).err


def test_models_are_promoted_by_evidence_and_rolled_back(tw):
    assert tw.run("model", "promote", "tiny/2", "-m", "better", code=0).out.startswith(
        "models/tiny@production → models/tiny/2"
    )
    twice = tw.run("model", "promote", "tiny/2", code=1)
    assert "points at version 2 already" in twice.err
    assert "models/tiny/1" in tw.run("model", "rollback", "tiny", code=0).out
    assert tw.run("model", "rollback", "tiny", code=4).err.startswith("error[TW4104]")
    listed = tw.run("model", "ls", "tiny", "--json", code=0).json
    moves = [(m["before"], m["after"]) for m in listed["history"] if m["alias"] == "production"]
    assert moves == [(None, 1), (1, 2), (2, 1)]
    text = tw.run("model", "ls", "tiny", code=0).out
    assert "tiny@production: 1 → 2" in text
    assert "better" in text
    for address in ("tiny@none", "tiny/9", "none"):
        assert tw.run("model", "promote", address).code == 4
    assert tw.run("model", "promote", "tiny/1@candidate").code == 2
    tw.run("model", "promote", "tiny/1", "--alias", "shadow", code=0)
    assert "shadow" in tw.run("model", "ls", code=0).out


def test_the_python_that_tw_runs_with_is_the_one_of_the_steps(tw):
    tw.write("python.yaml", "pipeline: python\nsteps: {a: {run: 'python -c \"import sys; print(sys.executable)\"'}}\n")
    tw.run("run", "python.yaml", code=0)
    assert tw.run("logs", "python", code=0).out.strip() == sys.executable
