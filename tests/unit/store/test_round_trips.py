"""What is written is what is read, for every record."""

import math
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from build import (
    NOW,
    PROJECT,
    after,
    content,
    database,
    fingerprint,
    first,
    insert,
    placed,
    plan,
    running,
    step,
    tell,
    told,
    train_and_register,
    version_of,
    view,
    well,
)  # fmt: skip
from trainwright.core.artifact import ArtifactKind, DatasetVersion, GateResult, Input
from trainwright.core.changes import Changes
from trainwright.core.ids import AttemptId, StepName
from trainwright.core.reasons import Reason, ReasonCode
from trainwright.core.run import Attempt, MetricSummary, RunView, StepRun
from trainwright.core.states import AttemptState, ExitClass, StepState
from trainwright.core.workload import Assignment
from trainwright.store import datasets, registry, runs
from trainwright.store.database import Database

OF = train_and_register("candidate")
OWNER = "host:1"
RICH = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text("ab·", min_size=1), inner, max_size=2),
    max_leaves=4,
)  # fmt: skip
facts = st.dictionaries(st.text("abc", min_size=1), plain, max_size=3)
instants = st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
reasons = st.none() | st.builds(Reason, st.sampled_from(ReasonCode), facts)
gates = st.builds(GateResult, st.text("a> 1"), st.sampled_from(["passed", "failed"]), facts, st.booleans())
counts = st.integers(1, 2**40)
metrics = st.builds(MetricSummary, st.floats(), st.floats(), st.floats(), counts, st.none() | st.integers(0, 9))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Database]:
    opened = database(tmp_path)
    yield opened
    opened.close()


def committed(store: Database, changes: Changes) -> RunView:
    """Write changes to the run ``r`` as its holder; return all of it, read back."""
    with store.writing() as rows:
        runs.take_lease(rows, view(OF).run.id, OWNER, None, after(60))
        record = runs.run(rows, view(OF).run.id)
        assert record is not None
        runs.apply(rows, record, changes, NOW, OWNER)
        return runs.view(rows, record.id)


def same(left: MetricSummary, right: MetricSummary) -> bool:
    pairs = zip((left.last, left.low, left.high), (right.last, right.low, right.high), strict=True)
    return all(a == b or (math.isnan(a) and math.isnan(b)) for a, b in pairs) and left.count == right.count


def test_a_new_run_is_read_as_it_was_written(store: Database) -> None:
    record = insert(store, OF)
    with store.reading() as rows:
        read = runs.view(rows, record.id)
        assert replace(read, next_versions={"m": 1}) == view(OF)
        assert runs.plan(rows, PROJECT, record.plan_digest) == OF
        assert runs.fingerprint(rows, PROJECT, record.fingerprint) == fingerprint(OF)


def test_a_whole_life_is_read_as_it_was_decided(store: Database) -> None:
    insert(store, OF)
    expected = view(OF)
    for happenings in (
        (), (placed("r/train/1", 0, 2),), (running("r/train/1", after(1)),),
        well("r/train/1", outputs=["model"], metrics={"loss": 0.25}, params={"host": "a", "sizes": [1, 2]}),
        well("r/judge/1", metrics={"auc": 0.9}),
    ):  # fmt: skip
        expected, changes = told(OF, expected, *happenings)
        read = committed(store, changes)
        expected = replace(expected, run=replace(expected.run, revision=expected.run.revision + 1))
        assert read.run == expected.run
        assert read.steps == expected.steps
        assert list(read.attempts) == sorted(expected.attempts, key=lambda a: (a.number, a.queued_at, a.step))
        assert read.inputs == {k: v for k, v in expected.inputs.items() if v}
        assert list(read.outputs) == sorted(expected.outputs, key=lambda o: o.attempt)
    with store.reading() as rows:
        (made,) = registry.versions(rows, PROJECT)
    assert (made.version, made.aliases, made.metrics) == (1, ("candidate",), {"loss": 0.25, "auc": 0.9})
    assert (made.registered_by, made.gates[0].values) == ("ada", {"auc": 0.9})


places = st.lists(
    st.builds(
        Assignment, st.text("n1", max_size=2), st.lists(st.integers(0, 15), max_size=3).map(tuple), st.integers(0, 3)
    ),
    max_size=3,
).map(tuple)


@given(st.builds(
    Attempt, st.just(AttemptId("r/train/1")), st.just(view(OF).run.id), st.just(StepName("train")), st.just(1),
    st.sampled_from(AttemptState), st.text("t", min_size=1), instants, st.none() | instants,
    places, reasons, st.none() | st.sampled_from(ExitClass),
    st.none() | st.integers(0, 255), st.none() | st.integers(1, 64), st.none() | instants, st.none() | instants,
    st.just({}), facts, placed_at=st.none() | instants, claim=places, served_s=st.floats(0, 1e9),
    preempted_at=st.lists(instants, max_size=3).map(tuple), claimed_at=st.none() | instants,
    told_at=st.none() | instants,
), st.dictionaries(st.text("ml_.", min_size=1), metrics, max_size=3))  # fmt: skip
@RICH
def test_every_attempt_comes_back(
    tmp_path_factory: pytest.TempPathFactory, attempt: Attempt, found: dict[str, MetricSummary]
) -> None:
    opened = database(tmp_path_factory.mktemp("s"))
    insert(opened, OF)
    (read,) = committed(opened, Changes(attempts=(replace(attempt, metrics=found),))).attempts
    opened.close()
    assert replace(read, metrics={}) == attempt
    assert read.metrics.keys() == found.keys()
    assert all(same(read.metrics[name], metric) for name, metric in found.items())


