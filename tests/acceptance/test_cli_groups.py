"""Groups as they are typed and read: empty lists, dead engines, large values, many members, circles, metrics."""

import signal

import pytest
from shell import Shell, ended, until

SHARDS = """\
pipeline: shards
params: {items: "[]"}
steps:
  list:
    run: echo ${{ params.items }} > ${{ out.shards }}
    out: {shards: value}
  eval:
    for_each: list.shards
    skip_code: 99
    run: exit 99
    out: {score: value}
  report:
    when: all_done
    run: tee ${{ out.all }} < ${{ eval.score }}
    out: {all: value}
  choose: {run: "cat ${{ eval.score }}"}
"""


@pytest.fixture
def tw(tmp_path):
    with Shell(tmp_path / "p", TRACE=str(tmp_path / "trace")) as shell:
        yield shell


def states(tw, run="-1"):
    return {step["name"]: step["state"] for step in tw.show(run)["steps"]}


def test_g03_nobody_is_an_end_like_others(tw):
    tw.write("shards.yaml", SHARDS)
    tw.run("run", "shards.yaml", code=0)
    assert states(tw) == {"list": "succeeded", "eval": "succeeded", "report": "succeeded", "choose": "succeeded"}
    assert tw.run("logs", "-1/report").out.strip() == "[]"
    tw.run("run", "shards.yaml", "-p", "items=[1, 2]", code=0)
    assert states(tw) == {
        "list": "succeeded", "eval": "skipped", "eval.0": "skipped", "eval.1": "skipped", "report": "cached",
        "choose": "skipped",
    }  # fmt: skip
    assert tw.run("logs", "-1/report").out.strip() == "[]"
    assert "was skipped because all of its 2 members were" in tw.run("why", "-1/eval").out
    assert "was skipped because eval was skipped" in tw.run("why", "-1/choose").out


ONE_BY_ONE = """\
pipeline: one
steps:
  list:
    run: echo '["m1", "m2", "m3"]' > ${{ out.shards }}
    out: {shards: value}
  work:
    for_each: list.shards
    parallel: 1
    run: |
      echo ${{ each.value }} >> "$TRACE"
      test ${{ each.value }} != m2 || until test -e "$TRACE.go"; do sleep 0.02; done
      echo '"'${{ each.value }}'"' > ${{ out.part }}
    out: {part: value}
  collect: {run: "echo collect >> $TRACE; cat ${{ work.part }}"}
"""


def test_g04_an_engine_that_dies_in_the_middle_of_a_group_is_followed_by_another(tw, tmp_path):
    tw.write("one.yaml", ONE_BY_ONE)
    trace = tmp_path / "trace"
    host = tw.start("run", "one.yaml")
    until(lambda: trace.exists() and "m2" in trace.read_text(), "the second member runs")
    host.send_signal(signal.SIGKILL)
    ended(host)
    (tmp_path / "trace.go").touch()
    tw.run("wait", "-1", code=0)
    assert trace.read_text().split() == ["m1", "m2", "m3", "collect"]
    assert tw.run("logs", "-1/collect").out == '["m1","m2","m3"]'
    assert all(a["number"] == 1 for a in tw.show()["attempts"])


LARGE = """\
pipeline: large
steps:
  make:
    matrix: {size: [300000, 5000000]}
    run: ["python", "make.py", "${{ matrix.size }}", "${{ out.text }}"]
    out: {text: value}
  read: {run: "wc -c < ${{ make.text }}"}
"""


def test_g06_large_values_pass_from_step_to_step_unnoticed(tw):
    tw.write("large.yaml", LARGE)
    tw.write("make.py", 'import json, sys\njson.dump("x" * int(sys.argv[1]), open(sys.argv[2], "w"))\n')
    tw.run("run", "large.yaml", code=0)
    assert tw.run("logs", "-1/read").out.strip() == str(5_300_000 + len('["",""]'))


MANY = """\
pipeline: many
steps:
  list:
    run: |
      python -c 'import json; print(json.dumps([{"n": n, "about": "x" * 1000} for n in range(2000)]))' > list.json
      mv list.json ${{ out.items }}
    out: {items: value}
  eval:
    for_each: list.items
    tolerate: 5
    when: each.n % 500 == 7
    run: test ${{ each.n }} -ne 507
"""


