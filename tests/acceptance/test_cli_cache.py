"""The step cache as one types it: what is run, what is reused, and what is said of it."""

import pytest
from shell import Shell

TWO = """\
pipeline: two
params: {C: 1}
steps:
  prep:
    run: python prep.py ${{ out.table }}
    out: {table: file}
  train:
    run: python train.py ${{ prep.table }} ${{ params.C }} ${{ out.model }}
    out: {model: model}
"""
PREP = """\
import os, sys
open(os.environ["HERE"] + "/prepared", "a").write("x")
open(sys.argv[1], "w").write("the table")
"""
TRAIN = """\
import os, sys
open(os.environ["HERE"] + "/trained", "a").write("x")
open(sys.argv[3], "w").write(open(sys.argv[1]).read() + sys.argv[2])
"""


@pytest.fixture
def tw(tmp_path):
    with Shell(tmp_path / "p", HERE=str(tmp_path / "p")) as shell:
        shell.write("two.yaml", TWO)
        shell.write("prep.py", PREP)
        shell.write("train.py", TRAIN)
        shell.write(".twignore", "prepared\ntrained\nm*\nseen\nfixed\n")
        yield shell


def count(tw, name):
    path = tw.folder / name
    return len(path.read_text()) if path.exists() else 0


def counts(tw):
    return count(tw, "prepared"), count(tw, "trained")


def blob(tw, text):
    """The file of the content store that holds this text."""
    return next(
        p for p in (tw.folder / ".trainwright" / "content" / "blobs").rglob("*")
        if p.is_file() and p.read_text(errors="replace") == text
    )  # fmt: skip


def replaced(path):
    path.chmod(0o644)
    path.write_text("x" * len(path.read_text()))


def test_damaged_outputs_are_made_again(tw):
    """G05, its hardest variant: other bytes of the same size; the others are in ``tests/engine/test_memory.py``."""
    tw.run("run", "two.yaml", code=0)
    tw.run("run", "two.yaml", code=0)
    assert counts(tw) == (1, 1)
    replaced(blob(tw, "the table"))
    tw.run("run", "two.yaml", code=0)
    assert counts(tw) == (2, 1)
    assert "cache miss: output missing or altered (of runs/" in tw.run("why", "-1/prep", code=0).out


def test_a_run_that_died_in_its_fan_out_goes_on_where_it_was(tw):
    """G04: three shards, one at a time; the second fails. The next run makes the second and the third only."""
    tw.write(
        "fan.yaml",
        """\
        pipeline: fan
        steps:
          list:
            run: echo '["1", "2", "3"]' > ${{ out.shards }}
            out: {shards: value}
          member:
            for_each: list.shards
            parallel: 1
            run: |
              printf x >> "$HERE/m"${{ each.value }}
              test ${{ each.value }} != 2 || test -e "$HERE/fixed"
              echo ${{ each.value }} > ${{ out.row }}
            out: {row: file}
          collect:
            run: ls ${{ member.row }} | wc -l > "$HERE/seen"
        """,
    )
    tw.run("run", "fan.yaml", code=1)
    before = [count(tw, f"m{n}") for n in (1, 2, 3)]
    assert before[:2] == [1, 1]
    (tw.folder / "fixed").touch()
    tw.run("run", "fan.yaml", code=0)
    assert [count(tw, f"m{n}") for n in (1, 2, 3)] == [1, 2, 1]
    assert (tw.folder / "seen").read_text().strip() == "3"
    assert tw.step(tw.show(), "member.0")["state"] == "cached"


def test_rounds_of_a_loop_are_not_taken_for_one_another(tw):
    tw.write(
        "loop.yaml",
        """\
        pipeline: loop
        steps:
          guess:
            loop: {max_rounds: 5, until: "found >= 3"}
            run: |
              printf x >> "$HERE/m"
              cp "$HERE/m" ${{ out.guess }}
              python -c "import sys, trainwright as tw; tw.log(found=len(open(sys.argv[1]).read()))" ${{ out.guess }}
            out: {guess: file}
        """,
    )
    tw.run("run", "loop.yaml", code=0)
    assert count(tw, "m") == 3
    tw.run("run", "loop.yaml", code=0)
    assert count(tw, "m") == 3, "the second time each round is there"


def test_plan_says_what_would_run_and_why(tw):
    first = tw.run("plan", "two.yaml", code=0).out
    assert "cache prep: miss: this step has made nothing before" in first
    assert "cache train: unknown: depends on prep" in first
    tw.run("run", "two.yaml", code=0)
    tw.write("train.py", TRAIN + "# changed\n")
    said = tw.run("plan", "two.yaml", code=0).out
    assert "cache prep: hit: equal to runs/" in said
    assert "cache train: miss: code changed: train.py differs (compared with runs/" in said
    assert "cache prep: runs: cache is off" in tw.run("plan", "two.yaml", "--cache", "off", code=0).out
    foreseen = tw.run("plan", "two.yaml", "--json", code=0).json["cache"]
    assert {name: f["verdict"] for name, f in foreseen.items()} == {"prep": "hit", "train": "miss"}
    assert counts(tw) == (1, 1), "plan runs nothing"
    assert len(tw.run("ps", "--json", code=0).json) == 1, "and submits nothing"


def test_what_was_reused_is_told_and_lasts_as_long_as_a_run_has_it(tw):
    tw.run("run", "two.yaml", code=0)
    said = tw.run("run", "two.yaml", code=0)
    assert "reused: prep, train (2 of 2 steps); --cache refresh runs them again" in said.out
    assert "= cached" in said.err
    assert "cached 2 of 2 steps" in tw.run("show", "-1", code=0).out
    assert [run["cached"] for run in tw.run("ps", "--json", code=0).json] == [2, 0]
    second, first = (run["id"] for run in tw.run("ps", "--json", code=0).json)
    assert f"this is what runs/{first}/prep/1 wrote" in tw.run("logs", "-1/prep", code=0).err
    assert f"reused from runs:/{first}/train/1" in tw.run("lineage", f"runs/{second}/train", code=0).out
    tw.run("gc", "--keep-runs", "0s", code=0)
    assert len(tw.run("ps", "--json", code=0).json) == 1
    tw.run("run", "two.yaml", code=0)
    assert counts(tw) == (1, 1)


def test_off_remembers_nothing_and_refresh_runs_again(tw):
    tw.run("run", "two.yaml", "--cache", "off", code=0)
    tw.run("run", "two.yaml", code=0)
    assert counts(tw) == (2, 2)
    tw.run("run", "two.yaml", "--cache", "refresh", code=0)
    assert counts(tw) == (3, 3)


def test_a_word_that_is_no_mode_is_refused(tw):
    said = tw.run("run", "two.yaml", "--cache", "maybe", code=2)
    assert "error[TW2007]" in said.err
    assert "auto, refresh, off" in said.err
