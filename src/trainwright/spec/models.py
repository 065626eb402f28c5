"""The shape of a pipeline file as pydantic models: which keys there are and what each may hold.

They check one value at a time; what values mean together is checked in ``spec.meaning``.
"""

import re
from collections.abc import Callable
from enum import Enum
from typing import Annotated, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PlainValidator, WithJsonSchema

from trainwright.core import quantity
from trainwright.core.artifact import ArtifactKind
from trainwright.core.cache import CacheMode
from trainwright.core.reproduction import Tolerance, tolerance_of
from trainwright.core.scalar import Plain, render_scalar
from trainwright.core.stage import Stage
from trainwright.core.workload import Isolation
from trainwright.spec.calls import CHECK_DATA, check_target
from trainwright.spec.document import API_VERSION, ParamType
from trainwright.spec.environments import Environment
from trainwright.spec.findings import WrongValueError, nearest, shape, show, suggest
from trainwright.spec.names import RESERVED_STEPS, check_name, check_variable
from trainwright.spec.retry import RetryModel
from trainwright.spec.scheduling import RunsOn, SchedulingEmpty, SchedulingModel, Workers
from trainwright.spec.triggers import TriggerModels

MOST_ROUNDS = 1000
MOST = 2**62
"""Of any amount, in its smallest unit: what a database can still hold and add."""

_STEP_TYPES = ("register", CHECK_DATA)
"""What ``uses:`` may name besides a pipeline file."""

_LIKE_A_KEY = 4  # characters; shorter words are near to everything
DECLARES = frozenset({"type", "default", "range", "choices", "scale", "help"})
"""Keys that make a mapping under ``params:`` a declaration and not the default of a mapping parameter."""

_E = TypeVar("_E", bound=Enum)
_N = TypeVar("_N", int, float)


def _name(what: str) -> Callable[[str], str]:
    def check(text: str) -> str:
        return check_name(text, what, RESERVED_STEPS if what == "step" else ())

    return check


def _one_of(kind: type[_E]) -> Callable[[object], _E]:
    """Return a validator for a word of ``kind``."""
    words = {str(member.value): member for member in kind}

    def check(value: object) -> _E:
        if isinstance(value, str) and value in words:
            return words[value]
        raise WrongValueError(
            "TW1014", f"{show(value)} is not possible here", remedy=suggest(str(value), words, "possible")
        )

    return check


def _texts(value: object) -> list[str]:
    """Take one text or a list of them."""
    items = value if isinstance(value, list) else [value]
    for index, item in enumerate(items):
        if not isinstance(item, str):
            at = f".{index}" if isinstance(value, list) else ""
            raise WrongValueError(
                "TW1013", f"{show(item)} is {shape(item)}, not text", remedy="write it in quotes", at=at
            )
    return [str(item) for item in items]


def _run(value: object) -> str | list[str]:
    if isinstance(value, str):
        return value
    if not isinstance(value, list):
        raise WrongValueError(
            "TW1013",
            f"run: is {shape(value)}, not text or a list",
            remedy='write run: python train.py, or run: ["python", "train.py"]',
        )
    for index, item in enumerate(value):
        if item is None or isinstance(item, list | dict):
            raise WrongValueError("TW1013", f"an argument is {shape(item)}, not text", at=f".{index}")
    return [render_scalar(item) for item in value]


def _env(value: object) -> str:
    if isinstance(value, list | dict):
        raise WrongValueError("TW1013", f"the value of a variable is {shape(value)}, not text or a number")
    return render_scalar(value)  # type: ignore[arg-type]  # what is left of Plain are scalars


def _measured(read: Callable[[str | int | float], _N], what: str) -> Callable[[object], _N]:
    def check(value: object) -> _N:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise WrongValueError("TW1016", f"{show(value)} is not {what}")
        try:
            amount = read(value)
        except ValueError as error:
            raise WrongValueError("TW1016", str(error)) from error
        if amount > MOST:
            raise WrongValueError("TW1016", f"{show(value)} is more than any machine has")
        return amount

    return check


def _tolerance(value: object) -> Tolerance:
    try:
        return tolerance_of(value)
    except ValueError as error:
        raise WrongValueError("TW1018", str(error)) from error


def _seconds(value: str | int | float) -> float:
    seconds = quantity.duration(value).total_seconds()
    if seconds <= 0:
        raise ValueError(f"{value!r} is not longer than nothing: write it as 30s, 10m or 24h")
    return seconds


def _version(value: object) -> str:
    if value != API_VERSION:
        raise WrongValueError(
            "TW1006", f"apiVersion {show(value)} is not supported", remedy=f"write apiVersion: {API_VERSION}"
        )
    return API_VERSION


def _steps(value: object) -> object:
    if isinstance(value, list):
        raise WrongValueError(
            "TW1013",
            "steps: is a list, not a mapping",
            why="each step has a name, and names are keys",
            remedy="write the name before each step, as in train: {run: python train.py}",
        )
    if not value:
        raise WrongValueError("TW1012", "the pipeline has no steps", remedy="add one below steps:")
    return value


