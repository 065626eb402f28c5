"""Triggers as people arm them, and `tw up` as it is killed."""

import os
import pty
import signal
import subprocess

import pytest
from shell import PATIENCE_S, Shell, ended

PREPARE = """\
pipeline: prepare
triggers:
  - cron: "30 2 * * *"
    timezone: Europe/Berlin
  - dataset: datasets/digits
steps:
  a: {run: "true"}
"""
TRAIN = """\
pipeline: train
params: {epochs: 3}
triggers:
  - run: prepare
    params: {epochs: 50}
  - webhook: labels-ready
steps:
  a: {run: "echo ${{ params.epochs }}"}
"""


@pytest.fixture
def tw(tmp_path):
    with Shell(tmp_path / "p") as shell:
        shell.write("prepare.yaml", PREPARE)
        shell.write("train.yaml", TRAIN)
        yield shell


def runs(tw) -> list[dict]:
    return tw.run("ps", "--json", code=0).json


def add_version(tw, text: str) -> None:
    tw.write("digits.txt", text)
    tw.run("dataset", "add", "digits", "digits.txt", code=0)


def test_nothing_is_armed_without_a_yes(tw):
    said = tw.run("trigger", "add", "prepare.yaml", code=2)
    assert "error[TW2307]" in said.err
    assert "fix: say yes beforehand: tw trigger add prepare.yaml -y" in said.err
    assert said.err.count("02:30 +0") == 5
    assert said.out == ""
    assert tw.run("trigger", "ls", "--json", code=0).json == []
    said = tw.run("trigger", "add", "prepare.yaml", "train.yaml", "-y", code=0)
    assert said.out.splitlines() == [
        "triggers/prepare/cron-1  new", "triggers/prepare/dataset-1  new", "triggers/train/run-1  new",
        "triggers/train/webhook-1  new",
    ]  # fmt: skip
    assert "nobody watches over the triggers of this project: tw up" in said.err
    again = tw.run("trigger", "add", "prepare.yaml", code=0)  # there is nothing to ask
    assert "all of it is armed already" in again.err


@pytest.mark.parametrize(("answer", "code", "armed"), [(b"y\n", 0, 2), (b"\n", 1, 0)])
def test_a_person_is_asked(tw, answer, code, armed):
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        ("tw", "trigger", "add", "prepare.yaml"),
        cwd=tw.folder, env=tw.environ, stdin=theirs, stdout=subprocess.DEVNULL, stderr=theirs,
    )  # fmt: skip
    os.close(theirs)
    os.write(ours, answer)
    assert process.wait(PATIENCE_S) == code
    assert b"arm prepare/cron-1 (new), prepare/dataset-1 (new)? [y/N]" in os.read(ours, 65536)
    os.close(ours)
    assert len(tw.run("trigger", "ls", "--json", code=0).json) == armed


def test_a_watcher_that_is_killed_is_followed_by_another_and_nothing_is_lost_or_doubled(tw):
    tw.run("trigger", "add", "prepare.yaml", "train.yaml", "-y", code=0)
    add_version(tw, "one")  # while nobody watches
    first = tw.start("up")
    assert ["→ prepare #1" in first.stdout.readline(), "→ train #2" in first.stdout.readline()] == [True, True]
    second = tw.run("up", code=1)
    assert "error[TW5401]" in second.err
    first.send_signal(signal.SIGKILL)
    ended(first)
    add_version(tw, "two")
    third = tw.start("up", "prepare.yaml")
    assert "triggers/prepare/dataset-1  datasets/digits@2  → prepare #3" in third.stdout.readline()
    assert "→ train #4" in third.stdout.readline()
    third.send_signal(signal.SIGINT)
    said = ended(third)
    assert said.code == 0, said
    assert tw.run("wait", "4").code == 0
    assert "watching over 4 triggers; Ctrl-C ends it" in said.err
    trained, prepared = runs(tw)[:2]
    assert [(r["pipeline"], r["submitted_by"]) for r in reversed(runs(tw))] == [
        ("prepare", "triggers/prepare/dataset-1"), ("train", "triggers/train/run-1"),
    ] * 2  # fmt: skip
    assert trained["params"] == {"epochs": 50}
    assert f"its end, by triggers/train/run-1: started runs/{trained['id']}" in tw.run("why", prepared["id"]).out
    assert f"started by triggers/train/run-1 for {prepared['id']}" in tw.run("show", trained["id"]).out
    assert tw.show(prepared["id"])["started_for"][0]["id"] == "datasets/digits@2"


def test_a_broken_file_is_told_and_the_trigger_stays_armed(tw):
    tw.run("trigger", "add", "train.yaml", "-y", code=0)
    good = (tw.folder / "train.yaml").read_text()
    tw.write("train.yaml", good.replace("    params:", "    parms:"))
    said = tw.run("trigger", "fire", "labels-ready", "--id", "D", code=1)
    assert "no run was started: unknown key 'parms' in a trigger" in said.out
    listed = tw.run("trigger", "ls", code=0)
    assert "where: train.yaml:5:5" in listed.out
    assert "fix: did you mean params?" in listed.out
    tw.write("train.yaml", good)
    first = tw.run("trigger", "fire", "labels-ready", "--id", "D", "--json", code=0).json[0]["event"]["run"]
    repeat = tw.run("trigger", "fire", "labels-ready", "--id", "D", "--json", code=0).json[0]
    assert (repeat["event"]["run"], repeat["new"]) == (first, False)
    assert tw.run("wait", first).code == 0


def test_a_backfill_lists_what_it_runs_and_runs_it_once(tw):
    tw.run("trigger", "add", "prepare.yaml", "-y", code=0)
    asked = ("trigger", "backfill", "prepare/cron-1", "--from", "2026-10-24", "--to", "2026-10-27")
    listed = tw.run(*asked, "--dry-run", code=0)
    assert [line.split("  ")[1] for line in listed.out.splitlines()] == [
        "2026-10-24T00:30Z", "2026-10-25T00:30Z", "2026-10-26T01:30Z",
    ]  # fmt: skip
    refused = tw.run(*asked, code=2)
    assert (
        "fix: say yes beforehand: tw trigger backfill prepare/cron-1 --from 2026-10-24 --to 2026-10-27 -y"
        in refused.err
    )
    assert runs(tw) == []
    assert len(tw.run(*asked, "-y", "--json", code=0).json["outcomes"]) == 3
    assert tw.run(*asked, "-y", code=0).out.count("has run r") == 3
    assert tw.run("wait", "3").code == 0


def test_a_circle_is_refused_and_triggers_are_paused_resumed_and_taken_away(tw):
    tw.run("trigger", "add", "train.yaml", "-y", code=0)
    tw.write("circle.yaml", "pipeline: prepare\ntriggers: {run: train}\nsteps: {a: {run: 'true'}}\n")
    said = tw.run("trigger", "add", "circle.yaml", "-y", code=3)
    assert "error[TW3401]: the end of train starts prepare starts train\nwhere: circle.yaml:2:17" in said.err
    assert tw.run("trigger", "pause", "train/webhook-1", "--json", code=0).json["state"] == "paused"
    assert "error[TW3402]" in tw.run("trigger", "fire", "labels-ready", code=3).err
    tw.run("trigger", "resume", "train/webhook-1", code=0)
    tw.run("trigger", "rm", "train/webhook-1", code=0)
    assert "did you mean train/run-1?" in tw.run("trigger", "rm", "train/run-2", code=4).err
    assert "TW4402" in tw.run("trigger", "fire", "labels-ready", code=4).err
