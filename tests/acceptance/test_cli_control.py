"""Exit codes and signals; runs that are let go of, waited for, stopped; commands that are killed."""

import re
import signal
import subprocess
import time

import psutil
import pytest
from shell import Shell, ended, until

SLOW = """\
pipeline: slow
params: {hold: gate}
steps:
  first:
    run: |
      echo started | tee -a "$HERE/starts"
      until test -e "$HERE"/${{ params.hold }}; do sleep 0.02; done
      echo done
  second: {run: echo second, depends_on: [first]}
"""

STUBBORN = """\
pipeline: stubborn
steps:
  a: {run: 'trap "" TERM; (while :; do sleep 0.05; done) & touch $HERE/child; wait'}
  b: {run: 'true', depends_on: [a]}
"""


@pytest.fixture
def tw(tmp_path):
    with Shell(tmp_path / "p", HERE=str(tmp_path / "p")) as shell:
        shell.write("slow.yaml", SLOW)
        yield shell


def starts(tw):
    path = tw.folder / "starts"
    return path.read_text().count("started") if path.exists() else 0


def open_gate(tw):
    (tw.folder / "gate").touch()


def test_exit_codes_of_ends(tw):
    tw.write("good.yaml", "pipeline: good\nsteps: {a: {run: 'true'}}\n")
    tw.write("bad.yaml", "pipeline: bad\nsteps: {a: {run: exit 9}}\n")
    log = "python -c 'import trainwright as tw; tw.log(auc=0.5)'"
    tw.write("gate.yaml", f"pipeline: gate\nsteps:\n  a:\n    run: {log}\n    check: auc >= 0.8\n")
    assert tw.run("run", "good.yaml").code == 0
    assert tw.run("run", "bad.yaml").code == 1
    assert tw.run("run", "gate.yaml").code == 7
    assert [tw.run("wait", name).code for name in ("bad", "gate")] == [1, 7]
    assert tw.run("stop", "good", code=0).err.endswith("is succeeded already\n")
    assert [tw.run(verb, "nobody").code for verb in ("show", "why", "wait", "stop", "logs", "metrics")] == [4] * 6
    assert [tw.run(noun, "ls", "nobody").code for noun in ("model", "dataset")] == [4, 4]
    assert tw.run("run", "good.yaml", "--bogus").code == 2


def test_detached_waited_for_and_timed_out(tw):
    said = tw.run("run", "-d", "slow.yaml", code=0)
    run_id = said.out.strip()
    assert re.fullmatch("r[a-z0-9]{9}", run_id)
    assert f"tw attach {run_id}" in said.err
    late = tw.run("wait", "-1", "--timeout", "100ms", code=8)
    assert late.out == ""
    assert "after 100ms" in late.err
    open_gate(tw)
    assert f"({run_id}) succeeded" in tw.run("wait", run_id, code=0).out
    assert starts(tw) == 1


@pytest.mark.slow
def test_ctrl_c_lets_go_and_the_run_ends_in_the_background(tw):
    watched = tw.start("run", "slow.yaml")
    until(lambda: starts(tw), "the step has started")
    watched.send_signal(signal.SIGINT)
    said = ended(watched)
    assert said.code == 130
    assert said.out == ""
    assert re.search(r"let go of r\w{9}: it goes on; come back with: tw attach r\w{9}", said.err)
    assert tw.run("ps", "--json").json[0]["state"] == "running"
    open_gate(tw)
    tw.run("wait", "-1", code=0)
    assert starts(tw) == 1


@pytest.mark.slow
def test_attach_comes_back_to_the_live_view_and_ends_with_the_verdict(tw):
    run_id = tw.run("run", "-d", "slow.yaml", code=0).out.strip()
    until(lambda: starts(tw), "the step has started")
    back = tw.start("attach", run_id)
    assert back.stderr is not None
    until(lambda: "running" in back.stderr.readline(), "the view is there")
    open_gate(tw)
    said = ended(back)
    assert said.code == 0
    assert said.out.startswith("✓ slow #1")
    assert starts(tw) == 1
    assert tw.run("attach", run_id, code=0).out.startswith("✓ slow #1")


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM, signal.SIGKILL])
def test_a_closed_terminal_or_a_killed_command_leaves_the_run_to_its_end(tw, number):
    watched = tw.start("run", "slow.yaml")
    until(lambda: starts(tw), "the step has started")
    watched.send_signal(number)
    ended(watched)
    open_gate(tw)
    assert tw.run("wait", "-1", code=0).out.startswith("✓ slow #1")
    assert starts(tw) == 1


