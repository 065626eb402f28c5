"""``triggers:``: what starts runs of a pipeline without a person, from its shape to checked values."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PlainValidator, WithJsonSchema

from trainwright.core import quantity
from trainwright.core.scalar import Plain
from trainwright.core.trigger import LAST, RunEnd, TriggerKind, TriggerSpec
from trainwright.spec.document import ParamSpec
from trainwright.spec.findings import Findings, WrongValueError, show, suggest
from trainwright.spec.names import check_name
from trainwright.spec.params import outside, typed
from trainwright.spec.reader import Tree

MOST_CAUGHT_UP = 1000
"""Missed times that ``all(N)`` may make up for."""

MOST_DEBOUNCE_S = 30 * 86400.0

_ALL = re.compile(r"all\(\s*([0-9]{1,4})\s*\)")
_KINDS = tuple(kind.value for kind in TriggerKind)
_BELONGS = {"timezone": ("cron",), "catch_up": ("cron",), "debounce": ("dataset", "run", "webhook"), "on": ("run",)}
"""Keys that have a meaning for some kinds only."""


def _cron(text: str) -> str:
    from trainwright.core.cron import check_cron  # noqa: PLC0415 - most files have no triggers

    try:
        return check_cron(text)
    except ValueError as error:
        remedy = 'write minute hour day month weekday, as in "30 2 * * *"; 0 is Sunday'
        raise WrongValueError("TW1090", f"cron: {error}", remedy=remedy) from error


def _zone(text: str) -> str:
    from trainwright.core.cron import check_zone, zones  # noqa: PLC0415 - as above

    try:
        return check_zone(text)
    except ValueError as error:
        near = suggest(text, zones()) if text else ""
        remedy = near if near.startswith("did") else "write Area/City, as in Europe/Berlin, or UTC"
        raise WrongValueError("TW1091", str(error), remedy=remedy) from error


def _dataset(text: str) -> str:
    whole, part, _ = text.partition("#")
    name, at, _ = whole.removeprefix("datasets/").partition("@")
    if part:
        remedy = f"write dataset: datasets/{name}; what a step reads of it is a matter of data:"
        raise WrongValueError("TW1015", f"{show(text)} is a slice; a trigger waits for versions", remedy=remedy)
    if at:
        remedy = f"write dataset: datasets/{name}"
        raise WrongValueError("TW1015", f"{show(text)} names one version; a trigger waits for new ones", remedy=remedy)
    if not text.startswith("datasets/") or not all(part.isprintable() and part.strip() for part in name.split("/")):
        remedy = "write it as tw dataset ls does, without a version: datasets/digits"
        raise WrongValueError("TW1015", f"{show(text)} is not the address of a dataset", remedy=remedy)
    return text


def _catch_up(value: object) -> int:
    words = {"none": 0, "last": LAST}
    text = str(value)
    if isinstance(value, str) and text in words:
        return words[text]
    found = _ALL.fullmatch(text)
    if found and 1 <= int(found[1]) <= MOST_CAUGHT_UP:
        return int(found[1])
    remedy = f"possible: none, last, all(N) with N up to {MOST_CAUGHT_UP}"
    raise WrongValueError("TW1014", f"catch_up: {show(value)} is not possible here", remedy=remedy)


def _debounce(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise WrongValueError("TW1016", f"{show(value)} is not a duration", remedy="write it as 30s, 10m or 24h")
    try:
        seconds = quantity.duration(value).total_seconds()
    except ValueError as error:
        raise WrongValueError("TW1016", str(error)) from error
    if seconds > MOST_DEBOUNCE_S:
        raise WrongValueError("TW1016", f"debounce: {show(value)} is longer than 30 days")
    return seconds


_DURATION = {"type": ["string", "number"]}
_WORDS_OF_CATCH_UP = {"type": "string", "pattern": r"^(none|last|all\([0-9]+\))$"}


class TriggerModel(BaseModel):
    """One trigger: exactly one of ``cron``, ``dataset``, ``run`` and ``webhook``."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    name: Annotated[str, AfterValidator(lambda v: check_name(v, "trigger"))] = ""
    cron: Annotated[str, AfterValidator(_cron)] | None = None
    timezone: Annotated[str, AfterValidator(_zone)] = "UTC"
    catch_up: Annotated[int, PlainValidator(_catch_up), WithJsonSchema(_WORDS_OF_CATCH_UP)] = LAST
    dataset: Annotated[str, AfterValidator(_dataset)] | None = None
    run: Annotated[str, AfterValidator(lambda v: check_name(v, "pipeline"))] | None = None
    on: Literal["succeeded", "failed", "any"] = "succeeded"
    webhook: Annotated[str, AfterValidator(lambda v: check_name(v, "webhook"))] | None = None
    debounce: Annotated[float, PlainValidator(_debounce), WithJsonSchema(_DURATION)] = 0.0
    params: Annotated[dict[str, object], BeforeValidator(lambda v: {} if v is None else v)] = Field(
        default_factory=dict
    )


def _listed(value: object) -> object:
    if value is None:
        return []
    return [value] if isinstance(value, dict) else value


TriggerModels = Annotated[list[TriggerModel], BeforeValidator(_listed)]