def _shorthand(value: object) -> object:
    if isinstance(value, dict) and DECLARES & value.keys():
        return value
    if value is None:
        raise WrongValueError(
            "TW1030", "the parameter has neither a type nor a default", remedy="write a value, or {type: float}"
        )
    return {"default": value}


def _misspelt(value: dict[str, object]) -> str:
    """Return the key of a mapping default that looks like a misspelt key of a declaration."""
    return next((key for key in value if len(key) >= _LIKE_A_KEY and nearest(key, DECLARES)), "")


def _uses(value: object) -> str | None:
    if value is None or value in _STEP_TYPES:
        return str(value) if value else None
    if isinstance(value, str) and value.startswith(("./", "../")) and value.endswith((".yaml", ".yml")):
        return value
    if isinstance(value, str) and value.endswith(".py"):
        remedy = "keep it as YAML: tw plan --as yaml FILE; in Python, call the pipeline itself like a step"
        raise WrongValueError("TW1014", f"uses: {show(value)} is a Python file", remedy=remedy)
    near = nearest(str(value), _STEP_TYPES)
    remedy = "write uses: register or check_data, or a pipeline file relative to this one, as in uses: ./other.yaml"
    remedy = f"did you mean {near}?" if near else remedy
    raise WrongValueError("TW1014", f"uses: {show(value)} is neither", remedy=remedy)


def _gpu_with_model(value: object) -> object:
    """Take ``gpu: H100:8`` for eight of that model."""
    if not isinstance(value, dict) or not isinstance(value.get("gpu"), str) or ":" not in value["gpu"]:
        return value
    model, _, count = value["gpu"].partition(":")
    if "gpu_model" in value:
        remedy = "name it once: gpu: 8 beside gpu_model: H100"
        raise WrongValueError("TW1017", "gpu: names a model, and gpu_model: too", remedy=remedy)
    return {**value, "gpu": count.strip(), "gpu_model": [model.strip()]}


def _for_each(value: object) -> str | list[object] | None:
    if value is None or isinstance(value, list):
        return value
    if isinstance(value, str) and _DOTTED.fullmatch(value):
        return value
    remedy = "write a list, the output of a step that holds one (list.shards), or a parameter (params.shards)"
    raise WrongValueError("TW1013", f"{show(value)} is neither a list nor the name of one", remedy=remedy)


_DOTTED = re.compile(r"[^\s.{}]+\.[^\s.{}]+")
_LIST_OR_NAME = {"anyOf": [{"type": "array"}, {"type": "string"}]}
_TEXT_OR_TEXTS = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
_AMOUNT = {"type": ["string", "number"]}
_SCALAR = {"type": ["string", "number", "boolean", "null"]}

Empty = BeforeValidator(lambda value: {} if value is None else value)
Texts = Annotated[list[str], PlainValidator(_texts), WithJsonSchema(_TEXT_OR_TEXTS)]
StepName = Annotated[str, AfterValidator(_name("step"))]
Seconds = Annotated[float, PlainValidator(_measured(_seconds, "a duration")), WithJsonSchema(_AMOUNT)]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class ParamModel(_Model):
    """A declared parameter."""

    type: Annotated[ParamType | None, BeforeValidator(_one_of(ParamType))] = None
    default: Annotated[object, WithJsonSchema({})] = None
    range: Annotated[list[int | float], Field(min_length=2, max_length=2)] | None = None
    choices: Annotated[list[object], Field(min_length=1)] | None = None
    scale: Literal["linear", "log"] = "linear"
    help: str = ""


class ResourcesModel(_Model):
    """What a step needs, in Kubernetes' spelling."""

    cpu: Annotated[int, PlainValidator(_measured(quantity.cpu_milli, "an amount")), WithJsonSchema(_AMOUNT)] = 1000
    memory: Annotated[int, PlainValidator(_measured(quantity.memory_bytes, "an amount")), WithJsonSchema(_AMOUNT)] = 0
    gpu: Annotated[int, PlainValidator(_measured(quantity.gpu_milli, "an amount")), WithJsonSchema(_AMOUNT)] = 0
    gpu_memory: Annotated[
        int, PlainValidator(_measured(quantity.memory_bytes, "an amount")), WithJsonSchema(_AMOUNT)
    ] = 0
    gpu_model: Texts = []
    isolation: Annotated[Isolation, BeforeValidator(_one_of(Isolation))] = Isolation.NONE


class LoopModel(_Model):
    """Rounds one after another until a condition holds."""

    max_rounds: Annotated[int, Field(ge=1, le=MOST_ROUNDS)]
    until: str


class CacheModel(_Model):
    """Whether what the step made before may be used again."""

    mode: Annotated[CacheMode, BeforeValidator(_one_of(CacheMode))] = CacheMode.AUTO
    ttl: Seconds | None = None


class SignatureModel(_Model):
    """What a model takes and gives: name → type."""

    inputs: Annotated[dict[str, str], Field(min_length=1)]
    outputs: Annotated[dict[str, str], Empty] = {}