@pytest.mark.slow
def test_a_run_whose_command_was_killed_goes_on_with_nobody_watching(tw):
    tw.write("on.yaml", SLOW.replace("{run: echo second,", "{run: touch $HERE/second,"))
    watched = tw.start("run", "on.yaml")
    until(lambda: starts(tw), "the step has started")
    watched.kill()
    ended(watched)
    open_gate(tw)
    until((tw.folder / "second").exists, "the later step ran, and nobody had typed anything")
    assert tw.run("wait", "-1", code=0).out.startswith("✓ slow #1")
    assert starts(tw) == 1


@pytest.mark.slow
def test_a_longer_step_leaves_samples_of_what_it_used(tw):
    tw.write("busy.yaml", "pipeline: busy\nsteps:\n  a: {run: sleep 1.5}\n")
    tw.run("run", "busy.yaml", code=0)
    (sample,) = tw.run("metrics", "-1/a", "--usage", "--json", code=0).json
    assert sample["memory_bytes"] > 0
    assert "memory_bytes" in tw.run("metrics", "-1/a", "--usage", code=0).out


def test_ctrl_c_twice_stops_the_run(tw):
    watched = tw.start("run", "slow.yaml")
    until(lambda: starts(tw), "the step has started")
    watched.send_signal(signal.SIGINT)
    assert watched.stderr is not None
    until(lambda: "Ctrl-C again" in watched.stderr.readline(), "the first one was noticed")
    watched.send_signal(signal.SIGINT)
    assert ended(watched).code == 130
    assert tw.run("wait", "-1", code=1).out.startswith("■ slow #1")


@pytest.mark.slow
def test_stop_ends_the_whole_tree_even_what_ignores_term(tw):
    tw.write("stubborn.yaml", STUBBORN)
    tw.run("run", "-d", "stubborn.yaml", code=0)
    until((tw.folder / "child").exists, "the child has started")
    asked = tw.run("stop", "-1", code=0)
    assert asked.out == ""
    assert "is asked to stop" in asked.err
    said = tw.run("wait", "-1", code=1)
    assert "why:   was stopped by ada" in said.out
    until(lambda: not tw.processes(), "no process is left, the engine neither")
    view = tw.show()
    assert [s["state"] for s in view["steps"]] == ["cancelled", "cancelled"]


def test_ctrl_c_of_a_command_that_only_waits_is_silent(tw):
    tw.run("run", "-d", "slow.yaml", code=0)
    waiter = tw.start("wait", "-1")
    follower = tw.start("logs", "-f", "-1/first")
    assert follower.stdout is not None
    assert follower.stdout.readline() == "started\n"
    until(lambda: psutil.Process(waiter.pid).num_ctx_switches().voluntary > 10, "the other one waits too")
    for process in (waiter, follower):
        process.send_signal(signal.SIGINT)
        said = ended(process)
        assert (said.code, said.out, said.err) == (130, "", "")
    open_gate(tw)
    tw.run("wait", "-1", code=0)


def test_stop_before_the_start_starts_nothing_more(tw):
    tw.write("two.yaml", "pipeline: two\nsteps:\n  a: {run: sleep 30}\n  b: {run: touch $HERE/b, depends_on: [a]}\n")
    run_id = tw.run("run", "-d", "two.yaml", code=0).out.strip()
    tw.run("stop", run_id, code=0)
    tw.run("wait", run_id, code=1)
    again = tw.run("stop", run_id, code=0)
    assert again.err.endswith("is cancelled already\n")
    assert not (tw.folder / "b").exists()


