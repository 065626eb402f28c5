"""From one change of state to OpenLineage run events (spec 2-0-2); pure.

A run's ``runId`` has to be a UUID: it is ``uuid5(NAMESPACE_URL, "urn:trainwright:runs/ID")``, a step's has ``/STEP``
behind it, and the second and later rounds of a run or step that was tried again ``#2``, ``#3`` …
"""

import re
from collections.abc import Mapping
from urllib.parse import urlsplit
from uuid import NAMESPACE_URL, uuid5

from trainwright.core.artifact import Content, Input, ModelVersion, Output
from trainwright.core.codec import digest_of, to_json
from trainwright.core.run import Run
from trainwright.core.table import Column
from trainwright.ports.exporter import Change, Phase, Subject

SPEC = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"
_FACETS = "https://openlineage.io/spec/facets"
_MEMBER = re.compile(r"\.\d+(?=\.|$)")
_ENDS = {"succeeded": "COMPLETE", "cached": "COMPLETE", "skipped": "COMPLETE", "failed": "FAIL", "cancelled": "ABORT"}

Json = dict[str, object]


def run_id(run: str, subject: Subject) -> str:
    """Return the UUID of a run or step in one of its rounds; always the same."""
    step = f"/{subject.step}" if subject.step else ""
    again = f"#{subject.round + 1}" if subject.round else ""
    return str(uuid5(NAMESPACE_URL, f"urn:trainwright:runs/{run}{step}{again}"))


def events_of(change: Change, namespace: str, producer: str) -> list[Json]:
    """Return the events that a change stands for, in order."""
    return [_Event(change, namespace, producer).of(phase) for phase in change.phases]


