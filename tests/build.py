"""Values for tests, valid as they are: plain functions, so that a test says only what it is about."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TypeVar

from trainwright.core.artifact import ArtifactKind, Content, GateResult, PinnedData
from trainwright.core.changes import Changes, RegisterModel, applied
from trainwright.core.decision import Placement
from trainwright.core.fingerprint import CodeState, Environment, Fingerprint, Hardware
from trainwright.core.ids import AttemptId, Digest, ProjectName, RunId, StepName
from trainwright.core.job import Command, JobSpec, Retry
from trainwright.core.node import Device, Node
from trainwright.core.resources import Resources
from trainwright.core.run import MetricSummary, Run, RunView, StepRun, attempts_of, steps_of
from trainwright.core.scalar import Plain
from trainwright.core.snapshot import ClusterSnapshot, workloads_of
from trainwright.core.stage import Stage
from trainwright.core.states import RunState, StepState
from trainwright.core.workload import Assignment, Standing, Workload, single
from trainwright.lifecycle.advance import Happening, advance
from trainwright.lifecycle.turn import Chance
from trainwright.plan.plan import Check, Plan, PlannedInput, PlannedStep, Registration
from trainwright.plugins.sources.file import FileSource
from trainwright.plugins.stores.local import LocalContent
from trainwright.ports.backend import Ended, Running
from trainwright.ports.testing.clock import BEGINNING, CountingIds, VirtualClock
from trainwright.ports.testing.fake import FakeBackend, Script
from trainwright.sched.room import occupied
from trainwright.service.context import Context
from trainwright.store import runs
from trainwright.store.database import Database
from trainwright.store.migrate import open_database
from trainwright.store.sources import Sources

GI = 2**30
NOW = BEGINNING
PROJECT = ProjectName("p")
CHANCE = Chance(0.0, lambda: "token")


def after(seconds: float) -> datetime:
    """The instant so many seconds after the beginning."""
    return NOW + timedelta(seconds=seconds)


T = TypeVar("T")


def first(records: Iterable[T]) -> T:
    """The oldest of some records."""
    return next(iter(records))


def last(records: Iterable[T]) -> T:
    """The newest of some records."""
    return list(records)[-1]


# what queues


def asks(cpu: float = 1, memory_gi: float = 0, gpus: float = 0, vram_gi: float = 0) -> Resources:
    """Amounts as people write them."""
    return Resources(round(cpu * 1000), round(memory_gi * GI), round(gpus * 1000), round(vram_gi * GI))


def workload(
    name: str, *, cpu: float = 1, memory_gi: float = 0, gpus: float = 0, vram_gi: float = 0,
    run: int = 1, position: int = 0, devices: tuple[int, ...] = (),
) -> Workload:  # fmt: skip
    """An attempt that waits, or holds ``devices`` of n1."""
    asked = asks(cpu, memory_gi, gpus, vram_gi)
    standing = Standing(places=(Assignment("n1", devices),) if devices else ())
    return Workload(AttemptId(name), name, single(asked), NOW, (run, position), standing=standing)


def node(name: str = "n1", *, cpu: float = 4, memory_gi: float = 16, cards_gi: Sequence[float] = ()) -> Node:
    """An empty machine; ``cards_gi`` is the memory of each card."""
    total = asks(cpu, memory_gi, len(cards_gi))
    cards = tuple(Device(i, "card", round(gi * GI), 1000, round(gi * GI)) for i, gi in enumerate(cards_gi))
    return Node(name, total, total, cards)


def cluster(
    *pending: Workload, nodes: tuple[Node, ...] | None = None, holding: tuple[Workload, ...] = ()
) -> ClusterSnapshot:
    """A world with one node of four cores unless told otherwise."""
    machines = (node(),) if nodes is None else nodes
    held = workloads_of(*(_on_the_first(w, machines[0].name if machines else "n1") for w in holding))
    return ClusterSnapshot(occupied(machines, held), workloads_of(*pending), held)


def _on_the_first(held: Workload, name: str) -> Workload:
    places = held.standing.places or (Assignment(name),)
    return replace(held, standing=replace(held.standing, places=places))


# plans


def step(
    name: str, *, needs: Iterable[str] = (), reads: Iterable[str] = (), out: Mapping[str, str] | None = None,
    checks: Sequence[str] = (), stage: Stage | None = None, retry: Retry | int = 0, timeout_s: float | None = None,
    asked: Resources | None = None, baseline: str = "", baseline_required: bool = False,
) -> PlannedStep:  # fmt: skip
    """A step that runs a command; ``reads`` are ``step.output`` or ``data.name``, ``out`` is name → kind."""
    inputs = tuple(_input(text) for text in reads)
    before = {*needs, *(i.step for i in inputs if i.step is not None)}
    return PlannedStep(
        name=StepName(name),
        stage=stage,
        command=Command(shell="true"),
        inputs=inputs,
        outputs={key: ArtifactKind(kind) for key, kind in (out or {}).items()},
        needs=tuple(sorted(map(StepName, before))),
        resources=asked or Resources(),
        checks=tuple(Check(text) for text in checks),
        retry=Retry(max=retry, backoff_s=10.0) if isinstance(retry, int) else retry,
        timeout_s=timeout_s,
        baseline_model=baseline,
        baseline_required=baseline_required,
    )


def register(
    name: str, source: str = "train.model", *, model: str = "m", alias: str = "", judges: Sequence[str] = ("judge",)
) -> PlannedStep:
    """A registration of what ``source`` made, after its judges."""
    read = replace(_input(source), kind=ArtifactKind.MODEL)
    maker = StepName(source.split(".", maxsplit=1)[0])
    of = tuple(map(StepName, judges))
    registration = Registration(read, model, alias, of, (maker, *of))
    return PlannedStep(
        StepName(name), registration=registration, inputs=(read,), needs=tuple(sorted({maker, *of}))
    )  # fmt: skip


def plan(*steps: PlannedStep, params: Mapping[str, Plain] | None = None, data: tuple[PinnedData, ...] = ()) -> Plan:
    """A pipeline of steps in the order in which they are given: each after all it needs."""
    return Plan("trainwright/v1", "pipe", standard=False, params=dict(params or {}), data=data, steps=steps)


def train_and_register(alias: str = "") -> Plan:
    """A model is made, judged by ``auc >= 0.8`` and registered as ``m``."""
    return plan(
        step("train", out={"model": "model"}),
        step("judge", reads=["train.model"], checks=["auc >= 0.8"]),
        register("register", alias=alias),
    )


def _input(text: str) -> PlannedInput:
    head, _, tail = text.partition(".")
    return PlannedInput(text, None if head == "data" else StepName(head), tail, ArtifactKind.DATASET)


# records


def content(name: str) -> Content:
    """Content that is different for each name."""
    return Content(Digest("sha256:" + hashlib.sha256(name.encode()).hexdigest()), 1, len(name))


def fingerprint(of: Plan, *, tree: str = "code") -> Fingerprint:
    """What identifies a run of this plan."""
    return Fingerprint(
        plan=of.digest,
        code=CodeState(content(tree).digest, ".", commit="c" * 40),
        environment=Environment("3.11.7", {"numpy": "2.1"}),
        data={d.name: d.content.digest for d in of.data},
        params=of.params,
        seed=None,
        hardware=Hardware("Linux", "x86_64", "cpu", 4, 16 * GI),
    )


def run(of: Plan, name: str = "r", *, number: int = 1, tree: str = "code") -> Run:
    """A run that was submitted just now."""
    return Run(
        id=RunId(name), project=PROJECT, number=number, pipeline=of.pipeline, source="pipeline.yaml",
        plan_digest=of.digest, fingerprint=fingerprint(of, tree=tree).digest, params=of.params,
        state=RunState.PENDING, submitted_at=NOW, submitted_by="ada",
    )  # fmt: skip


def view(of: Plan, name: str = "r", *, number: int = 1, baselines: Mapping[str, float] | None = None) -> RunView:
    """All records of a run that was submitted just now; ``baselines`` are the metrics of ``m`` in production."""
    record = run(of, name, number=number)
    steps = tuple(StepRun(record.id, s.name, i, StepState.PENDING) for i, s in enumerate(of.steps))
    in_production = {} if baselines is None else {"m": ("models/m/1", dict(baselines))}
    next_version = 1 if baselines is None else 2
    return RunView(record, steps_of(steps), attempts_of(()), baselines=in_production, next_versions={"m": next_version})


# what happens


def placed(attempt: str, *devices: int) -> Placement:
    """The scheduler's yes."""
    return Placement(AttemptId(attempt), (Assignment("n1", devices),))