def test_g06_a_run_of_two_thousand_members_is_read_in_pages(tw):
    tw.write("many.yaml", MANY)
    said = tw.run("run", "many.yaml", code=0)
    assert "eval.7" not in said.err, "members of a large group have no lines of their own"
    assert "3/2000 ✓ 1 ✗ 1996 -" in said.err
    first = tw.run("show", "-1", "--json", code=0)
    assert len(first.out) < 2**20
    assert first.json["page"] == {"number": 1, "of": 21, "limit": 100, "steps": 2002}
    assert [s["name"] for s in first.json["steps"][:3]] == ["list", "eval", "eval.0"]
    last = tw.run("show", "-1", "--json", "--page", "21", code=0).json
    assert [s["name"] for s in last["steps"]] == ["eval.1998", "eval.1999"]
    member = tw.run("show", "-1/eval.507", "--json", code=0).json
    assert [(s["name"], s["state"], s["item"]["n"]) for s in member["steps"]] == [("eval.507", "failed", 507)]
    shown = tw.run("show", "-1", code=0).out
    assert "eval.507" in shown
    assert "… 1,999 more" in shown
    assert len(shown.splitlines()) < 20
    members = tw.run("show", "-1/eval", "--limit", "3", "--page", "2", code=0)
    assert [f"eval.{n}" in members.out for n in (2, 3, 5, 6)] == [False, True, True, False]
    assert "page 2 of 667, 2000 members; more: --page 3, or --all" in members.err
    assert tw.run("show", "-1/eval", "--all", code=0).out.count("eval.") >= 2000
    why = tw.run("why", "-1/eval", code=0).out
    assert "eval.507 failed: the command ended with exit code 1" in why
    assert len(why.splitlines()) < 10


def test_g07_a_circle_across_groups_is_refused_and_nothing_is_queued(tw):
    tw.write(
        "circle.yaml",
        """\
        pipeline: circle
        steps:
          list: {run: "echo ${{ report.text }} > ${{ out.shards }}", out: {shards: value}}
          count: {for_each: list.shards, run: "echo > ${{ out.rows }}", out: {rows: value}}
          report: {run: "cat ${{ count.rows }} > ${{ out.text }}", out: {text: file}}
        """,
    )
    said = [tw.run("run", "circle.yaml", code=2, PYTHONHASHSEED=seed).err for seed in "12"]
    assert "count → list → report → count" in said[0]
    assert said[0] == said[1]
    assert tw.run("ps", "--json").json == []


RESUMED = """\
import os, sys
import trainwright as tw
path = os.environ["TRACE"]
start = int(open(path).read()) if os.path.exists(path) else 0
for step in range(start, 9):
    tw.log(loss=float(step), step=step)
    if step == 4 and start == 0:
        open(path, "w").write("3")
        sys.exit(1)
tw.log(auc=0.5 + start)
"""


def test_g21_what_a_resumed_step_logged_is_one_series_without_a_step_twice(tw):
    tw.write("train.py", RESUMED)
    tw.write(
        "train.yaml", "pipeline: train\nsteps:\n  fit: {run: python train.py, retry: {max: 1, backoff: 1ms..1ms}}\n"
    )
    tw.run("run", "train.yaml", code=0)
    points = tw.run("metrics", "-1", "--series", "--json", code=0).json
    loss = [(p["at_step"], p["attempt"], p["value"]) for p in points if p["name"] == "loss"]
    assert loss == [(n, 1 if n < 3 else 2, float(n)) for n in range(9)]
    assert [p["value"] for p in points if p["name"] == "auc"] == [3.5]
    only = tw.run("metrics", "-1/fit/1", "--series", "--json", code=0).json
    assert [p["at_step"] for p in only] == [0, 1, 2, 3, 4]


FIT = """\
pipeline: fit
params: {C: {type: float, default: 1.0, range: [0, 10]}}
steps:
  train:
    run: echo ${{ params.C }} > ${{ out.model }}; echo training
    out: {model: model}
  judge:
    run: test $(cat ${{ train.model }}) != 10
    on_fail: {run: "echo $TW_FAILED_STEP: $TW_FAILED_REASON"}
outputs: {model: train.model}
"""
SEARCH = """\
pipeline: search
data: {raw: pkg://trainwright/py.typed}
steps:
  prep: {run: "seq 3 > ${{ out.table }}; cat ${{ data.raw }}", out: {table: dataset}, on_fail: {run: "true"}}
  fit:
    uses: ./models/fit.yaml
    matrix: {C: [0.1, 10]}
    depends_on: prep
    with: {C: matrix.C}
  grow:
    loop: {max_rounds: 4, until: "size > 1"}
    run: |
      cat ${{ prev.forest }} ${{ prep.table }} > ${{ out.forest }} || true
      python -c 'import sys, trainwright as tw; tw.log(size=int(sys.argv[1]))' ${{ loop.round }}
    out: {forest: file}
    check: size >= 0
  all: {run: "ls ${{ fit.model }}", when: all_done}
"""