def written_path(tree: Tree, path: str) -> str:
    """Return where something stands in the file: one trigger alone may be written without a list."""
    return path.replace("triggers.0", "triggers", 1) if path.startswith("triggers.0") and _is_alone(tree) else path


def listed_path(tree: Tree, path: str) -> str:
    """Return the path as if it were in a list: the other way round."""
    return path.replace("triggers", "triggers.0", 1) if path.startswith("triggers.") and _is_alone(tree) else path


def _is_alone(tree: Tree) -> bool:
    return isinstance(tree.value, dict) and isinstance(tree.value.get("triggers"), dict)


def triggers_of(
    models: list[TriggerModel], pipeline: str, params: Mapping[str, ParamSpec], tree: Tree, findings: Findings
) -> tuple[TriggerSpec, ...]:
    """Return the triggers; what is wrong with them is added to ``findings``.

    Args:
        models: in the order of the file.
        pipeline: that they start.
        params: that it declares.
        tree: the file.
        findings: problems so far.
    """
    found: list[TriggerSpec] = []
    counts: Counter[str] = Counter()
    for index, model in enumerate(models):
        path = written_path(tree, f"triggers.{index}")
        kinds = [kind for kind in _KINDS if getattr(model, kind) is not None]
        for key, wrong in _clashes(model, kinds, pipeline):
            findings.add(tree.where(f"{path}.{key}" if key else path), wrong)
        given = _params(model, params, path, tree, findings)
        if len(kinds) != 1:
            continue
        counts[kinds[0]] += 1
        spec = _spec(model, TriggerKind(kinds[0]), model.name or f"{kinds[0]}-{counts[kinds[0]]}", given)
        if any(other.name == spec.name for other in found):
            remedy = "give each trigger a name of its own"
            wrong = WrongValueError("TW1003", f"two triggers are called {spec.name}", remedy=remedy)
            findings.add(tree.where(f"{path}.name"), wrong)
        found.append(spec)
    return tuple(found)


def _spec(model: TriggerModel, kind: TriggerKind, name: str, given: dict[str, Plain]) -> TriggerSpec:
    return TriggerSpec(
        name=name,
        kind=kind,
        subject=str(getattr(model, kind.value)),
        timezone=model.timezone if kind is TriggerKind.CRON else "",
        params=given,
        catch_up=model.catch_up,
        debounce_s=model.debounce,
        on=RunEnd(model.on),
    )


def _clashes(model: TriggerModel, kinds: list[str], pipeline: str) -> Iterator[tuple[str, WrongValueError]]:
    one = f"a trigger waits for one thing: {', '.join(_KINDS[:-1])} or {_KINDS[-1]}"
    if not kinds:
        yield "", WrongValueError("TW1012", "the trigger does not say what it waits for", why=one)
    if len(kinds) > 1:
        remedy = "write each as a trigger of its own"
        yield kinds[1], WrongValueError("TW1017", f"the trigger has {' and '.join(kinds)}", why=one, remedy=remedy)
    for key, owners in _BELONGS.items():
        if len(kinds) == 1 and key in model.model_fields_set and kinds[0] not in owners:
            sentence = f"{key}: has no meaning for a {kinds[0]} trigger"
            yield key, WrongValueError("TW1017", sentence, remedy=f"it belongs to {', '.join(owners)}; leave it out")
    if model.run == pipeline:
        why = "each of its runs would start the next, for ever"
        yield "run", WrongValueError("TW1092", f"{pipeline} waits for itself", why=why, remedy="name another pipeline")


def _params(
    model: TriggerModel, params: Mapping[str, ParamSpec], path: str, tree: Tree, findings: Findings
) -> dict[str, Plain]:
    """Return the values as their declared types; parts of mapping parameters are judged when they are put in."""
    given: dict[str, Plain] = {}
    for key, value in sorted(model.params.items()):
        place = f"{path}.params.{key}"
        try:
            given[key] = _taken(key, value, params, tree.sources.get(place))  # type: ignore[arg-type]  # Plain by the reader
        except WrongValueError as wrong:
            findings.add(tree.where(place), wrong)
    missing = [name for name, spec in sorted(params.items()) if spec.default is None and name not in model.params]
    if missing:
        sentence = f"the trigger gives no value for {', '.join(missing)}"
        remedy = f"add params: {{{missing[0]}: …}} to the trigger, or give the parameter a default"
        findings.add(tree.where(path), WrongValueError("TW1033", sentence, remedy=remedy))
    return given


def _taken(key: str, value: Plain, params: Mapping[str, ParamSpec], source: str | None) -> Plain:
    name, dot, _ = key.partition(".")
    if name not in params:
        remedy = suggest(name, params, "declared") or "the pipeline declares none"
        raise WrongValueError("TW1031", f"unknown parameter {name!r}", remedy=remedy)
    if dot:
        return value
    try:
        taken = typed(value, params[name].type, source=source)
    except WrongValueError as wrong:
        wrong.message = f"parameter {key}: {wrong.message}"
        raise
    obstacle = outside(name, params[name], taken)
    if obstacle:
        raise WrongValueError("TW1093", obstacle[0], remedy=obstacle[1])
    return taken
