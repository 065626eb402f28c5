"""``tw retry``: the same run, the same code; what stands and what begins anew."""

import os
import signal

import pytest
from shell import Shell, ended, until

FAN = """
pipeline: fan
steps:
  list:
    run: |
      echo list >> "$TRACE"
      test -e "$TRACE.ok"
      echo '["m1", "m2", "m3"]' > ${{ out.shards }}
    out: {shards: value}
  work:
    for_each: list.shards
    parallel: 1
    run: |
      echo ${{ each.value }} >> "$TRACE"
      test ${{ each.value }} != m2 -o -e "$TRACE.mended"
      echo '"'${{ each.value }}'"' > ${{ out.part }}
    out: {part: value}
  collect:
    when: all_done
    run: |
      echo collect >> "$TRACE"
      cat ${{ work.part }} > ${{ out.all }}
    out: {all: value}
"""


@pytest.fixture
def tw(tmp_path):
    with Shell(tmp_path / "p", TRACE=str(tmp_path / "trace")) as shell:
        shell.write("fan.yaml", FAN)
        held = 'until test -e "$TRACE.go"; do sleep 0.02; done; echo ${{ each.value }} >>'
        shell.write("held.yaml", FAN.replace("echo ${{ each.value }} >>", held))
        yield shell


def traced(tw: Shell) -> list[str]:
    path = tw.folder.parent / "trace"
    return path.read_text().split() if path.exists() else []


def allow(tw: Shell, what: str) -> None:
    (tw.folder.parent / f"trace.{what}").touch()


def test_g04_members_that_failed_or_never_began_run_again_and_the_collector_sees_all(tw):
    allow(tw, "ok")
    tw.run("run", "fan.yaml", code=1)
    assert traced(tw) == ["list", "m1", "m2", "m3", "collect"]
    allow(tw, "mended")
    told = tw.run("retry", "-1", code=0)
    assert "stands: list, work.0, work.2" in told.err
    assert "again:  work.1, which failed" in told.err
    assert "again:  collect, which comes after work" in told.err
    assert traced(tw) == ["list", "m1", "m2", "m3", "collect", "m2", "collect"]
    states = {s["name"]: (s["state"], s["attempts"]) for s in tw.show()["steps"]}
    assert states == {
        "list": ("succeeded", 1), "work": ("succeeded", 0), "collect": ("succeeded", 2),
        "work.0": ("succeeded", 1), "work.1": ("succeeded", 2), "work.2": ("succeeded", 1),
    }  # fmt: skip
    assert tw.run("retry", "-1", code=1).err.startswith("error[TW5302]")


def test_g04_a_run_that_died_before_its_list_was_there_does_everything_from_the_list_on(tw):
    allow(tw, "mended")
    tw.run("run", "fan.yaml", code=1)
    assert traced(tw) == ["list", "collect"]
    allow(tw, "ok")
    tw.run("retry", "-1")
    assert traced(tw) == ["list", "collect", "list", "m1", "m2", "m3", "collect"]


def test_a_run_that_is_not_over_is_not_tried_again(tw):
    tw.write("pipeline.yaml", "pipeline: p\nsteps:\n  a:\n    run: exec sleep 60\n")
    run = tw.run("run", "-d", "pipeline.yaml").out.strip()
    assert tw.run("retry", run, code=1).err.startswith("error[TW5301]")
    tw.run("stop", run)
    tw.run("wait", run, code=1)
    assert "again:  a, which was cancelled" in tw.run("retry", run, "--dry-run").err
    assert tw.show(run)["run"]["state"] == "cancelled"


def test_a_dry_run_changes_nothing_and_a_detached_one_goes_on_by_itself(tw):
    allow(tw, "ok")
    run = tw.run("run", "fan.yaml", "--json", code=1).json["id"]
    allow(tw, "mended")
    assert tw.run("retry", run, "-d").out.strip() == run
    tw.run("wait", run)
    assert traced(tw)[-2:] == ["m2", "collect"]


def test_g04_an_engine_killed_amid_a_retry_loses_nothing(tw):
    allow(tw, "ok")
    allow(tw, "go")
    tw.run("run", "held.yaml", code=1)
    allow(tw, "mended")
    (tw.folder.parent / "trace.go").unlink()
    retrying = tw.start("retry", "-1")
    until(lambda: tw.step(tw.show(), "work.1")["state"] == "running", "the member runs again")
    os.kill(retrying.pid, signal.SIGKILL)
    ended(retrying)
    allow(tw, "go")
    tw.run("wait", "-1", code=0)
    assert traced(tw).count("m2") == 2
    assert traced(tw)[-1] == "collect"


PART = """
pipeline: part
params: {n: {type: int}}
steps:
  make:
    run: |
      echo make-${{ params.n }} >> "$TRACE"
      echo '["a", "b", "c"]' > ${{ out.items }}
    out: {items: value}
  work:
    for_each: make.items
    run: |
      echo ${{ each.value }}-${{ params.n }} >> "$TRACE"
      test ${{ each.value }}-${{ params.n }} != b-1 -o -e "$TRACE.mended"
      echo 1 > ${{ out.x }}
    out: {x: value}
"""

NEST = """
pipeline: nest
steps:
  nest:
    for_each: [0, 1, 2]
    uses: ./part.yaml
    with: {n: each.value}
"""


def test_g04_within_a_nested_file_only_the_member_that_failed_runs_again(tw):
    tw.write("part.yaml", PART)
    tw.write("nest.yaml", NEST)
    tw.run("run", "nest.yaml", "--cache", "off", code=1)
    before = traced(tw)
    assert len(before) == 3 * 4
    allow(tw, "mended")
    told = tw.run("retry", "-1", code=0)
    assert traced(tw)[len(before) :] == ["b-1"]
    assert "9 times nest.N.work.N/x" in told.out
    assert len([line for line in tw.run("show", "-1").out.splitlines() if line.startswith("made")]) == 3 * 4


def test_a_retried_fan_out_that_is_stopped_ends_and_what_stood_stands(tw):
    fan = """
pipeline: held
steps:
  work:
    for_each: [a, b, c]
    parallel: 1
    run: |
      echo ${{ each.value }} >> "$TRACE"
      test ${{ each.value }} = a || exit 0
      until test ! -e "$TRACE.hold"; do sleep 0.02; done
      exit 3
"""
    tw.write("held.yaml", fan)
    tw.run("run", "held.yaml", code=1)
    allow(tw, "hold")
    tw.run("retry", "-1", "-d", code=0)
    until(lambda: traced(tw).count("a") == 2, "the second attempt")
    tw.run("stop", "-1", code=0)
    tw.run("wait", "-1", "--timeout", "30s", code=1)
    shown = tw.run("show", "-1").out
    assert "2/3 ✓ 1 ■" in shown
    (tw.folder.parent / "trace.hold").unlink()
    tw.run("retry", "-1", code=1)
    assert traced(tw) == ["a", "b", "c", "a", "a"]
