"""Reported failures of schedulers on the live engine: preempt and readmit without end, a head that blocks everybody."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from lab import Lab

from build import PROJECT, asks, insert, node, plan, step
from trainwright.core.codec import to_json
from trainwright.core.governance import AppliedDocument
from trainwright.core.ids import StepName
from trainwright.core.job import JobSpec
from trainwright.core.queue import Queue, QueueName, Quota
from trainwright.core.scheduling import Scheduling
from trainwright.plan.plan import Plan
from trainwright.ports.testing.fake import Script
from trainwright.store import documents


@pytest.fixture
def labs(tmp_path: Path) -> Iterator[list[Lab]]:
    made: list[Lab] = []
    yield made
    for lab in made:
        lab.close()


def job(queue: str = "", *, gpus: float = 0, cpu: float = 1, priority: int = 0, timeout_s: float | None = None) -> Plan:
    of = plan(step("a", asked=asks(cpu=cpu, gpus=gpus), timeout_s=timeout_s))
    return replace(of, scheduling={StepName("a"): Scheduling(queue=queue or None, priority=priority)})


def lasting(seconds: dict[str, float]) -> Callable[[JobSpec], Script]:
    def goes(job: JobSpec) -> Script:
        return Script(lasts_s=seconds.get(str(job.run)[0], 600.0), leaves_in_s=3.0)

    return goes


def declare(lab: Lab, *queues: Queue) -> None:
    with lab.database.writing() as rows:
        for queue in queues:
            said = AppliedDocument("Queue", queue.name, 1, {}, to_json(queue), "", lab.clock.now(), "ada")
            documents.add(rows, PROJECT, said)


def preemptions(lab: Lab) -> list[tuple[str, str]]:
    with lab.database.reading() as rows:
        found = rows.all("SELECT subject, details FROM audit WHERE action = 'attempt.preempted' ORDER BY seq")
    return [(row["subject"], row["details"]) for row in found]


@pytest.mark.parametrize("owner_reclaims", [False, True])
def test_g11_a_victim_does_not_take_its_room_back_and_is_told_to_leave_once(
    tmp_path: Path, labs: list[Lab], owner_reclaims: bool
) -> None:
    lab = Lab(tmp_path, lasting({"l": 20_000.0, "h": 300.0}), (node("n1", cpu=16, cards_gi=[24] * 3),))
    labs.append(lab)
    declare(
        lab,
        Queue(QueueName("owner"), "c", quotas={"gpu": Quota(3000)}),
        Queue(QueueName("borrower"), "c", quotas={"gpu": Quota(0)}),
    )
    low, high = ("borrower", "owner") if owner_reclaims else ("owner", "borrower")
    insert(lab.database, job(low, gpus=3), "low")
    engine = lab.engine("e")
    engine.turn()
    lab.clock.sleep(2000 if owner_reclaims else 60)
    insert(lab.database, job(high, gpus=2, priority=0 if owner_reclaims else 10), "high")
    for _ in range(200):
        engine.turn()
        lab.check_room()
        lab.clock.sleep(5)
    told = preemptions(lab)
    assert [subject for subject, _ in told] == ["runs/low/a/1"]
    assert f'"rule":"{"reclaimed" if owner_reclaims else "preempted"}"' in told[0][1]
    assert '"beneficiary":"high/a/1"' in told[0][1]
    assert lab.states("high")["run"] == "succeeded"
    assert lab.states("low")["low/a/2"] in {"running", "succeeded"}


def test_g12_work_on_other_resources_passes_and_the_gang_is_not_starved(tmp_path: Path, labs: list[Lab]) -> None:
    lab = Lab(
        tmp_path, lasting({"b": 1500.0, "g": 300.0, "c": 60.0, "s": 600.0}), (node("n1", cpu=32, cards_gi=[24] * 8),)
    )
    labs.append(lab)
    insert(lab.database, job(gpus=6, timeout_s=2000.0), "busy")
    engine = lab.engine("e")
    engine.turn()
    insert(lab.database, job(gpus=8), "gang")
    for number in range(3):
        insert(lab.database, job(cpu=2), f"cpu{number}")
    engine.turn()
    assert {str(j.run) for j in lab.backend.started} == {"busy", "cpu0", "cpu1", "cpu2"}
    for tick in range(500):
        if tick % 30 == 0 and tick < 300:
            insert(lab.database, job(gpus=1, timeout_s=600.0), f"small{tick}")
        engine.turn()
        lab.check_room()
        lab.clock.sleep(10)
    (gang,) = lab.view("gang").attempts
    assert gang.placed_at is not None
    assert (gang.placed_at - lab.view("gang").run.submitted_at).total_seconds() <= 2000.0 + 600.0 + 20.0
    assert lab.states("gang")["run"] == "succeeded"