class RegisterModel(_Model):
    """What a register step registers."""

    model: str
    name: Annotated[str, AfterValidator(_name("model"))]
    alias: Annotated[str, AfterValidator(_name("alias"))] = ""
    signature: SignatureModel | None = None
    card: str = ""


class StepModel(_Model):
    """One step."""

    stage: Annotated[Stage | None, BeforeValidator(_one_of(Stage))] = None
    run: Annotated[str | list[str] | None, PlainValidator(_run), WithJsonSchema(_TEXT_OR_TEXTS)] = None
    call: Annotated[str, AfterValidator(check_target)] | None = None
    uses: Annotated[str | None, PlainValidator(_uses), WithJsonSchema({"type": "string"})] = None
    with_: Annotated[dict[str, object] | None, Field(alias="with")] = None
    out: Annotated[
        dict[
            Annotated[str, AfterValidator(_name("output"))],
            Annotated[ArtifactKind, BeforeValidator(_one_of(ArtifactKind))],
        ],
        Empty,
    ] = {}
    depends_on: Texts = []
    resources: Annotated[ResourcesModel, BeforeValidator(_gpu_with_model), Empty] = Field(
        default_factory=ResourcesModel
    )
    check: Texts = []
    baseline: Literal["required", "optional"] = "optional"
    retry: Annotated[RetryModel, BeforeValidator(lambda v: v if isinstance(v, dict) else {"max": v})] = Field(
        default_factory=lambda: RetryModel(max=0)
    )
    timeout: Seconds | None = None
    cache: Annotated[CacheModel, BeforeValidator(lambda v: v if isinstance(v, dict) else {"mode": v})] = Field(
        default_factory=CacheModel
    )
    env: Annotated[
        dict[
            Annotated[str, AfterValidator(check_variable)],
            Annotated[str, PlainValidator(_env), WithJsonSchema(_SCALAR)],
        ],
        Empty,
    ] = {}
    environment: Environment = None
    warm: Texts = []
    help: str = ""
    for_each: Annotated[str | list[object] | None, PlainValidator(_for_each), WithJsonSchema(_LIST_OR_NAME)] = None
    matrix: Annotated[
        dict[
            Annotated[str, AfterValidator(_name("value of a matrix"))],
            Annotated[str | list[object], PlainValidator(_for_each), WithJsonSchema(_LIST_OR_NAME)],
        ]
        | None,
        Field(min_length=1),
    ] = None
    loop: LoopModel | None = None
    parallel: Annotated[int, Field(ge=1)] | None = None
    tolerate: Annotated[int, Field(ge=0)] | None = None
    when: Texts = []
    on_fail: "StepModel | None" = None
    skip_code: Annotated[int, Field(ge=1, le=255)] | None = None
    workers: Workers = None
    scheduling: SchedulingEmpty = Field(default_factory=SchedulingModel)
    runs_on: RunsOn = None


class ReproduceModel(_Model):
    """What counts as the same when a run is made again."""

    tolerance: Annotated[
        dict[str, Annotated[Tolerance, PlainValidator(_tolerance), WithJsonSchema(_AMOUNT)]],
        Empty,
    ] = {}


class PipelineModel(_Model):
    """A pipeline file of trainwright/v1."""

    api_version: Annotated[str, PlainValidator(_version), WithJsonSchema({"const": API_VERSION})] = Field(
        API_VERSION, alias="apiVersion"
    )
    pipeline: Annotated[str, AfterValidator(_name("pipeline"))]
    description: str = ""
    standard: bool = False
    params: Annotated[
        dict[Annotated[str, AfterValidator(_name("parameter"))], Annotated[ParamModel, BeforeValidator(_shorthand)]],
        Empty,
    ] = {}
    data: Annotated[dict[Annotated[str, AfterValidator(_name("data entry"))], str], Empty] = {}
    outputs: Annotated[dict[Annotated[str, AfterValidator(_name("output"))], str], Empty] = {}
    parallel: Annotated[int, Field(ge=1)] | None = None
    environment: Environment = None
    scheduling: SchedulingEmpty = Field(default_factory=SchedulingModel)
    runs_on: RunsOn = None
    triggers: TriggerModels = []
    reproduce: Annotated[ReproduceModel, Empty] = Field(default_factory=ReproduceModel)
    steps: Annotated[dict[StepName, StepModel], BeforeValidator(_steps)]


def misspelt_declaration(value: Plain) -> str:
    """Return a warning for a mapping parameter that looks like a misspelt declaration; empty otherwise."""
    if not isinstance(value, dict) or DECLARES & value.keys():
        return ""
    key = _misspelt(dict(value))
    near = nearest(key, DECLARES) if key else ""
    return f"the key {key} makes this a mapping parameter; was {near} meant?" if near else ""


def names_of(model: type[BaseModel]) -> tuple[str, ...]:
    """Return the keys of a model as people write them."""
    return tuple(field.alias or name for name, field in model.model_fields.items())
