"""OpenLineage events: the official classes take each one, files and collectors get each one, in order."""

import json
import os
import threading
import typing
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from uuid import UUID

import attr
import pytest
from openlineage.client import generated
from openlineage.client.event_v2 import RunEvent
from openlineage.client.generated import (
    dataset_version_dataset,
    datasource_dataset,
    error_message_run,
    input_statistics_input_dataset,
    job_type_job,
    nominal_time_run,
    output_statistics_output_dataset,
    parent_run,
    schema_dataset,
    source_code_location_job,
)
from openlineage.client.generated.base import DatasetFacet, RunFacet
from openlineage.client.serde import Serde

from build import NOW, fingerprint, plan, run, step
from build import content as content_of
from trainwright.core.artifact import ArtifactKind, GateResult, Input, ModelVersion, Output
from trainwright.core.errors import SpecError
from trainwright.core.fingerprint import CodeState
from trainwright.core.ids import AttemptId, RunId, StepName
from trainwright.core.reasons import Reason, ReasonCode
from trainwright.core.run import StepRun
from trainwright.core.states import StepState
from trainwright.core.table import Column, Table
from trainwright.plugins.exporters.openlineage.exporter import OpenLineageExporter
from trainwright.plugins.exporters.openlineage.render import events_of, run_id
from trainwright.plugins.exporters.openlineage.transport import FileSink, HttpSink
from trainwright.ports.exporter import Change, Destination, Phase, Subject

GOLDEN = Path(__file__).parents[2] / "golden" / "openlineage"
ACCEPT = bool(os.environ.get("TW_ACCEPT"))
PLAN = plan(step("train"), params={"C": 1.0})
BOTH = (Phase.BEGIN, Phase.END)
RAW = Input("raw", ArtifactKind.DATASET, content_of("x"), "datasets/ads/clicks@3")
BUCKET = Input("more", ArtifactKind.DATASET, content_of("y"), "s3://bucket/a/b.csv")
TABLE = Input("table", ArtifactKind.FILE, content_of("t"), "runs:/r/prep/table")
MADE = Output(AttemptId("r/fit.3/1"), RunId("r"), StepName("fit.3"), "model", ArtifactKind.MODEL, content_of("w"))
MODEL = ModelVersion(
    "m", 4, content_of("w"), RunId("r"), StepName("fit.3"), "model", {"auc": 0.9, "odd": float("nan")},
    (GateResult("auc >= 0.5", "passed"),), NOW, "ada",
)  # fmt: skip


def change(state: str, *phases: Phase, **more: object) -> Change:
    code = CodeState(content_of("code").digest, ".", "c" * 40, "main")
    record = replace(run(PLAN), plan_digest=content_of("plan").digest, fingerprint=content_of("all").digest)
    whole: dict[str, object] = {
        "seq": 7, "at": NOW, "state": state, "reason": None, "phases": phases, "run": record,
        "subject": Subject(), "parent": None, "root": Subject(), "fingerprint": replace(fingerprint(PLAN), code=code),
        **more,
    }  # fmt: skip
    return Change(**whole)  # type: ignore[arg-type]


def of_step(name: str, state: str, *phases: Phase, **more: object) -> Change:
    record = StepRun(RunId("r"), StepName(name), 0, StepState(state))
    parent = Subject(StepName("fit")) if "." in name else Subject()
    return change(state, *phases, subject=Subject(StepName(name)), record=record, parent=parent, **more)