def test_a_killed_tw_run_is_taken_over_by_the_next_command_and_the_step_runs_once(tw):
    watched = tw.start("run", "slow.yaml")
    until(lambda: starts(tw), "the step has started")
    watched.kill()
    watched.communicate()
    tw.run("ps", code=0)
    open_gate(tw)
    until(lambda: tw.run("ps", "--json").json[0]["state"] == "succeeded", "an engine has taken it over")
    assert starts(tw) == 1
    assert [a["number"] for a in tw.show()["attempts"]] == [1, 1]


def test_a_step_that_ended_while_nobody_was_there_is_not_repeated(tw):
    watched = tw.start("run", "slow.yaml")
    until(lambda: starts(tw), "the step has started")
    watched.kill()
    watched.communicate()
    open_gate(tw)
    until(lambda: list(tw.folder.rglob("first/1/result.json")), "the step has ended alone")
    assert "(attempt" not in tw.run("wait", "-1", code=0).out
    assert starts(tw) == 1


def test_a_closed_terminal_lets_go_at_once(tw):
    watched = tw.start("run", "slow.yaml")
    until(lambda: starts(tw), "the step has started")
    began = time.monotonic()
    watched.send_signal(signal.SIGHUP)
    assert ended(watched).code == 130
    assert time.monotonic() - began < 2
    open_gate(tw)
    tw.run("wait", "-1", code=0)


def test_when_nobody_reads_the_talk_any_more_the_run_goes_on(tw):
    talk = subprocess.Popen(
        ("tw", "run", "slow.yaml"),
        cwd=tw.folder,
        env=tw.environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert talk.stdout is not None
    assert talk.stdout.readline().startswith("plan slow")
    talk.stdout.close()
    until(lambda: tw.run("ps", "--json").json, "the run is submitted")
    open_gate(tw)
    assert talk.wait(60) == 130
    tw.run("wait", "-1", code=0)


@pytest.mark.slow
def test_many_first_commands_at_once_share_one_new_store(tw):
    """G23: the folder is new, and everybody wants to make it."""
    tw.write("quick.yaml", "pipeline: quick\nsteps: {a: {run: echo hello}}\n")
    verbs = [("run", "quick.yaml"), ("run", "-d", "quick.yaml"), ("ps", "--json"), ("dataset", "add", "d", "slow.yaml")]
    said = [ended(process) for process in [tw.start(*verb) for verb in 3 * verbs]]
    assert [s.code for s in said] == 12 * [0], "\n".join(map(str, said))
    assert "locked" not in "".join(s.err for s in said)
    tw.run("wait", "-1", code=0)
    until(lambda: all(r["state"] == "succeeded" for r in tw.run("ps", "--json").json), "all have ended")
    assert [r["number"] for r in tw.run("ps", "--json").json] == [6, 5, 4, 3, 2, 1]
    assert len(tw.run("dataset", "ls", "--json").json) == 1


def test_a_pipe_that_is_closed_early_is_no_error(tw):
    tw.write("long.yaml", "pipeline: long\nsteps: {a: {run: seq 1 100000}}\n")
    tw.run("run", "long.yaml", code=0)
    for command in ("logs -1", "schema", "show -1 --json", "logs -f -1"):
        done = tw.shell(f"tw {command} | head -1; echo ${{PIPESTATUS[0]}} >&2")
        assert done.stdout
        assert done.stderr == "0\n", command


def test_reading_a_running_run_does_not_disturb_it(tw):
    watched = tw.start("run", "slow.yaml")
    until(lambda: starts(tw), "the step has started")
    for args in (("ps",), ("show", "-1"), ("why", "-1"), ("logs", "-1"), ("metrics", "-1"), ("why", "-1/second")):
        tw.run(*args, code=0)
    assert "waits for first" in tw.run("why", "-1/second", code=0).out
    follower = subprocess.Popen(("tw", "logs", "-f", "-1/first"), cwd=tw.folder, env=tw.environ, stdout=subprocess.PIPE)
    open_gate(tw)
    assert follower.communicate(timeout=60)[0].decode().splitlines()[-1] == "done"
    assert ended(watched).code == 0
    assert starts(tw) == 1
