"""Records of many runs, written as an engine would leave them, for whoever asks where things come from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from build import NOW, PROJECT, content, insert, plan, step
from trainwright.core.artifact import AliasMove, ArtifactKind, Content, DatasetVersion, Output
from trainwright.core.changes import RegisterModel
from trainwright.core.ids import AttemptId, RunId, StepName
from trainwright.core.reasons import Reason, ReasonCode
from trainwright.core.run import Attempt, StepRun
from trainwright.core.states import AttemptState, RunState, StepState
from trainwright.service.context import Context
from trainwright.store import datasets, registry
from trainwright.store.database import Rows, Value
from trainwright.store.rows import attempt_values, content_values, step_values


@dataclass(frozen=True)
class Did:
    """What one attempt at one step did: ``reads`` are addresses, ``made`` maps the names of outputs to their bytes."""

    step: str
    reads: Mapping[str, Content] = field(default_factory=dict)
    made: Mapping[str, str] = field(default_factory=dict)
    origin: str = ""
    number: int = 1


def add_dataset(context: Context, name: str, version: int, bytes_: str, source: str = "/raw") -> DatasetVersion:
    made = DatasetVersion(name, version, content(bytes_), source, NOW, "ada")
    with context.database.writing() as rows:
        datasets.insert(rows, PROJECT, made)
    return made


def add_run(context: Context, name: str, did: Sequence[Did]) -> None:
    """Write a run that succeeded."""
    of = plan(*(step(each) for each in dict.fromkeys(d.step for d in did)))
    insert(context.database, of, name)
    with context.database.writing() as rows:
        write_acts(rows, name, did)


def write_acts(rows: Rows, name: str, did: Sequence[Did]) -> None:
    run = RunId(name)
    rows.write("UPDATE run SET state = :s WHERE id = :id", {"s": RunState.SUCCEEDED, "id": run})
    attempts: list[dict[str, Value]] = []
    inputs: list[dict[str, Value]] = []
    outputs: list[dict[str, Value]] = []
    tries = {d.step: d.number for d in did}
    for place, each in enumerate(did):
        id_ = AttemptId(f"{name}/{each.step}/{each.number}")
        reuse = Reason(ReasonCode.CACHE_HIT, {"origin": each.origin, "age": "1s"}) if each.origin else None
        record = Attempt(id_, run, StepName(each.step), each.number, AttemptState.SUCCEEDED, "t", NOW, reuse=reuse)
        attempts.append(attempt_values(record))
        shared: dict[str, Value] = {"attempt_id": id_, "run_id": run}
        for number, (address, read) in enumerate(each.reads.items()):
            more = {"name": f"in{number}", "kind": "dataset", "address": address}
            inputs.append({**shared, **more, **content_values(read)})
        for output, bytes_ in each.made.items():
            more = {"step": each.step, "name": output, "kind": "file"}
            outputs.append({**shared, **more, **content_values(content(bytes_))})
        state = StepState.CACHED if each.origin else StepState.SUCCEEDED
        done = step_values(StepRun(run, StepName(each.step), place, state, attempts=tries[each.step]))
        rows.write(
            "UPDATE step SET state = :state, attempts = :attempts WHERE run_id = :run_id AND name = :name",
            {key: done[key] for key in ("state", "attempts", "run_id", "name")},
        )
    for table, records in (("attempt", attempts), ("attempt_input", inputs), ("output", outputs)):
        if records:
            names = ", ".join(records[0])
            marks = ", ".join(f":{name}" for name in records[0])
            rows.write_many(f"INSERT INTO {table} ({names}) VALUES ({marks})", records)


def add_model(context: Context, run: str, number: int, alias: str = "") -> None:
    """Register what the step ``train`` of a run published as ``model``, with the bytes ``w``."""
    asked = RegisterModel("m", number, alias, content("w"), RunId(run), StepName("train"), "model", {"auc": 0.9}, ())
    with context.database.writing() as rows:
        registry.insert_version(rows, PROJECT, asked, NOW, "ada")


def move_alias(context: Context, alias: str, after: int, reason: str) -> None:
    with context.database.writing() as rows:
        before, revision = registry.alias_state(rows, PROJECT, "m", alias)
        registry.move_alias(rows, PROJECT, AliasMove("m", alias, revision + 1, before, after, reason, NOW, "bob"))


def output_of(run: str, made_by: str, name: str, bytes_: str) -> dict[str, Content]:
    """What another step reads when it reads this output."""
    made = Output(AttemptId(""), RunId(run), StepName(made_by), name, ArtifactKind.FILE, content(bytes_))
    return {made.address: made.content}
