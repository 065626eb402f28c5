"""A pretended inventory belongs to the project while work goes on, and follows its file."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from trainwright.core.errors import NotFoundError, SpecError
from trainwright.core.node import Node
from trainwright.core.workload import Assignment
from trainwright.plugins.backends.local import machine
from trainwright.plugins.backends.local.backend import LocalBackend
from trainwright.plugins.backends.local.inventory import Inventory, Known, choose
from trainwright.plugins.backends.local.settings import LocalSettings
from trainwright.ports.testing.backend import await_end
from trainwright.ports.testing.jobs import Draft
from trainwright.runtime import identity
from trainwright.spec.inventory import load

ONE = "nodes: [{name: a, cpu: 2, memory: 1Gi, gpus: {count: 2, model: A100, memory: 40Gi}}]"
TWO = "nodes: [{name: a, cpu: 2, memory: 1Gi}, {name: b, cpu: 64, memory: 1Ti}]"


def read(text: str, file: str) -> tuple[Node, ...]:
    return load(text, file, machine.node())


def busy() -> bool:
    return True


def idle() -> bool:
    return False


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    return tmp_path / "inventory-default.json"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "cluster.yaml").write_text(ONE)
    return tmp_path / "cluster.yaml"


def as_another(kept: Path) -> None:
    """Let whoever chose be dead."""
    gone = subprocess.Popen(["sleep", "60"])
    name = identity.of_process(gone.pid)
    gone.kill()
    gone.wait()
    found = json.loads(kept.read_text())
    kept.write_text(json.dumps({**found, "holders": [name]}))


def names(chosen: Inventory | None) -> list[str]:
    assert chosen is not None
    return [node.name for node in chosen.nodes()]


def test_nothing_is_pretended_unless_somebody_asked(kept: Path) -> None:
    assert choose(kept, None, busy, read) == (None, "")
    assert not kept.exists()


def test_another_process_of_the_project_sees_the_same_while_work_goes_on(kept: Path, file: Path) -> None:
    first, _ = choose(kept, file, idle, read)
    assert names(first) == ["a"]
    assert names(choose(kept, None, idle, read)[0]) == ["a"]  # the one who chose lives
    as_another(kept)
    second, other = choose(kept, None, busy, read)
    assert (names(second), other) == (["a"], "")


def test_it_is_given_up_when_nobody_holds_it_and_nothing_is_unfinished(kept: Path, file: Path) -> None:
    choose(kept, file, idle, read)
    as_another(kept)
    assert choose(kept, None, idle, read) == (None, "")
    assert not kept.exists()


def test_who_asks_for_another_one_meanwhile_is_told_what_is_in_use(kept: Path, file: Path, tmp_path: Path) -> None:
    choose(kept, file, idle, read)
    as_another(kept)
    chosen, other = choose(kept, tmp_path / "else.yaml", busy, read)
    assert (names(chosen), other) == (["a"], str(file))
    (tmp_path / "else.yaml").write_text(TWO)
    assert names(choose(kept, tmp_path / "else.yaml", idle, read)[0]) == ["a", "b"]


def test_unfinished_work_of_the_machine_stays_there(kept: Path, file: Path) -> None:
    assert choose(kept, file, busy, read) == (None, "this machine")
    assert not kept.exists()


def test_a_changed_file_counts_at_the_next_look_and_a_broken_one_does_not(kept: Path, file: Path) -> None:
    chosen, _ = choose(kept, file, idle, read)
    assert names(chosen) == ["a"]
    file.write_text(TWO)
    assert names(chosen) == ["a", "b"]
    file.write_text("nodes: [{name: a, cpus: 3}]")
    assert chosen is not None
    assert names(chosen) == ["a", "b"]
    assert "did you mean cpu?" in chosen.flaw
    file.unlink()
    late, _ = choose(kept, None, busy, read)
    assert late is not None
    assert names(late) == ["a", "b"]  # what was last in order is kept
    assert "cannot be read" in late.flaw
    file.write_text(ONE)
    assert (names(chosen), chosen.flaw) == (["a"], "")


def test_what_never_was_in_order_is_refused(kept: Path, file: Path) -> None:
    file.write_text("nodes: 7")
    chosen, _ = choose(kept, file, idle, read)
    assert chosen is not None
    for _ in range(2):
        with pytest.raises(SpecError):
            chosen.nodes()
    missing = Inventory(Known(str(file.with_name("none.yaml"))), read)
    with pytest.raises(NotFoundError) as refused:
        missing.nodes()
    assert refused.value.problem.code == "TW6303"


def test_a_file_of_the_project_that_is_broken_is_no_choice(kept: Path) -> None:
    kept.write_text("{half")
    assert choose(kept, None, busy, read) == (None, "")


def test_jobs_run_as_plain_processes_without_limits(tmp_path: Path, file: Path) -> None:
    inventory = Inventory(Known(str(file)), read)
    backend = LocalBackend(LocalSettings(tmp_path / "runs", tmp_path / "content", sys.executable, inventory=inventory))
    (node,) = backend.nodes()
    assert (node.name, [d.model for d in node.devices]) == ("a", ["A100", "A100"])
    job = Draft(memory_bytes=1 << 20).argv(sys.executable, "-c", "import os; b'x' * 2**26; print(os.environ['RANK'])")
    job = replace(job, places=(Assignment("a", (0,)), Assignment("a", (1,))))
    backend.start(job)
    end = await_end(backend, job.attempt)
    result = json.loads((backend.folder(job.attempt) / "result.json").read_text())
    assert (end.exit_code, result["usage"]["memory_limit"]) == (0, "none")
    assert sorted((backend.folder(job.attempt) / "log").read_text().splitlines()) == ["0", "[1] 1"]


def test_many_choosers_at_once_agree(kept: Path, file: Path, tmp_path: Path) -> None:
    program = (
        "import sys\nfrom pathlib import Path\n"
        "from trainwright.plugins.backends.local.inventory import choose\n"
        "chosen, other = choose(Path(sys.argv[1]), Path(sys.argv[2]), lambda: False, lambda *_: ())\n"
        "print(chosen.path, flush=True)\nsys.stdin.read()\n"
    )
    files = [file, tmp_path / "else.yaml"] * 3
    asked = [[sys.executable, "-c", program, str(kept), str(path)] for path in files]
    processes = [subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for words in asked]
    told: Callable[[subprocess.Popen[bytes]], bytes] = lambda p: p.stdout.readline() if p.stdout else b""  # noqa: E731
    paths = {os.fsdecode(told(process)).strip() for process in processes}
    for process in processes:
        process.communicate()
    assert len(paths) == 1
