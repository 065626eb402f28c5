"""A tree of plain values against the models: what pydantic finds, in our words and with our places."""

from collections.abc import Iterator

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from trainwright.core.errors import Position
from trainwright.core.scalar import Plain
from trainwright.spec.environments import EnvironmentModel
from trainwright.spec.findings import Findings, WrongValueError, shape, show, suggest
from trainwright.spec.models import (
    CacheModel,
    LoopModel,
    ParamModel,
    PipelineModel,
    RegisterModel,
    ReproduceModel,
    ResourcesModel,
    SignatureModel,
    StepModel,
    names_of,
)
from trainwright.spec.reader import Tree
from trainwright.spec.references import OPEN
from trainwright.spec.retry import RetryModel
from trainwright.spec.scheduling import SchedulingModel
from trainwright.spec.triggers import TriggerModel, written_path

LATER = frozenset(
    {
        *("sweep", "curriculum"),
        *("script", "launcher", "checkpoint", "shm"),
    }
)
"""Keys of the language that this version knows of and does not do yet."""

_BELOW_THE_TOP: dict[str, type[BaseModel]] = {
    "environment": EnvironmentModel,
    "reproduce": ReproduceModel,
    "scheduling": SchedulingModel,
}
_BELOW_A_STEP: dict[str, type[BaseModel]] = {
    "resources": ResourcesModel,
    "retry": RetryModel,
    "with": RegisterModel,
    "loop": LoopModel,
    "cache": CacheModel,
    "environment": EnvironmentModel,
    "scheduling": SchedulingModel,
}
_SHAPES = {
    "string_type": "text",
    "bool_type": "true or false",
    "int_type": "an integer",
    "float_type": "a number",
    "dict_type": "a mapping",
    "list_type": "a list",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
}
_BOUNDS = {
    "greater_than_equal": "below {ge}",
    "less_than_equal": "above {le}",
}
_BRACES_ALLOWED = ("run", "script", "env", "help")


def check_shape(tree: Tree, findings: Findings) -> PipelineModel | None:
    """Return the file as a model; None when something was added to ``findings``."""
    if not isinstance(tree.value, dict):
        wrong = WrongValueError(
            "TW1002", f"the file holds {shape(tree.value)}, not a mapping", remedy="begin with pipeline: NAME"
        )
        findings.add(tree.where(""), wrong)
        return None
    misplaced = dict(_misplaced_references(tree.value, ""))
    for path, wrong in misplaced.items():
        findings.add(tree.where(path), wrong)
    try:
        model = PipelineModel.model_validate(tree.value)
    except ValidationError as error:
        for problem in error.errors(include_url=False):
            path = ".".join(str(part) for part in problem["loc"] if part != "[key]")
            wrong = translate(problem, path)
            path = written_path(tree, path)
            if path not in misplaced:
                findings.add(place(tree, path + wrong.at, problem), wrong)
        return None
    return None if findings.found else model


def place(tree: Tree, path: str, problem: ErrorDetails) -> Position:
    """Return where a problem stands that pydantic found at ``path``."""
    of_key = problem["type"] == "extra_forbidden" or "[key]" in problem["loc"]
    if of_key and path in tree.keys:
        return tree.keys[path]
    return tree.where(path)


def translate(problem: ErrorDetails, path: str) -> WrongValueError:
    """Return what pydantic found, in our words."""
    key = path.rpartition(".")[2]
    kind, value = problem["type"], problem["input"]
    if kind == "value_error":
        inner = problem["ctx"]["error"]
        return inner if isinstance(inner, WrongValueError) else WrongValueError("TW1013", str(inner))
    if kind == "missing":
        return WrongValueError("TW1012", f"{path.replace('.', ': ')} is missing", remedy=_missing_remedy(key))
    if kind == "extra_forbidden":
        return _unknown_key(path, key)
    if kind == "literal_error":
        words = problem["ctx"]["expected"].replace("'", "").replace(" or ", ", ").split(", ")
        return WrongValueError(
            "TW1014", f"{key}: {show(value)} is not possible here", remedy=suggest(str(value), words, "possible")
        )
    if kind in _BOUNDS:
        return WrongValueError("TW1013", f"{key}: {show(value)} is {_BOUNDS[kind].format(**problem['ctx'])}")
    if kind in {"too_short", "too_long"}:
        return WrongValueError("TW1013", f"{key}: has {len(value)} values", remedy=_length_remedy(key))
    wanted = _SHAPES.get(kind)
    if wanted is None:
        return WrongValueError("TW1013", f"{key}: {show(value)} cannot stand here: {problem['msg']}")
    remedy = "write it in quotes" if wanted == "text" and isinstance(value, int | float) else ""
    return WrongValueError("TW1013", f"{key}: {show(value)} is {shape(value)}, not {wanted}", remedy=remedy)


