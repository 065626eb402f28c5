"""``tw resume``: a new run that takes over what is equal, says so first, and never mixes in silence."""

import os
import signal

import pytest
from shell import Shell, ended, until

CHAIN = """
pipeline: chain
params: {k: 1, unused: 5}
steps:
  prep:
    run: ["python", "prep.py", "${{ out.table }}"]
    out: {table: file}
  train:
    run: ["python", "train.py", "${{ prep.table }}", "${{ params.k }}", "${{ out.model }}"]
    out: {model: model}
  report:
    run: ["python", "report.py", "${{ train.model }}"]
"""
FAN = """
pipeline: fan
steps:
  list:
    run: echo list >> "$TRACE"; echo '["m1", "m2", "m3"]' > ${{ out.shards }}
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
    run: echo collect >> "$TRACE"; cat ${{ work.part }} > ${{ out.all }}
    out: {all: value}
"""
SAYS = "import os; open(os.environ['TRACE'], 'a').write('{name}\\n')\n"


@pytest.fixture
def tw(tmp_path):
    with Shell(tmp_path / "p", TRACE=str(tmp_path / "trace")) as shell:
        shell.write("chain.yaml", CHAIN)
        shell.write("fan.yaml", FAN)
        shell.write("prep.py", SAYS.format(name="prep") + "import sys; open(sys.argv[1], 'w').write('data')\n")
        shell.write("train.py", SAYS.format(name="train") + "import sys; open(sys.argv[3], 'w').write(sys.argv[2])\n")
        shell.write("report.py", SAYS.format(name="report") + "raise SystemExit(3)\n")
        yield shell


def traced(tw: Shell) -> list[str]:
    path = tw.folder.parent / "trace"
    return path.read_text().split() if path.exists() else []


def mend(tw: Shell) -> None:
    tw.write("report.py", SAYS.format(name="report"))


def test_what_is_equal_is_taken_over_and_mended_code_runs(tw):
    tw.run("run", "chain.yaml", code=1)
    mend(tw)
    said = tw.run("resume", "-1", "--with-code", "WORKTREE", code=0)
    assert "resumes chain #1" in said.err
    assert "reused:  prep, equal to runs/" in said.err
    assert "again:  report" in said.err
    assert traced(tw) == ["prep", "train", "report", "report"]
    states = {s["name"]: s["state"] for s in tw.show()["steps"]}
    assert states == {"prep": "cached", "train": "cached", "report": "succeeded"}


def test_the_code_stays_that_of_the_run_unless_another_is_asked_for(tw):
    tw.run("run", "chain.yaml", code=1)
    mend(tw)
    tw.run("resume", "-1", code=1)
    assert traced(tw) == ["prep", "train", "report", "report"]
    first, second = tw.show("1"), tw.show("2")
    assert first["run"]["fingerprint"] != second["run"]["fingerprint"], "what was taken over is part of it"


def test_a_committed_state_can_be_resumed_with(tw):
    git = "git -c user.name=a -c user.email=a@b.example"
    tw.shell(f"git init -q . && git add -A && {git} commit -qm one")
    tw.run("run", "chain.yaml", code=1)
    mend(tw)
    tw.shell(f"{git} commit -qam two && echo 'raise SystemExit(4)' > report.py")
    tw.run("resume", "-1", "--with-code", "HEAD", code=0)
    assert traced(tw)[-1] == "report"
    assert tw.run("resume", "1", "--with-code", "TAIL", code=2).err.startswith("error[TW2208]")


def test_another_parameter_runs_what_it_touches(tw):
    tw.run("run", "chain.yaml", code=1)
    mend(tw)
    said = tw.run("resume", "-1", "--with-code", "WORKTREE", "-p", "k=2", code=0)
    assert "again:  train, param k 1 → 2" in said.err
    assert traced(tw) == ["prep", "train", "report", "train", "report"]
    tw.run("resume", "-1", "-p", "unused=6", code=0)
    assert traced(tw) == ["prep", "train", "report", "train", "report"], "all of it was equal"


