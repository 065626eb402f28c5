"""One load through the real engine, with a database, a backend and a virtual clock, and through the simulator."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from random import Random

import pytest
from lab import Lab

from build import NOW, PROJECT, fingerprint, node, plan, run, step
from trainwright.core.job import JobSpec
from trainwright.core.resources import Resources
from trainwright.core.run import RunView, StepRun, attempts_of, steps_of
from trainwright.core.states import StepState
from trainwright.core.workload import Contract, PodSet, Shape
from trainwright.plan.plan import Plan
from trainwright.ports.testing.fake import Script
from trainwright.sched.policy import DEFAULT_POLICY
from trainwright.sim.cluster import Cluster
from trainwright.sim.job import Job
from trainwright.sim.simulate import Manner, simulate
from trainwright.store import runs

NODES = (node("n1", cpu=8, memory_gi=64, cards_gi=[24] * 4),)
KIN = "ada/pipe/x"
"""What an engine takes the step of these runs for: by their person, pipeline and step."""

Times = Mapping[str, tuple[datetime, datetime]]


def random_load(seed: int, count: int = 40) -> list[Job]:
    """Jobs of one replica, more than fit at a time."""
    chance = Random(seed)
    found, at = [], 0.0
    for number in range(count):
        at += chance.choice([0.0, 1.0, 2.0, 5.0])
        gpus = chance.choice([0, 500, 1000, 1000, 2000, 3000])
        asked = Resources(chance.choice([500, 1000, 3000]), 0, gpus)
        lasts = float(chance.choice([1, 3, 7, 12, 30]))
        found.append(Job(f"j{number}", at, lasts, Shape((PodSet(asked),)), contract=Contract(kin=KIN)))
    return found


def through_the_engine(load: list[Job], folder: Path) -> Times:
    """Submit each job as a run of one step at its time, and let an engine carry all of them to their ends."""
    lasts = {job.name: job.duration_s for job in load}

    def script(job: JobSpec) -> Script:
        return Script(lasts_s=lasts[job.attempt.split("/")[0]])

    lab = Lab(folder, script, NODES)
    engine = lab.engine("e")
    waiting = list(load)
    for _ in range(100 * len(load)):
        while waiting and waiting[0].submit_s <= (lab.clock.now() - NOW).total_seconds():
            submit(lab, waiting.pop(0))
        if engine.turn():
            continue
        if not waiting and not engine.has_work():
            break
        left = waiting[0].submit_s - (lab.clock.now() - NOW).total_seconds() if waiting else 60.0
        engine.wait(left)
    found = {}
    for job in load:
        first, *_, last = [*lab.view(job.name).attempts] * 2
        assert first.started_at is not None
        assert last.finished_at is not None
        found[job.name] = first.started_at, last.finished_at
    lab.close()
    return found


def submit(lab: Lab, job: Job) -> None:
    of = plan_of(job)
    with lab.database.writing() as rows:
        record = replace(run(of, job.name, number=runs.next_number(rows, PROJECT)), submitted_at=lab.clock.now())
        steps = tuple(StepRun(record.id, s.name, i, StepState.PENDING) for i, s in enumerate(of.steps))
        runs.insert_run(rows, RunView(record, steps_of(steps), attempts_of(())), of, fingerprint(of))


def plan_of(job: Job) -> Plan:
    return plan(step("x", asked=job.shape.pod_sets[0].asked))


def through_the_simulator(load: list[Job]) -> Times:
    outcome = simulate(load, Cluster(NODES), DEFAULT_POLICY, Manner(begin=NOW, check=True))
    found = {}
    for life in outcome.lives:
        assert life.started_at is not None
        assert life.finished_at is not None
        found[life.job.name] = life.started_at, life.finished_at
    return found


@pytest.mark.parametrize("seed", range(3))
def test_starts_and_ends_are_those_of_the_real_engine(seed: int, tmp_path: Path) -> None:
    load = random_load(seed)
    simulated = through_the_simulator(load)
    assert simulated == through_the_engine(load, tmp_path)
    waited = [
        start - NOW - timedelta(seconds=j.submit_s) for j, (start, _) in zip(load, simulated.values(), strict=True)
    ]
    assert max(waited) > timedelta(seconds=10), "a load that never waits shows nothing"