def _missing_remedy(key: str) -> str:
    return {
        "pipeline": "add pipeline: NAME at the top",
        "steps": "add steps: and a step below it",
        "model": "name the output that is the model, as in model: train.model",
        "name": "name the model in the registry, as in name: digits",
        "max_rounds": "say how often at most, as in max_rounds: 6",
        "until": 'say when it ends, as in until: "evaluate.passed"',
        "max": "say how often to try again, as in max: 2",
    }.get(key, "")


def _length_remedy(key: str) -> str:
    return "write the lowest and the highest value: range: [0, 1]" if key == "range" else "write at least one"


def _unknown_key(path: str, key: str) -> WrongValueError:
    parts = path.split(".")
    model, place = _model_at(parts)
    if key in LATER and (model in {PipelineModel, StepModel} or key == "shm"):
        return WrongValueError(
            "TW1011",
            f"{key}: is not supported yet",
            why="the key belongs to the language, but this version does not do what it says",
            remedy="leave it out",
        )
    known = names_of(model)
    remedy = suggest(key, known, "known")
    if model is ParamModel:
        remedy += "; a mapping as a default is written default: {…}"
    elsewhere = _other_home(key, model)
    if elsewhere:
        remedy = elsewhere
    return WrongValueError("TW1010", f"unknown key {key!r} in {place}", remedy=remedy)


def _model_at(parts: list[str]) -> tuple[type[BaseModel], str]:
    """Return the model that refused the key at this path, and its name for a sentence."""
    match parts:
        case ["params", name, _]:
            return ParamModel, f"the parameter {name}"
        case ["steps", name, "with", "signature", _]:
            return SignatureModel, f"signature: of step {name}"
        case ["steps", name, key, _] if key in _BELOW_A_STEP:
            return _BELOW_A_STEP[key], f"{key}: of step {name}"
        case ["steps", name, "on_fail", *below] if below:
            model, where = _model_at(["steps", name, *below])
            return model, f"on_fail: of {where}"
        case ["triggers", _, _]:
            return TriggerModel, "a trigger"
        case [key, _] if key in _BELOW_THE_TOP:
            return _BELOW_THE_TOP[key], f"{key}:"
        case ["steps", name, _]:
            return StepModel, f"step {name}"
        case _:
            return PipelineModel, "the pipeline"


def _other_home(key: str, model: type[BaseModel]) -> str:
    if model is StepModel and key in names_of(ResourcesModel):
        return f"write it below resources: as in resources: {{{key}: …}}"
    if model is PipelineModel and key in names_of(StepModel):
        return "it belongs to a step, below steps:"
    if model is StepModel and key in names_of(PipelineModel):
        return "it belongs to the top of the file"
    return ""


def _misplaced_references(value: Plain, path: str) -> Iterator[tuple[str, WrongValueError]]:
    """Yield every text with a ``${{`` where references are not replaced."""
    if isinstance(value, dict):
        for key, inner in value.items():
            below = f"{path}.{key}" if path else key
            if not _replaced_at(below):
                yield from _misplaced_references(inner, below)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _misplaced_references(inner, f"{path}.{index}")
    elif isinstance(value, str) and OPEN in value:
        yield path, _misplaced(path)


def _replaced_at(path: str) -> bool:
    match path.split("."):
        case ["description"]:
            return True
        case ["steps", _, key] | ["steps", _, "on_fail", key]:
            return key in _BRACES_ALLOWED
        case _:
            return False


def _misplaced(path: str) -> WrongValueError:
    top, *below = path.split(".")
    key = below[1] if top == "steps" and len(below) > 1 else top
    if top == "params":
        remedy = "parameters do not refer to one another: write the value, or combine them in run:"
        return WrongValueError("TW1023", "a parameter's declaration holds a reference", remedy=remedy)
    remedy = "write the name without ${{ }}" if key in {"with", "check", "depends_on"} else "write the value itself"
    return WrongValueError(
        "TW1023", f"{key}: holds a reference", why="references are replaced in run: and env: only", remedy=remedy
    )