class _Event:
    """Renders one event; exists so that the producer need not travel with every call."""

    def __init__(self, change: Change, namespace: str, producer: str) -> None:
        self._change, self._namespace, self._producer = change, namespace, producer

    def of(self, phase: Phase) -> Json:
        change = self._change
        kinds = {Phase.BEGIN: "START", Phase.GO_ON: "RUNNING"}
        end = phase is Phase.END
        return {
            "eventType": kinds.get(phase) or _ENDS[change.state],
            "eventTime": change.at.isoformat(timespec="microseconds"),
            "producer": self._producer,
            "schemaURL": SPEC,
            "run": {"runId": run_id(change.run.id, change.subject), "facets": self._run_facets(end=end)},
            "job": {**self._job(change.subject), "facets": self._job_facets()},
            "inputs": [self._input(given) for given in change.inputs],
            "outputs": [*(self._output(made) for made in change.outputs), *self._models()] if end else [],
        }

    def _facet(self, kind: str, version: str, /, **fields: object) -> Json:
        url = f"{_FACETS}/{version}/{kind}.json#/$defs/{kind}"
        return {"_producer": self._producer, "_schemaURL": url, **fields}

    def _own(self, kind: str, /, **fields: object) -> Json:
        return {"_producer": self._producer, "_schemaURL": f"urn:trainwright:openlineage:{kind}:1", **fields}

    def _job(self, subject: Subject) -> Json:
        """Return the job: members of a group are runs of one job, ``digits.eval.*``."""
        step = f".{_MEMBER.sub('.*', subject.step)}" if subject.step else ""
        return {"namespace": self._namespace, "name": f"{self._change.run.pipeline}{step}"}

    # run

    def _run_facets(self, *, end: bool) -> Json:
        change = self._change
        facets: Json = {"trainwright_fingerprint": self._fingerprint()}
        if change.parent is not None:
            facets["parent"] = self._parent(change.parent)
        if change.nominal_at is not None:
            at = change.nominal_at.isoformat(timespec="microseconds")
            facets["nominalTime"] = self._facet("NominalTimeRunFacet", "1-0-1", nominalStartTime=at)
        if end and change.state in {"failed", "cancelled"} and change.reason is not None:
            facets["errorMessage"] = self._facet(
                "ErrorMessageRunFacet", "1-0-1", message=change.reason.sentence(), programmingLanguage="unknown"
            )
        return facets

    def _parent(self, parent: Subject) -> Json:
        run, root = self._change.run.id, self._change.root
        return self._facet(
            "ParentRunFacet",
            "1-2-0",
            run={"runId": run_id(run, parent)},
            job=self._job(parent),
            root={"run": {"runId": run_id(run, root)}, "job": self._job(root)},
        )

    def _fingerprint(self) -> Json:
        """Return what identifies the experiment, and where to look for this event here."""
        change, of = self._change, self._change.fingerprint
        step = f"/{change.subject.step}" if change.subject.step else ""
        return self._own(
            "trainwright_fingerprint",
            event=change.seq,
            address=f"runs/{change.run.id}{step}",
            number=change.run.number,
            submittedBy=change.run.submitted_by,
            fingerprint=change.run.fingerprint,
            plan=change.run.plan_digest,
            tree=of.code.tree,
            dirty=bool(of.code.dirty or of.code.untracked),
            params=digest_of(change.run.params),
            state=change.state,
            **self._reuse(),
        )

    def _reuse(self) -> Json:
        reason = self._change.reason
        origin = reason.evidence.get("origin") if reason is not None and self._change.state == "cached" else None
        return {"reusedFrom": f"runs/{origin}"} if origin else {}

    # job

    def _job_facets(self) -> Json:
        change = self._change
        kind = "STEP" if change.subject.step else "PIPELINE"
        facets: Json = {
            "jobType": self._facet(
                "JobTypeJobFacet", "2-0-4", processingType="BATCH", integration="TRAINWRIGHT", jobType=kind
            )
        }
        code = change.fingerprint.code
        if code.commit:
            known = {"path": change.run.source, "version": code.commit}
            known |= {"branch": code.branch} if code.branch else {}
            # the name of a commit wherever its repository lies (ISO 18670): which remote it came from is not recorded
            url = f"swh:1:rev:{code.commit}"
            facets["sourceCodeLocation"] = self._facet(
                "SourceCodeLocationJobFacet", "1-1-0", type="git", url=url, **known
            )
        return facets

    # data

    def _input(self, given: Input) -> Json:
        size = {"size": given.content.size_bytes, "fileCount": given.content.files}
        table = self._change.tables.get(given.address)
        size |= {"rowCount": table.rows} if table is not None else {}
        statistics = self._facet("InputStatisticsInputDatasetFacet", "1-0-0", **size)
        name = self._name_of_input(given)
        facets = self._dataset_facets(given.address, given.content, name)
        return {**name, "facets": facets, "inputFacets": {"inputStatistics": statistics}}

    def _output(self, made: Output) -> Json:
        name = {"namespace": self._namespace, "name": _made(self._change.run, made.step, made.name)}
        return self._written(name, self._dataset_facets(made.address, made.content, name), made.content)

    def _written(self, name: Mapping[str, str], facets: Json, content: Content) -> Json:
        size = {"size": content.size_bytes, "fileCount": content.files}
        statistics = self._facet("OutputStatisticsOutputDatasetFacet", "1-0-2", **size)
        return {**name, "facets": facets, "outputFacets": {"outputStatistics": statistics}}

    def _models(self) -> list[Json]:
        model = self._change.model
        if model is None:
            return []
        name = {"namespace": self._namespace, "name": f"models/{model.name}"}
        facets: Json = {
            "version": self._facet("DatasetVersionDatasetFacet", "1-0-1", datasetVersion=str(model.version)),
            "trainwright_model": self._own("trainwright_model", **_model(model)),
        }
        return [self._written(name, facets, model.content)]

    def _name_of_input(self, given: Input) -> dict[str, str]:
        """Return the name by which others know the same data: that of its place, or of what made it here."""
        address = given.address
        if address.startswith("datasets/"):
            return {"namespace": self._namespace, "name": address.partition("#")[0].rpartition("@")[0]}
        if address.startswith("runs:/"):
            _, step, name = address.removeprefix("runs:/").split("/")
            return {"namespace": self._namespace, "name": _made(self._change.run, step, name)}
        uri = urlsplit(address)
        if uri.scheme and uri.netloc:
            return {"namespace": f"{uri.scheme}://{uri.netloc}", "name": uri.path.lstrip("/") or "/"}
        return {"namespace": "file", "name": address.removeprefix("file:")}

    def _dataset_facets(self, address: str, content: Content, name: Mapping[str, str]) -> Json:
        base = address.partition("#")[0]
        version = base.rpartition("@")[2] if base.startswith("datasets/") else content.digest
        facets: Json = {"version": self._facet("DatasetVersionDatasetFacet", "1-0-1", datasetVersion=version)}
        place = self._change.sources.get(address)
        if place is None and name["namespace"] != self._namespace:
            place = address
        if place is not None:
            uri = place if "://" in place else f"file://{place}"
            facets["dataSource"] = self._facet("DatasourceDatasetFacet", "1-0-1", name=place, uri=uri)
        table = self._change.tables.get(address)
        if table is not None:
            facets["schema"] = self._facet("SchemaDatasetFacet", "1-2-0", fields=[_column(c) for c in table.columns])
        return facets


def _made(run: Run, step: str, output: str) -> str:
    """Return the name of what a step makes: the same in each run of the pipeline, told apart by its version."""
    return f"{run.pipeline}/{step}/{output}"


def _column(column: Column) -> Json:
    return {"name": column.name, "type": column.type}


def _model(model: ModelVersion) -> Json:
    return {
        "address": model.address,
        "digest": model.content.digest,
        "metrics": to_json(model.metrics),
        "gates": [{"expression": gate.expression, "verdict": gate.verdict} for gate in model.gates],
        "registeredBy": model.registered_by,
        "registeredAt": model.registered_at.isoformat(timespec="microseconds"),
    }