@given(st.builds(
    StepRun, st.just(view(OF).run.id), st.just(StepName("train")), st.just(0), st.sampled_from(StepState), reasons,
    st.integers(0, 9), st.none() | instants, st.none() | instants, facts,
    st.lists(gates, max_size=2).map(tuple),
))  # fmt: skip
@RICH
def test_every_step_comes_back(tmp_path_factory: pytest.TempPathFactory, wanted: StepRun) -> None:
    opened = database(tmp_path_factory.mktemp("s"))
    insert(opened, OF)
    read = committed(opened, Changes(steps=(wanted,))).step(wanted.name)
    opened.close()
    assert read == wanted


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e308, 5e-324, -0.0, 0.1])
def test_g09_metrics_that_are_no_ordinary_numbers_come_back(store: Database, value: float) -> None:
    insert(store, OF)
    began = tell(OF, view(OF), placed("r/train/1"))
    attempt = replace(first(began.attempts), metrics={"loss": MetricSummary(value, value, value, 3, 7)})
    read = first(committed(store, Changes(attempts=(attempt,))).attempts).metrics["loss"]
    assert same(read, attempt.metrics["loss"])


def test_a_step_number_that_no_column_holds_does_not_stop_the_run(store: Database) -> None:
    insert(store, OF)
    attempt = replace(first(tell(OF, view(OF)).attempts), metrics={"loss": MetricSummary(1, 1, 1, 1, 2**70)})
    assert first(committed(store, Changes(attempts=(attempt,))).attempts).metrics["loss"] == MetricSummary(1, 1, 1, 1)


def test_the_last_attempt_stays_the_last_when_the_clock_was_set_back(store: Database) -> None:
    insert(store, OF)
    now_is = tell(OF, view(OF))
    one = first(now_is.attempts)
    second = replace(one, id=AttemptId("r/train/2"), number=2, queued_at=NOW - timedelta(days=1))
    train = replace(now_is.step(StepName("train")), attempts=2)
    read = committed(store, Changes(attempts=(one, second), steps=(train,)))
    assert read.latest(StepName("train")) == second


def test_instants_are_kept_in_utc_to_the_microsecond(store: Database) -> None:
    insert(store, OF)
    at = datetime(2026, 7, 1, 12, 0, 0, 123456, tzinfo=timezone(timedelta(hours=2)))
    attempt = replace(first(tell(OF, view(OF)).attempts), queued_at=at)
    read = first(committed(store, Changes(attempts=(attempt,))).attempts).queued_at
    assert (read, read.utcoffset()) == (at, timedelta())


def test_inputs_come_back_by_attempt(store: Database) -> None:
    of = plan(step("a"))
    insert(store, of)
    changes = told(of, view(of))[1]
    given_ = Input("data.raw", ArtifactKind.DATASET, content("raw"), "datasets/raw@1")
    read = committed(store, replace(changes, inputs={AttemptId("r/a/1"): (given_,)}))
    assert read.inputs == {AttemptId("r/a/1"): (given_,)}


def test_datasets_come_back_newest_first(store: Database) -> None:
    made = [DatasetVersion("d", n, content(f"d{n}"), "file:x", after(n), "ada") for n in (1, 2)]
    with store.writing() as rows:
        for one in made:
            datasets.insert(rows, PROJECT, one)
    with store.reading() as rows:
        assert datasets.versions(rows, PROJECT, "d") == made[::-1]
        assert datasets.versions(rows, PROJECT) == made[::-1]
        assert datasets.at(rows, PROJECT, made[0].address) == made[0]
        assert datasets.versions(rows, PROJECT, "other") == []


def test_a_model_version_comes_back(store: Database) -> None:
    record = insert(store, OF)
    asked = version_of(record, 1, alias="candidate")
    with store.writing() as rows:
        registry.insert_version(rows, PROJECT, asked, after(5), "ada")
    with store.reading() as rows:
        read = registry.version(rows, PROJECT, "m", 1)
        assert read is not None
        assert (read.content, read.metrics, read.gates, read.run) == (asked.content, asked.metrics, asked.gates, "r")
        assert (read.registered_at, read.aliases, read.address) == (after(5), ("candidate",), "models/m/1")
        assert registry.version_at(rows, PROJECT, read.address) == read
        assert registry.version(rows, PROJECT, "m", 2) is None
        assert registry.names(rows, PROJECT) == ["m"]