def test_from_runs_a_step_again_and_refuses_a_silent_mixture(tw):
    tw.run("run", "chain.yaml", code=1)
    mend(tw)
    tw.run("resume", "-1", "--with-code", "WORKTREE", "--from", "train", code=0)
    assert traced(tw) == ["prep", "train", "report", "train", "report"]
    with (tw.folder / "prep.py").open("a") as file:
        file.write("# edited\n")
    said = tw.run("resume", "1", "--with-code", "WORKTREE", "--from", "train", code=1)
    assert "error[TW5303]: prep cannot be taken over: code changed: prep.py differs" in said.err
    assert "again:  prep, code changed: prep.py differs" in said.err
    assert len(tw.run("ps", "--json", code=0).json) == 2, "nothing was queued"
    assert "TW4002" in tw.run("resume", "1", "--from", "tarin", code=4).err


def test_a_dry_run_queues_nothing_and_a_living_run_is_not_resumed(tw):
    tw.write("slow.yaml", "pipeline: slow\nsteps:\n  a:\n    run: exec sleep 60\n")
    run = tw.run("run", "-d", "slow.yaml", code=0).out.strip()
    assert tw.run("resume", run, code=1).err.startswith("error[TW5301]")
    tw.run("stop", run, code=0)
    tw.run("wait", run, code=1)
    assert "again:  a" in tw.run("resume", run, "--dry-run", code=0).err
    assert len(tw.run("ps", "--json", code=0).json) == 1


def test_g04_amid_a_fan_out_only_the_members_that_failed_run(tw):
    tw.run("run", "fan.yaml", code=1)
    assert traced(tw) == ["list", "m1", "m2", "m3"]
    (tw.folder.parent / "trace.mended").touch()
    tw.run("resume", "-1", code=0)
    assert traced(tw) == ["list", "m1", "m2", "m3", "m2", "collect"]


def test_g04_a_resumed_run_whose_engine_is_killed_goes_on(tw):
    tw.write(
        "held.yaml",
        FAN.replace(
            "echo ${{ each.value }} >>", 'until test -e "$TRACE.go"; do sleep 0.02; done; echo ${{ each.value }} >>'
        ),
    )
    (tw.folder.parent / "trace.go").touch()
    tw.run("run", "held.yaml", code=1)
    (tw.folder.parent / "trace.go").unlink()
    (tw.folder.parent / "trace.mended").touch()
    resuming = tw.start("resume", "-1")
    until(lambda: any(s["name"] == "work.1" and s["state"] == "running" for s in tw.show()["steps"]), "it runs")
    os.kill(resuming.pid, signal.SIGKILL)
    ended(resuming)
    (tw.folder.parent / "trace.go").touch()
    tw.run("wait", "2", code=0)
    assert traced(tw) == ["list", "m1", "m2", "m3", "m2", "collect"]


def test_from_takes_over_an_empty_list_and_leaves_skipped_what_is_skipped(tw):
    tw.write(
        "gate.yaml",
        """
        pipeline: gate
        params: {x: 1}
        steps:
          list:
            run: echo '[]' > ${{ out.items }}
            out: {items: value}
          each_one:
            for_each: list.items
            run: echo ${{ each.value }} > ${{ out.part }}
            out: {part: file}
          rare:
            when: "params.x > 1"
            run: echo rare > ${{ out.text }}
            out: {text: file}
          last:
            when: none_failed
            depends_on: rare
            run: ls ${{ each_one.part }} > ${{ out.text }}
            out: {text: file}
        """,
    )
    tw.run("run", "gate.yaml", code=0)
    assert "cache rare: skipped: because params.x > 1 does not hold" in tw.run("plan", "gate.yaml", code=0).out
    said = tw.run("resume", "-1", "--from", "last", code=0).err
    assert "reused:  each_one, it has no members" in said
    assert "skipped: rare, because params.x > 1 does not hold" in said
    assert "again:  each_one, asked to run again (resume --from)" in tw.run("resume", "1", "--from", "each_one").err


@pytest.mark.parametrize("code", ["WORKTREE", "HEAD"])
def test_in_another_folder_other_code_is_not_found_and_the_remedy_says_where_to_call_it(tw, code):
    elsewhere = tw.folder / "sub"
    elsewhere.mkdir()
    (elsewhere / "note").touch()
    tw.shell("git init -q . && git add -A && git -c user.name=a -c user.email=a@b.example commit -qm one")
    tw.run("run", "chain.yaml", code=1)
    said = tw.run("resume", "-1", "--with-code", code, cwd=elsewhere, code=4)
    assert "call it in the folder in which the run was started" in said.err