def running(attempt: str, at: datetime = NOW) -> Running:
    """The backend's word that it began."""
    return Running(AttemptId(attempt), at)


def summary(value: float) -> MetricSummary:
    """One logged point."""
    return MetricSummary(value, value, value, 1)


def ended(
    attempt: str, exit_code: int | None = 0, *, cause: str = "exited", signal: int | None = None, message: str = "",
    token: str = "token", at: datetime = NOW, metrics: Mapping[str, float] | None = None,
    outputs: Sequence[str] = (), params: Mapping[str, Plain] | None = None,
) -> Ended:  # fmt: skip
    """The backend's word that it is over."""
    return Ended(
        attempt=AttemptId(attempt), token=token, cause=cause, finished_at=at, started_at=NOW,
        exit_code=exit_code if cause == "exited" else None, signal=signal, message=message,
        outputs={name: content(f"{attempt}:{name}") for name in outputs},
        metrics={name: summary(value) for name, value in (metrics or {}).items()}, params=dict(params or {}),
    )  # fmt: skip


def told(of: Plan, now_is: RunView, *happenings: Happening, at: datetime = NOW) -> tuple[RunView, Changes]:
    """One decision: the view after it and what it was."""
    changes = advance(of, now_is, happenings, at, CHANCE)
    return applied(now_is, changes), changes


