"""Two projects on one machine never hold one thing twice."""

import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from trainwright.core.errors import TransientBackendError
from trainwright.core.job import JobSpec
from trainwright.core.node import Node
from trainwright.core.resources import Resources
from trainwright.core.workload import Assignment
from trainwright.plugins.backends.local import machine
from trainwright.plugins.backends.local.backend import LocalBackend
from trainwright.plugins.backends.local.inventory import Inventory, Known
from trainwright.plugins.backends.local.ledger import Lease, Ledger, is_living
from trainwright.plugins.backends.local.settings import LocalSettings
from trainwright.ports.testing.backend import await_end
from trainwright.ports.testing.jobs import Draft
from trainwright.spec.inventory import load

GIB = 2**30


def read(text: str, file: str) -> tuple[Node, ...]:
    return load(text, file, machine.node())


ONE = json.dumps({"cpu": 2, "memory": "8Gi", "gpus": [{"model": "A100", "memory": "40Gi"}]})
TWO = "nodes: [{name: n, count: 2, cpu: 2, memory: 8Gi, gpus: {model: A100, memory: 40Gi}}]"


def project(tmp_path: Path, name: str, text: str = ONE, file: str = "inventory.json") -> LocalBackend:
    inventory = tmp_path / file
    inventory.write_text(text)
    return LocalBackend(
        LocalSettings(
            tmp_path / name / "runs",
            tmp_path / name / "content",
            sys.executable,
            inventory=Inventory(Known(str(inventory)), read),
            ledger=tmp_path / "ledger",
        )
    )


def gpu_job(step: str, milli: int = 1000) -> JobSpec:
    draft = Draft(step=step, devices=(0,)).shell("while ! test -e ../go; do sleep 0.02; done")
    return JobSpec(
        **{f: getattr(draft, f) for f in JobSpec.__dataclass_fields__} | {"resources": Resources(1000, 0, milli)}
    )


def test_what_one_project_holds_is_missing_for_the_other_until_it_ends(tmp_path: Path) -> None:
    one, other = project(tmp_path, "one"), project(tmp_path, "other")
    job = gpu_job("train")
    one.start(job)
    (node,) = other.nodes()
    assert (node.free.gpu_milli, node.devices[0].free_milli) == (0, 0)
    assert node.free.cpu_milli == 1000
    assert "pipeline/train" in node.foreign[0]
    assert one.nodes()[0].free.gpu_milli == 1000  # its own are in its own books
    (one.folder(job.attempt) / "go").touch()
    await_end(one, job.attempt)
    assert other.nodes()[0].free.gpu_milli == 1000


def test_of_two_projects_that_start_on_one_device_at_once_the_second_is_told_to_wait(tmp_path: Path) -> None:
    one, other = project(tmp_path, "one"), project(tmp_path, "other")
    first, second = gpu_job("a"), gpu_job("b")
    one.start(first)
    with pytest.raises(TransientBackendError) as refused:
        other.start(second)
    assert "pipeline/a" in refused.value.problem.message
    assert not (other.folder(second.attempt) / "job.json").exists()
    (one.folder(first.attempt) / "go").touch()
    await_end(one, first.attempt)
    other.start(second)
    (other.folder(second.attempt) / "go").touch()
    assert await_end(other, second.attempt).exit_code == 0


def test_two_halves_of_one_device_go_to_two_projects(tmp_path: Path) -> None:
    one, other = project(tmp_path, "one"), project(tmp_path, "other")
    for backend in (one, other):
        backend.start(gpu_job("half", 500))
    third = project(tmp_path, "third")
    with pytest.raises(TransientBackendError):
        third.start(gpu_job("more", 500))
    for backend in (one, other):
        attempt = gpu_job("half").attempt
        (backend.folder(attempt) / "go").touch()
        await_end(backend, attempt)


def lease(folder: Path, at_s: float) -> Lease:
    return Lease("home", str(folder), "label", Resources(), (), at_s)


def test_a_lease_lives_as_long_as_its_attempt(tmp_path: Path) -> None:
    now = (tmp_path).stat().st_mtime
    assert is_living(lease(tmp_path, now))  # just taken, the runner is on its way
    assert not is_living(lease(tmp_path, now - 60))  # it never came
    (tmp_path / "runner.json").write_text(json.dumps({"pid": os.getpid(), "start_ticks": 1, "boot_id": "old"}))
    assert not is_living(lease(tmp_path, now))  # from before a restart of the machine
    assert not is_living(lease(tmp_path / "gone", now))


def test_another_users_broken_file_stops_nobody(tmp_path: Path) -> None:
    (tmp_path / "4711-ab.json").write_text("{half")
    ledger = Ledger(tmp_path, "home")
    backend = project(tmp_path, "one")
    assert ledger.without_others(backend.nodes())[0].foreign == ()


def test_a_gang_holds_room_on_each_of_its_nodes(tmp_path: Path) -> None:
    one, other = project(tmp_path, "one", TWO), project(tmp_path, "other", TWO)
    job = replace(gpu_job("gang"), places=(Assignment("n-1", (0,)), Assignment("n-2", (0,))))
    one.start(job)
    assert [(n.free.gpu_milli, n.free.cpu_milli, len(n.foreign)) for n in other.nodes()] == [(0, 1000, 1)] * 2
    (one.folder(job.attempt) / "go").touch()
    await_end(one, job.attempt)
    assert [node.foreign for node in other.nodes()] == [(), ()]


def test_pretended_books_leave_the_machines_own_open_to_other_users(tmp_path: Path) -> None:
    job = gpu_job("train")
    one = project(tmp_path, "one")
    one.start(job)
    (one.folder(job.attempt) / "go").touch()
    await_end(one, job.attempt)
    (books,) = (tmp_path / "ledger").iterdir()
    assert [path.stat().st_mode & 0o7777 for path in (tmp_path / "ledger", books)] == [0o1777] * 2


def test_only_those_who_pretend_the_same_share_it(tmp_path: Path) -> None:
    one, other = project(tmp_path, "one"), project(tmp_path, "other", TWO, "others.yaml")
    job = gpu_job("train")
    one.start(job)
    assert other.nodes()[0].foreign == ()
    (one.folder(job.attempt) / "go").touch()
    await_end(one, job.attempt)