REUSED = Reason(ReasonCode.CACHE_HIT, {"origin": "q/fit.3/1", "age": "1h"})
CHANGES = {
    "run-begins": change("pending", Phase.BEGIN, nominal_at=NOW),
    "run-goes-on": change("running", Phase.GO_ON),
    "run-stopped": change("cancelled", Phase.END, reason=Reason(ReasonCode.STOPPED, {"actor": "ada"})),
    "step-begins": of_step("fit.3", "queued", Phase.BEGIN, inputs=(RAW, BUCKET, TABLE),
                           sources={RAW.address: "/data/clicks"},
                           tables={RAW.address: Table(5, (Column("x", "int64", 5, 0),))}),
    "step-ends": of_step("fit.3", "succeeded", Phase.END, inputs=(TABLE,), outputs=(MADE,)),
    "step-fails": of_step("prep", "failed", Phase.END, reason=Reason(ReasonCode.USER_ERROR, {"exit_code": 3})),
    "step-reused": of_step("fit.3", "cached", *BOTH, outputs=(MADE,), reason=REUSED),
    "model-registered": of_step("register", "succeeded", *BOTH, inputs=(TABLE,), model=MODEL),
}  # fmt: skip

FACETS: dict[str, type] = {
    "parent": parent_run.ParentRunFacet,
    "nominalTime": nominal_time_run.NominalTimeRunFacet,
    "errorMessage": error_message_run.ErrorMessageRunFacet,
    "jobType": job_type_job.JobTypeJobFacet,
    "sourceCodeLocation": source_code_location_job.SourceCodeLocationJobFacet,
    "version": dataset_version_dataset.DatasetVersionDatasetFacet,
    "dataSource": datasource_dataset.DatasourceDatasetFacet,
    "schema": schema_dataset.SchemaDatasetFacet,
    "inputStatistics": input_statistics_input_dataset.InputStatisticsInputDatasetFacet,
    "outputStatistics": output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet,
}
OWN = {"trainwright_fingerprint": RunFacet, "trainwright_model": DatasetFacet}


def built(kind: type, data: dict) -> object:
    """Construct one of the client's classes from our JSON; every field has to be one of its fields."""
    module = __import__(kind.__module__, fromlist=["x"])
    hints = typing.get_type_hints(kind, vars(generated.base) | vars(module))
    values = {}
    for name, value in data.items():
        if name in {"_schemaURL", "schemaURL"}:
            assert value == kind._get_schema(), name  # type: ignore[attr-defined]
            continue
        values[name.lstrip("_")] = _value(hints[name], name, value)
    return kind(**values)


def _value(hint: object, name: str, value: object) -> object:
    if name in {"facets", "inputFacets", "outputFacets"}:
        assert isinstance(value, dict)
        return {key: _facet(key, facet) for key, facet in value.items()}
    inner = [each for each in (hint, *typing.get_args(hint)) if attr.has(each)]
    if isinstance(value, list):
        (kind,) = [a for each in (hint, *typing.get_args(hint)) for a in typing.get_args(each) if attr.has(a)]
        return [built(kind, each) for each in value]
    if isinstance(value, dict):
        return built(inner[0], value)
    if name == "eventType":
        return generated.base.EventType(value)
    return value


def _facet(name: str, facet: dict) -> object:
    if name in FACETS:
        return built(FACETS[name], facet)
    plain = {key: value for key, value in facet.items() if not key.startswith("_")}
    return OWN[name](producer=facet["_producer"]).with_additional_properties(**plain)


def trimmed(value: object) -> object:
    """Leave out what is empty, as the client does in places; the schemas of our own facets are not the client's."""
    if isinstance(value, dict):
        return {k: t for k, v in value.items() if (t := trimmed(v)) not in ({}, [], None) and k != "_schemaURL"}
    return [trimmed(v) for v in value] if isinstance(value, list) else value


@pytest.mark.parametrize("name", CHANGES)
def test_the_official_classes_take_every_event_and_give_it_back(name: str) -> None:
    for event in events_of(CHANGES[name], "team", "urn:trainwright:0"):
        taken = built(RunEvent, event)
        assert trimmed(json.loads(Serde.to_json(taken))) == trimmed(json.loads(json.dumps(event)))


