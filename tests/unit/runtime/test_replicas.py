"""A gang on one machine: one command a replica, told apart by its variables, and one end for all."""

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from trainwright.core.job import JobSpec
from trainwright.core.workload import Assignment
from trainwright.ports.testing.jobs import Draft
from trainwright.runtime import tree

Until = Callable[[Callable[[], object]], None]


def gang(job: JobSpec, *devices: tuple[int, ...]) -> JobSpec:
    return replace(job, places=tuple(Assignment(f"n{index}", given) for index, given in enumerate(devices)))


def test_each_replica_knows_its_place_its_devices_and_the_others(bench: Any) -> None:
    names = (
        *("TW_NODE_RANK", "TW_NUM_NODES", "TW_NUM_GPUS_PER_NODE", "CUDA_VISIBLE_DEVICES", "RANK", "WORLD_SIZE"),
        *("LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "PET_NNODES", "PET_NODE_RANK", "PET_NPROC_PER_NODE"),
    )
    shown = " ".join(f"${name}" for name in names)
    script = f'echo "{shown}"; echo "$MASTER_PORT $PET_MASTER_PORT" >> ports; test "$TW_NODE_IPS" = "$BOTH"'
    result = bench.run(gang(Draft(env={"BOTH": "127.0.0.1\n127.0.0.1"}).shell(script), (0, 1), (4, 5)))
    assert (result["cause"], result["exit_code"]) == ("exited", 0)
    assert sorted(result["log"].splitlines()) == [
        "0 2 2 0,1 0 2 0 1 127.0.0.1 2 0 2",
        "[1] 1 2 2 4,5 1 2 0 1 127.0.0.1 2 1 2",
    ]
    ports = {port for line in (result["folder"] / "work" / "ports").read_text().splitlines() for port in line.split()}
    assert len(ports) == 1


def test_a_single_replica_knows_that_it_is_alone_and_has_no_rank(bench: Any) -> None:
    script = 'echo "$TW_NODE_RANK $TW_NUM_NODES $TW_NODE_IPS $TW_NUM_GPUS_PER_NODE ${RANK-none} ${MASTER_ADDR-none}"'
    assert bench.run(Draft().shell(script))["log"] == "0 1 127.0.0.1 0 none none\n"
    alone = gang(Draft().shell('echo "$CUDA_VISIBLE_DEVICES ${RANK-none}"'), (3,))
    assert bench.run(replace(alone, number=2, attempt=Draft(number=2).argv("x").attempt))["log"] == "3 none\n"


def test_the_first_failure_ends_the_others_and_decides(bench: Any) -> None:
    script = 'if [ "$TW_NODE_RANK" = 1 ]; then sleep 0.2; exit 7; fi; trap "echo told; exit 0" TERM; sleep 600 & wait'
    result = bench.run(gang(Draft(grace_s=20).shell(script), (), (), ()))
    assert (result["cause"], result["exit_code"]) == ("exited", 7)
    assert result["message"] == "replica 1 of 3 failed first"
    assert sorted(result["log"].splitlines()) == ["[2] told", "told"]
    assert list(tree.marked(b"TW_ATTEMPT_DIR=" + bytes(result["folder"]))) == []


def test_one_that_is_done_waits_for_the_others(bench: Any) -> None:
    script = 'if [ "$RANK" = 0 ]; then echo w > "$TW_REF_1"; else sleep 0.3; echo late; fi'
    job = Draft(outputs=("model",), refs={"TW_REF_1": "output:model"}).shell(script)
    result = bench.run(gang(job, (), ()))
    assert (result["cause"], result["exit_code"], set(result["outputs"])) == ("exited", 0, {"model"})
    assert result["log"] == "[1] late\n"


def test_what_replica_0_tells_and_saves_counts_alone(bench: Any) -> None:
    script = (
        "import os, trainwright as tw\n"
        "rank = int(os.environ['RANK'])\n"
        "tw.log(loss=rank + 1.0)\n"
        "tw.params(who=rank)\n"
        "with tw.checkpoint.save(rank) as path: (path / 'x').write_text('x')\n"
        "tw.should_stop()\n"
    )
    checkpoints = bench.root / "checkpoints"
    result = bench.run(gang(Draft().argv(sys.executable, "-c", script), (), ()), checkpoints=str(checkpoints))
    assert result["exit_code"] == 0, result["log"]
    assert (result["metrics"]["loss"]["last"], result["metrics"]["loss"]["count"]) == (1.0, 1)
    assert result["params"] == {"who": 0}
    assert [path.name for path in checkpoints.glob("0*")] == ["000001-step-000000000000"]


def test_a_notice_reaches_all_replicas_and_each_may_take_its_grace(bench: Any, until: Until) -> None:
    script = (
        "import os, sys, time, trainwright as tw\n"
        "open('up' + os.environ['RANK'], 'w').close()\n"
        "while not tw.should_stop(): time.sleep(0.01)\n"
        "time.sleep(0.3 * int(os.environ['RANK']))\n"
        "print('left', flush=True)\n"
        "sys.exit(143)\n"
    )
    folder: Path = bench.order(gang(Draft().argv(sys.executable, "-c", script), (), ()))
    runner = bench.begin(folder)
    until(lambda: all((folder / "work" / f"up{rank}").exists() for rank in (0, 1)))
    (folder / "draft").write_text('{"why": "room", "grace_s": 600}')
    (folder / "draft").rename(folder / "preempt")
    assert runner.wait(20) == 0
    result = bench.result(folder)
    assert (result["cause"], result["message"], result["exit_code"]) == ("preempted", "room", 143)
    assert result["log"] == "left\n[1] left\n"


@pytest.mark.parametrize("text", ["half", "long" * 40000])
def test_lines_of_other_replicas_are_whole_in_the_log(bench: Any, text: str) -> None:
    (bench.root / "text").write_text(text)
    result = bench.run(gang(Draft().shell(f'if [ "$RANK" = 1 ]; then cat {bench.root}/text; fi'), (), ()))
    assert result["log"].replace("[1] ", "").replace("\n", "") == text
    assert result["log"].startswith("[1] ")
    assert result["log"].endswith("\n")


def test_a_program_that_is_missing_leaves_no_replica_behind(bench: Any) -> None:
    result = bench.run(gang(Draft().argv("/no/such/program"), (), ()))
    assert result["cause"] == "not-started"