@pytest.fixture(scope="module")
def searched(tmp_path_factory):
    with Shell(tmp_path_factory.mktemp("groups") / "p") as shell:
        shell.write("models/fit.yaml", FIT)
        shell.write("search.yaml", SEARCH)
        shell.said = shell.run("run", "search.yaml", code=1)
        yield shell


def test_a_plan_shows_what_steps_stand_for(searched):
    lines = searched.run("plan", "search.yaml", code=0).out.splitlines()
    assert [line.split("  ")[0] for line in lines if line[:2] == "  "][:1] == [""]
    rows = [line.rstrip() for line in lines]
    for start in ("fit ×2 ", "  train ", "  judge ", "  judge.on_fail ", "grow ↻ ≤4 ", "prep.on_fail "):
        assert any(row.startswith(start) for row in rows), (start, rows)
    assert any("until size > 1" in row for row in rows)
    assert any("when all_done" in row for row in rows)


def test_a_verdict_names_the_group_then_the_cause_and_follows_no_failure_that_was_none(searched):
    said = searched.said
    assert "cause: step fit: 1 of 2 members failed, 0 may; the first was fit.1: the step fit.1.judge failed" in said.out
    assert "cause: step fit.1.judge: the command ended with exit code 1" in said.out
    assert "not run because of it" not in said.out
    assert "prep.on_fail" not in said.err.partition("run search")[2]
    assert "fit.0.judge.on_fail" not in searched.run("show", "-1").out
    assert searched.run("logs", "-1/fit.1.judge.on_fail").out == "fit.1.judge: the command ended with exit code 1\n"


def test_members_stand_below_their_group(searched):
    out = searched.run("show", "-1").out
    names = [line.split()[2] for line in out.splitlines() if line[:2] in {"✓ ", "✗ ", "- "}][1:]
    assert names == [
        "prep", "fit", "fit.0", "fit.0.train", "fit.0.judge", "fit.1", "fit.1.train", "fit.1.judge",
        "fit.1.judge.on_fail", "all", "grow", "grow.0", "grow.1", "grow.2",
    ]  # fmt: skip
    assert "1/2 ✓ 1 ✗" in out
    assert "3/4 ↻" in out


def test_why_names_the_members_that_failed(searched):
    why = searched.run("why", "-1/fit").out
    assert "fit.1.judge failed: the command ended with exit code 1" in why
    assert "on_fail" not in searched.run("why", "-1").out


def test_logs_and_metrics_of_a_group_are_those_of_its_members(searched):
    assert searched.run("logs", "-1/fit").out.count("training") == 2
    sizes = searched.run("metrics", "-1/grow", "--json").json
    assert [(m["step"], m["last"]) for m in sizes] == [("grow.0", 0), ("grow.1", 1), ("grow.2", 2)]


def test_lineage_goes_through_members_files_and_rounds_to_the_raw_data(searched):
    run = searched.show()["run"]["id"]
    grown = searched.run("lineage", f"runs/{run}/grow/forest", code=0).out
    assert grown.splitlines()[0].startswith(f"runs:/{run}/grow.2/forest")
    for part in (f"runs:/{run}/grow.0", f"runs:/{run}/prep/table", "pkg://trainwright/py.typed"):
        assert part in grown
    assert f"runs:/{run}/fit/model  1 of 2 members" in searched.run("lineage", f"runs/{run}/fit/model", code=0).out
    assert f"runs:/{run}/fit.0.train/model" in searched.run("lineage", f"runs/{run}/all", code=0).out


def test_a_step_that_no_run_has_is_named_with_those_at_the_top(searched):
    said = searched.run("show", "-1/zzz", code=4)
    assert "its steps are prep, fit, all, grow" in said.err
