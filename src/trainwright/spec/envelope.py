"""Text of a platform document to its value: ``apiVersion``, ``kind``, ``metadata`` and the ``spec:`` of that kind."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field, PlainValidator, ValidationError, WithJsonSchema
from pydantic_core import ErrorDetails

from trainwright.core.codec import to_json
from trainwright.core.errors import Position
from trainwright.core.scalar import Plain
from trainwright.spec.document import API_VERSION
from trainwright.spec.findings import Findings, WrongValueError, shape, show, suggest
from trainwright.spec.kinds.kind import Kind, SpecModel, name_of
from trainwright.spec.kinds.known import KINDS
from trainwright.spec.models import names_of
from trainwright.spec.reader import Tree, read
from trainwright.spec.shape import place, translate


@dataclass(frozen=True, slots=True)
class PlatformDocument:
    """A checked platform document.

    Attributes:
        written: its ``spec:`` as its author wrote it.
        value: what that means: the JSON of the core value, without its name.
        where: of ``spec:``, for what is found out later.
    """

    kind: str
    name: str
    written: Mapping[str, Plain]
    value: Mapping[str, Plain]
    where: Position


def _version(value: object) -> str:
    if value != API_VERSION:
        message = f"apiVersion {show(value)} is not supported"
        raise WrongValueError("TW1006", message, remedy=f"write apiVersion: {API_VERSION}")
    return API_VERSION


def _kind(value: object) -> str:
    if not isinstance(value, str) or value not in KINDS:
        raise WrongValueError("TW1014", f"kind: {show(value)} is not known", remedy=suggest(str(value), KINDS, "known"))
    return value


class MetadataModel(SpecModel):
    """What a document is called."""

    name: Annotated[str, name_of("document")]
    description: str = ""


class EnvelopeModel(SpecModel):
    """What every platform document has."""

    api_version: Annotated[str, PlainValidator(_version), WithJsonSchema({"const": API_VERSION})] = Field(
        alias="apiVersion"
    )
    kind: Annotated[str, PlainValidator(_kind), WithJsonSchema({"type": "string"})]
    metadata: MetadataModel
    spec: dict[str, object]


def load(text: str, file: str) -> PlatformDocument:
    """Return the platform document in ``text``.

    Args:
        text: of the file; not empty.
        file: its name as the person typed it; only shown.

    Raises:
        SpecError: the first problem in the order of the file, with its line and column.
    """
    tree = read(text, file)
    findings = Findings()
    document = _checked(tree, findings)
    findings.raise_first()
    assert document is not None  # without findings there is a document  # noqa: S101
    return document


def json_schema(kind: str) -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of the documents of one kind; the same at every call."""
    found = KINDS[kind]
    schema = EnvelopeModel.model_json_schema(by_alias=True)
    inner = found.model.model_json_schema(by_alias=True)
    inner.pop("$defs", None)
    schema["properties"]["kind"] = {"const": kind}
    schema["properties"]["spec"] = inner
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": f"trainwright {kind}",
        "description": found.says,
    }


def _checked(tree: Tree, findings: Findings) -> PlatformDocument | None:
    if not isinstance(tree.value, dict):
        message = f"the file holds {shape(tree.value)}, not a mapping"
        remedy = f"begin with apiVersion: {API_VERSION} and kind:"
        findings.add(tree.where(""), WrongValueError("TW1002", message, remedy=remedy))
        return None
    if "pipeline" in tree.value:
        wrong = WrongValueError("TW1010", "this is a pipeline file", remedy="run it: tw run FILE")
        findings.add(tree.where("pipeline"), wrong)
        return None
    envelope = _validated(EnvelopeModel, tree.value, "", tree, findings)
    if not isinstance(envelope, EnvelopeModel):
        return None
    kind = KINDS[envelope.kind]
    model = _validated(kind.model, envelope.spec, "spec", tree, findings)
    value = None if model is None else _value(kind, envelope.metadata.name, model, tree, findings)
    if value is None:
        return None
    plain = to_json(value)
    del plain["name"]
    written: Mapping[str, Plain] = envelope.spec  # type: ignore[assignment]  # Plain by the reader
    return PlatformDocument(kind.name, envelope.metadata.name, written, plain, tree.where("spec"))


def _value(kind: Kind, name: str, model: SpecModel, tree: Tree, findings: Findings) -> object:
    try:
        return kind.value(name, model)
    except WrongValueError as wrong:
        findings.add(tree.where("spec"), wrong)
        return None


def _validated(model: type[SpecModel], value: object, above: str, tree: Tree, findings: Findings) -> SpecModel | None:
    try:
        return model.model_validate(value)
    except ValidationError as error:
        for problem in error.errors(include_url=False):
            steps = [str(part) for part in problem["loc"] if _is_a_place(part, tree, above)]
            path = ".".join([above, *steps] if above else steps)
            wrong = _in_our_words(problem, path, model)
            findings.add(place(tree, path + wrong.at, problem), wrong)
        return None


def _is_a_place(part: object, tree: Tree, above: str) -> bool:
    """Tell whether a part of pydantic's path is a key or an index, and not the name of a branch of a union."""
    return isinstance(part, int) or any(
        str(part) in path.removeprefix(above).split(".") for path in (*tree.positions, *tree.keys)
    )


def _in_our_words(problem: ErrorDetails, path: str, model: type[SpecModel]) -> WrongValueError:
    key = path.rpartition(".")[2]
    if problem["type"] == "missing":
        lacking = str(problem["loc"][-1])
        where = f"{path}: " if path else ""
        return WrongValueError("TW1012", f"{where}{lacking}: is missing", remedy=f"add {lacking}:")
    if problem["type"] == "extra_forbidden":
        owner = MetadataModel if path.startswith("metadata.") else model
        return WrongValueError("TW1010", f"unknown key {key!r}", remedy=suggest(key, names_of(owner)))
    return translate(problem, path)