def tell(of: Plan, now_is: RunView, *script: Happening, at: datetime = NOW) -> RunView:
    """Happenings one after the other, a decision each; return the view after them."""
    now_is, _ = told(of, now_is, at=at)
    for happening in script:
        now_is, _ = told(of, now_is, happening, at=at)
    return now_is


def well(attempt: str, **more: object) -> tuple[Happening, ...]:
    """A whole good life of an attempt."""
    return placed(attempt), running(attempt), ended(attempt, **more)  # type: ignore[arg-type]


# stores and the world


def database(folder: Path) -> Database:
    """An empty database of the project."""
    return open_database(folder / "state.db", PROJECT, NOW)


def insert(into: Database, of: Plan, name: str = "r", *, number: int | None = None, tree: str = "code") -> Run:
    """Submit a run."""
    with into.writing() as rows:
        record = run(of, name, number=number or runs.next_number(rows, PROJECT), tree=tree)
        steps = tuple(StepRun(record.id, s.name, i, StepState.PENDING) for i, s in enumerate(of.steps))
        runs.insert_run(rows, RunView(record, steps_of(steps), attempts_of(())), of, fingerprint(of, tree=tree))
    return record


def version_of(record: Run, number: int, *, model: str = "m", alias: str = "", passed: bool = True) -> RegisterModel:
    """A version to register, with one check of its author's."""
    gate = GateResult("auc >= 0.8", "passed" if passed else "failed", {"auc": 0.9})
    made = content(f"{model}{number}")
    return RegisterModel(
        model, number, alias, made, record.id, StepName("train"), "model", {"auc": 0.9}, (gate,)
    )  # fmt: skip


class Filed(FakeBackend):
    """A fake backend with a folder for each attempt."""

    root = Path()

    def warm_up(self) -> None:
        pass

    def folder(self, attempt: AttemptId) -> Path:
        return self.root / attempt


def context(folder: Path, *, script: Script | None = None, nodes: tuple[Node, ...] | None = None) -> Context:
    """A project of one person in ``folder``."""
    clock = VirtualClock()

    def goes(_: JobSpec) -> Script:
        return script or Script()

    backend = Filed(clock, goes, (node(),) if nodes is None else nodes)
    backend.root = folder / "runs"
    opened, content = database(folder), LocalContent(folder / "content")
    return Context(
        database=opened, content=content, backend=backend, clock=clock,
        ids=CountingIds(), project=PROJECT, actor="ada", sources={"file": FileSource()}, environ={}, here=folder,
        home=folder, environments=folder / "envs",
        sources_of_code=Sources(opened, content, clock),
    )  # fmt: skip