@pytest.mark.parametrize("name", CHANGES)
def test_events_are_as_they_were(name: str) -> None:
    text = "".join(json.dumps(e, indent=1) + "\n" for e in events_of(CHANGES[name], "team", "urn:trainwright:0"))
    path = GOLDEN / f"{name}.json"
    if ACCEPT:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert text == path.read_text()


def test_facets_that_nobody_knows_are_not_made_up() -> None:
    found = {key for each in CHANGES.values() for e in events_of(each, "n", "urn:p") for key in _facet_names(e)}
    assert found == {*FACETS, *OWN}


def _facet_names(event: object) -> Iterator[str]:
    if isinstance(event, dict):
        for key, value in event.items():
            if key in {"facets", "inputFacets", "outputFacets"}:
                yield from value
            yield from _facet_names(value)
    for each in event if isinstance(event, list) else ():
        yield from _facet_names(each)


def test_ids_are_uuids_that_every_sender_derives_alike() -> None:
    ids = {run_id("r", Subject(s, n)) for s in (None, StepName("a"), StepName("b")) for n in (0, 1)}
    assert len(ids) == 6
    assert {UUID(each).version for each in ids} == {5}
    assert run_id("r", Subject()) == "97fe83c9-7d74-57c0-914e-e25d1f444d3c"


@pytest.mark.parametrize(
    "target", ["", "ftp://x", "file:", "file://host/x", "http://", "https://user:pw@host", "events.jsonl"]
)
def test_a_target_is_a_file_or_a_url_without_a_password(target: str) -> None:
    with pytest.raises(SpecError) as caught:
        OpenLineageExporter().open(Destination("openlineage", target))
    assert caught.value.problem.code == "TW2701"
    assert "pw" not in str(caught.value.problem)


def test_a_line_that_a_crash_left_unfinished_is_taken_back(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "events.jsonl"
    sink = FileSink(str(path))
    assert sink.deliver([["1", "2"], []]).done == 2
    with path.open("a") as file:
        file.write('{"torn": ' + "x" * 100_000)
    assert sink.deliver([["3"]]).done == 1
    assert path.read_text() == "1\n2\n3\n"


def test_a_file_that_cannot_be_written_may_be_tried_again(tmp_path: Path) -> None:
    failure = FileSink(str(tmp_path)).deliver([["1"]]).failure
    assert failure is not None
    assert failure.transient


@contextmanager
def collector(*answers: int) -> Iterator[tuple[str, list[tuple[str, str, str]]]]:
    """A receiver that answers with these codes, then with 201 for ever; gives its URL and what it took."""
    left, taken = list(answers), list[tuple[str, str, str]]()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            code = left.pop(0) if left else 201
            if code == 201:
                taken.append((self.path, self.headers.get("Authorization", ""), body))
            self.send_response(code)
            if code == 302:
                self.send_header("Location", "http://127.0.0.1:1/elsewhere")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", taken
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_collector_gets_each_event_with_the_token() -> None:
    with collector() as (url, taken):
        sink = OpenLineageExporter().open(Destination("openlineage", url, "secret"))
        assert sink.deliver([["1", "2"], ["3"]]).done == 2
    assert taken == [("/api/v1/lineage", "Bearer secret", body) for body in ("1", "2", "3")]


@pytest.mark.parametrize(("code", "transient"), [(500, True), (429, True), (401, True), (302, True), (400, False)])
def test_what_a_collector_answers_decides_whether_to_repeat(code: int, transient: bool) -> None:
    with collector(201, code) as (url, taken):
        delivered = HttpSink(url, "").deliver([["1"], ["2"], ["3"]])
    assert delivered.done == 1
    assert delivered.failure is not None
    assert delivered.failure.transient is transient
    assert [body for _, _, body in taken] == ["1"]


def test_nobody_listening_is_no_exception() -> None:
    failure = HttpSink("http://127.0.0.1:1/", "").deliver([["1"]]).failure
    assert failure is not None
    assert failure.transient
