"""What the runner does with one attempt; every test starts the real one."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from trainwright.core.artifact import ArtifactKind, Content, Input
from trainwright.core.ids import Digest
from trainwright.core.job import CodeTree
from trainwright.ports.testing.jobs import Draft
from trainwright.runtime import content, tree

Until = Callable[[Callable[[], object]], None]
SPIN = "import signal,time; signal.signal(signal.SIGTERM, signal.SIG_IGN); open('up', 'w'); time.sleep(600)"


def left(folder: Path) -> list[int]:
    return list(tree.marked(b"TW_ATTEMPT_DIR=" + bytes(folder)))


@pytest.mark.parametrize(
    ("script", "code", "number"),
    [
        ("exit 0", 0, None),
        ("exit 1", 1, None),
        ("exit 2", 2, None),
        ("exit 255", 255, None),
        ("kill -SEGV $$", None, signal.SIGSEGV),
        ("kill -TERM $$", None, signal.SIGTERM),
        ("kill -KILL $$", None, signal.SIGKILL),
        ("false | true", 1, None),
        ("no-such-program-here", 127, None),
    ],
)
def test_an_end_is_told_with_code_or_signal(bench: Any, script: str, code: int | None, number: int | None) -> None:
    result = bench.run(Draft().shell(script))
    assert (result["cause"], result["exit_code"], result["signal"]) == ("exited", code, number)
    assert result["token"] == "token-1"
    assert result["started_at"] <= result["finished_at"]


def test_output_of_the_command_is_in_the_log_also_when_it_is_not_text(bench: Any) -> None:
    result = bench.run(Draft().shell("echo out; echo err >&2; printf '\\xff\\n'"))
    assert (result["folder"] / "log").read_bytes() == b"out\nerr\n\xff\n"


def test_a_timeout_ends_the_whole_tree_that_ignores_term_and_holds_stdout(bench: Any) -> None:
    started = time.monotonic()
    job = Draft(timeout_s=0.6, grace_s=0.3).shell(f'{sys.executable} -c "{SPIN}" & wait')
    result = bench.run(job)
    assert result["cause"] == "timeout"
    assert "0.6 s" in result["message"]
    assert left(result["folder"]) == []
    assert time.monotonic() - started < 0.6 + 0.3 + 2


def test_stop_gives_the_grace_and_keeps_the_reason(bench: Any, until: Until) -> None:
    folder = bench.order(
        Draft(grace_s=20).shell("trap 'echo saved; exit 0' TERM; touch up; while :; do sleep 0.02; done")
    )
    runner = bench.begin(folder)
    until((folder / "work" / "up").exists)
    (folder / "stop").write_text("not needed any more")
    assert runner.wait(10) == 0
    result = bench.result(folder)
    assert (result["cause"], result["message"], result["exit_code"]) == ("stopped", "not needed any more", 0)
    assert "saved" in result["log"]


def test_term_to_the_runner_means_stop(bench: Any, until: Until) -> None:
    folder = bench.order(Draft().shell("touch up; sleep 600"))
    runner = bench.begin(folder)
    until((folder / "work" / "up").exists)
    runner.send_signal(signal.SIGINT)
    runner.terminate()
    runner.wait(10)
    assert bench.result(folder)["cause"] == "stopped"


def test_what_was_stopped_before_never_starts(bench: Any) -> None:
    folder = bench.order(Draft().shell("touch /tmp/must-not-be"))
    (folder / "stop").write_text("early")
    bench.begin(folder).wait(10)
    result = bench.result(folder)
    assert (result["cause"], result["started_at"]) == ("stopped", None)


def test_a_daemon_in_a_session_of_its_own_is_gone_at_the_end(bench: Any) -> None:
    script = (
        "setsid bash -c 'env -i sleep 600 & echo $! > stray; sleep 600' & while [ ! -s stray ]; do sleep 0.01; done"
    )
    result = bench.run(Draft().shell(script))
    assert (result["cause"], result["exit_code"]) == ("exited", 0)
    stray = int((result["folder"] / "work" / "stray").read_text())
    assert not tree.stat_fields(stray)
    assert left(result["folder"]) == []


def test_a_second_runner_does_nothing(bench: Any, until: Until) -> None:
    folder = bench.order(Draft().shell("echo once >> ../began; while [ ! -e ../go ]; do sleep 0.01; done"))
    first = bench.begin(folder)
    until((folder / "began").exists)
    others = [bench.begin(folder) for _ in range(3)]
    assert [other.wait(10) for other in others] == [0, 0, 0]
    assert not (folder / "result.json").exists()
    (folder / "go").touch()
    first.wait(10)
    written = (folder / "result.json").read_bytes()
    bench.begin(folder).wait(10)
    assert (folder / "began").read_text() == "once\n"
    assert (folder / "result.json").read_bytes() == written


NASTY = 'x"; rm -rf "$HOME/x"; $(touch pwned) `touch pwned` \' \\ \n second line € \t*'


def test_values_arrive_as_data_in_arguments_and_in_a_script(bench: Any) -> None:
    show = "import json,os,sys; print(json.dumps([sys.argv[1:], os.environ['NASTY']]))"
    result = bench.run(Draft(env={"NASTY": NASTY}).argv(sys.executable, "-c", show, NASTY, ""))
    assert json.loads(result["log"]) == [[NASTY, ""], NASTY]
    result = bench.run(Draft(number=2, env={"NASTY": NASTY}).shell('printf %s "$NASTY"'))
    assert result["log"] == NASTY
    assert not (result["folder"] / "work" / "pwned").exists()


def test_a_command_that_cannot_be_executed_is_not_started(bench: Any) -> None:
    missing = bench.run(Draft(number=1).argv("no-such-program-here"))
    assert missing["cause"] == "not-started"
    assert "no-such-program-here" in missing["message"]
    denied = bench.run(Draft(number=2).argv("/etc/hostname"))
    assert denied["cause"] == "not-started"
    nul = bench.run(Draft(number=3).argv("echo", "a\0b"))
    assert (nul["cause"], nul["started_at"]) == ("not-started", None)


def test_missing_outputs_are_named_with_their_paths_and_nothing_is_published(bench: Any) -> None:
    job = Draft(outputs=("model", "report"), refs={"TW_REF_1": "output:model"}).shell('echo w > "$TW_REF_1"')
    result = bench.run(job)
    assert result["cause"] == "output-missing"
    assert f"report ({result['folder']}/outputs/report)" in result["message"]
    assert result["outputs"] == {}


def test_outputs_are_published_and_reach_the_next_attempt_read_only(bench: Any) -> None:
    made = bench.run(
        Draft(outputs=("model",), refs={"TW_REF_1": "output:model"}).shell(
            'mkdir "$TW_REF_1"; echo w > "$TW_REF_1/a.txt"'
        )
    )
    facts = made["outputs"]["model"]
    assert (facts["files"], facts["size_bytes"]) == (1, 2)
    given = Input("train.model", ArtifactKind.MODEL, Content(Digest(facts["digest"]), 1, 2), "runs:/x")
    job = Draft(number=2, inputs=(given,), refs={"TW_REF_1": "input:train.model"}).shell(
        'cat "$TW_REF_1/a.txt"; ls ../inputs; stat -c %a "$TW_REF_1/a.txt"'
    )
    assert bench.run(job)["log"] == "w\ntrain.model\n444\n"


def test_an_output_that_is_a_link_out_of_the_attempt_is_not_published(bench: Any) -> None:
    result = bench.run(Draft(outputs=("model",)).shell("ln -s /etc/hostname ../outputs/model"))
    assert (result["cause"], result["outputs"]) == ("not-published", {})


def test_a_missing_input_is_told(bench: Any) -> None:
    gone = Input("data.x", ArtifactKind.DATASET, Content(Digest("sha256:" + "a" * 64), 1, 2), "datasets/x@1")
    result = bench.run(Draft(inputs=(gone,)).shell("true"))
    assert result["cause"] == "not-started"
    assert "sha256:aaaa" in result["message"]


def test_siblings_can_be_read_and_writes_stay_private(bench: Any, tmp_path: Path) -> None:
    code = tmp_path / "code"
    for name, text in {
        "a/b/main.sh": "cat ../../common/x.txt",
        "common/x.txt": "shared\n",
        "a/big": "x" * 1500000,
    }.items():
        (code / name).parent.mkdir(parents=True, exist_ok=True)
        (code / name).write_text(text)
    stored = content.put(bench.store, str(code))
    tree_of = CodeTree(Digest(stored.digest), "a/b")
    script = (
        "sh main.sh; wc -c < ../big; echo mine > ../../common/x.txt; echo > ../../common/new; cat ../../common/x.txt"
    )
    for number in (1, 2):
        result = bench.run(Draft(number=number, code=tree_of).shell(script))
        assert result["log"] == "shared\n1500000\nmine\n"
        assert (result["folder"] / "work" / "a" / "b").is_dir()
    again = content.export(bench.store, stored.digest, str(tmp_path / "again"))
    assert content.put(bench.store, again).digest == stored.digest


def test_the_environment_is_ours_where_it_must_be_and_the_authors_elsewhere(bench: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("TW_SECRET", "of the engine")
    monkeypatch.setenv("KEPT", "inherited")
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    mine = {"TW_RUN_ID": "forged", "PYTHONUNBUFFERED": "0", "CUDA_VISIBLE_DEVICES": "7"}
    result = bench.run(Draft(env=mine).shell("env -0"), path=("/first/bin",))
    env = dict(line.split("=", 1) for line in result["log"].split("\0") if line)
    assert "TW_SECRET" not in env
    assert (env["KEPT"], env["TW_RUN_ID"], env["PYTHONUNBUFFERED"]) == ("inherited", "run1", "0")
    assert (env["OMP_NUM_THREADS"], env["CUDA_VISIBLE_DEVICES"]) == ("1", "")
    assert env["PATH"].startswith("/first/bin:")
    assert env["PYTHONPATH"].endswith(bench.library.removesuffix(".pyz"))
    assert env["TW_ATTEMPT_DIR"] == str(result["folder"])
    given = bench.run(Draft(number=2, devices=(0, 2)).shell('echo "$CUDA_VISIBLE_DEVICES"'))
    assert given["log"] == "0,2\n"


def test_what_the_script_told_is_in_the_result(bench: Any) -> None:
    script = (
        "import trainwright as tw\n"
        "for i, x in enumerate([3.0, 1.0, 2.0]): tw.log(loss=x, step=i)\n"
        "tw.log(bad=float('nan')); tw.params(seed=7); tw.progress(3, 3)\n"
        "tw.outputs['model'].write_text('w'); print(sorted(tw.outputs), tw.should_stop())\n"
    )
    result = bench.run(Draft(outputs=("model",)).argv(sys.executable, "-S", "-c", script))
    assert result["log"] == "['model'] False\n"
    assert result["metrics"]["loss"] == {"last": 2.0, "low": 1.0, "high": 3.0, "count": 3, "last_step": 2}
    assert result["metrics"]["bad"]["last"] == result["metrics"]["bad"]["low"] == "NaN"
    assert result["params"] == {"seed": 7}
    assert result["usage"]["max_rss_bytes"] > 2**20


def test_the_last_valid_checkpoint_reaches_the_next_attempt(bench: Any) -> None:
    save = "import trainwright as tw\nwith tw.checkpoint.save(5) as p: (p / 'w').write_text('five')"
    kept = str(bench.root / "checkpoints")
    assert bench.run(Draft().argv(sys.executable, "-S", "-c", save), checkpoints=kept)["exit_code"] == 0
    job = Draft(number=2, refs={"TW_REF_1": "checkpoint:path"}).shell('cat "$TW_REF_1/w"')
    assert bench.run(job, checkpoints=kept)["log"] == "five"
    none = Draft(number=3, refs={"TW_REF_1": "checkpoint:path"}).shell('echo "[$TW_REF_1]"')
    assert bench.run(none, checkpoints=str(bench.root / "none"))["log"] == "[]\n"


def test_a_long_path_is_no_obstacle(bench: Any) -> None:
    bench.root = bench.root / ("d" * 100) / ("e" * 100)
    job = Draft(outputs=("model",), refs={"TW_REF_1": "output:model"}).shell('echo w > "$TW_REF_1"')
    assert bench.run(job)["cause"] == "exited"


@pytest.fixture
def small_disk(tmp_path: Path) -> Any:
    place = tmp_path / "small"
    place.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(place)], capture_output=True, check=False
    ).returncode:
        pytest.skip("no right to mount")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_full_disk_is_told_with_numbers_and_publishes_nothing(bench: Any, small_disk: Path) -> None:
    job = Draft(outputs=("small", "model")).shell(
        "echo s > ../outputs/small; head -c 8000000 /dev/zero > ../outputs/model"
    )
    result = bench.run(job, store=str(small_disk / "content"))
    assert (result["cause"], result["outputs"]) == ("not-published", {})
    assert "8000002 bytes needed" in result["message"]
    assert str(small_disk) in result["message"]
    assert not (small_disk / "content").exists()  # refused before anything was written


def test_a_disk_filled_by_the_command_still_takes_the_result(bench: Any, small_disk: Path) -> None:
    bench.root = small_disk
    result = bench.run(Draft().shell("head -c 9000000 /dev/zero > filler"))
    assert (result["cause"], result["exit_code"]) == ("exited", 1)
    assert f"bytes free in {small_disk}" in result["message"]


def test_the_runner_loads_little(bench: Any) -> None:
    folder = bench.order(Draft().argv("true"))
    told = subprocess.run(
        [sys.executable, "-X", "importtime", "-I", "-S", "-B", bench.library, "run", folder],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    loaded = {line.rpartition("|")[2].strip() for line in told.stderr.splitlines()}
    assert "trainwright.runtime.runner" in loaded
    heavy = {"json", "re", "enum", "typing", "dataclasses", "subprocess", "inspect", "hashlib", "pathlib", "tempfile"}
    assert loaded & heavy == set()


def test_processes_are_found_by_their_mark_where_the_kernel_hands_out_no_orphans(bench: Any) -> None:
    job = Draft().shell("setsid bash -c 'echo $$ > stray; exec sleep 600' & while [ ! -s stray ]; do sleep 0.01; done")
    folder = bench.order(job)
    script = "import os, sys; from trainwright.runtime import runner, tree; tree._become_subreaper = bool; "
    script += "runner.run(sys.argv[1], os.environb)"
    subprocess.run([sys.executable, "-c", script, folder], check=True, timeout=30)
    assert bench.result(folder)["cause"] == "exited"
    assert left(folder) == []


def test_term_reaches_each_process_once(bench: Any, until: Until) -> None:
    folder = bench.order(Draft(grace_s=20).shell("bash ../count.sh 1 & bash ../count.sh 2 & wait"))
    count = "trap 'echo term >> terms' TERM; touch up$1; while [ ! -e ../done ]; do sleep 0.02; done"
    (folder / "count.sh").write_text(count)
    runner = bench.begin(folder)
    until(lambda: (folder / "work" / "up1").exists() and (folder / "work" / "up2").exists())
    (folder / "stop").write_text("x")
    terms = folder / "work" / "terms"
    until(lambda: terms.exists() and len(terms.read_text().splitlines()) >= 2)
    time.sleep(0.3)
    (folder / "done").touch()
    runner.wait(10)
    assert terms.read_text() == "term\nterm\n"


def test_the_command_may_open_as_many_files_as_the_machine_allows(bench: Any) -> None:
    result = bench.run(Draft().shell('test "$(ulimit -Sn)" = "$(ulimit -Hn)" && ulimit -Hn'))
    assert result["exit_code"] == 0, result["log"]
