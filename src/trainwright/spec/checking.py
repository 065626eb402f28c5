"""``uses: check_data``: a step that holds a table against expectations and an earlier table; a call of ours inside."""

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainValidator, ValidationError, WithJsonSchema
from pydantic_core import ErrorDetails

from trainwright.core.scalar import Plain
from trainwright.spec.findings import Findings, WrongValueError, show, suggest
from trainwright.spec.models import StepModel, names_of
from trainwright.spec.names import check_name
from trainwright.spec.params import refuse_unfinite
from trainwright.spec.reader import Tree
from trainwright.spec.shape import place, translate

_EXPECT, _WANTED = "expect", "wanted"
_NOT_FOR_CHECK = ("run", "call", "out", "loop", "skip_code")
_MOST_BINS = 1000


def _ends(value: object) -> list[Plain]:
    if isinstance(value, list) and len(value) == 2 and not all(end is None for end in value):  # noqa: PLR2004 - ends
        return value
    remedy = "write the lowest and the highest: [0, 120]; null for an end that is open"
    raise WrongValueError("TW1013", f"{show(value)} is not [lowest, highest]", remedy=remedy)


def _name(text: str) -> str:
    return check_name(text, "table")


def _no_words_twice(columns: list[str]) -> list[str]:
    if not columns:
        raise WrongValueError("TW1013", "no column is named", remedy="name one, or leave it out")
    return columns


Ends = Annotated[list[object] | None, PlainValidator(_ends), WithJsonSchema({"type": "array"})]
Columns = Annotated[list[str], AfterValidator(_no_words_twice)]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class ColumnModel(_Model):
    """What is expected of a column; all but ``nulls`` of the values that are there."""

    type: Literal["int", "float", "str", "bool", "datetime"] | None = None
    range: Ends = None
    in_: Annotated[list[object] | None, Field(alias="in", min_length=1)] = None
    pattern: str | None = None
    length: Ends = None
    nulls: Annotated[float, Field(ge=0, le=1)] | None = None
    unique: bool | None = None
    optional: bool | None = None


class ExpectModel(_Model):
    """What is expected of a table."""

    columns: dict[str, ColumnModel | None] | None = None
    rows: Ends = None
    only: bool | None = None
    unique: Columns | None = None


class CheckDataModel(_Model):
    """The ``with:`` of a step that checks data."""

    table: str
    expect: ExpectModel | None = None
    against: str | None = None
    name: Annotated[str, AfterValidator(_name)] = "table"
    columns: Columns | None = None
    bins: Annotated[int, Field(ge=2, le=_MOST_BINS)] | None = None


def arguments_of(path: str, model: StepModel, tree: Tree, findings: Findings) -> dict[str, Plain]:
    """Return the arguments of the call that a step with ``uses: check_data`` stands for."""
    given = model.with_
    if given is None:
        return {}
    try:
        asked = CheckDataModel.model_validate(given)
        refuse_unfinite(given)  # type: ignore[arg-type]  # Plain by the reader
    except ValidationError as error:
        for problem in error.errors(include_url=False):
            below = ".".join([f"{path}.with", *(str(part) for part in problem["loc"])])
            findings.add(place(tree, below, problem), _translated(problem, below))
        return {}
    except WrongValueError as wrong:
        findings.add(tree.where(f"{path}.with"), wrong)
        return {}
    if asked.expect is None and asked.against is None:
        remedy = "add expect: {rows: [1, null]}, or against: data.before"
        found = WrongValueError("TW1012", "neither expect: nor against: says what to check", remedy=remedy)
        findings.add(tree.where(f"{path}.with"), found)
    made: dict[str, Plain] = {key: value for key, value in given.items() if key != _EXPECT}  # type: ignore[misc]
    if _EXPECT in given:
        made[_WANTED] = {"value": given[_EXPECT]}  # type: ignore[dict-item]  # a literal, whatever is in it
    return made


def checks_of(model: StepModel) -> tuple[str, ...]:
    """Return the checks of such a step: its author's, and that nothing failed where these say nothing about it."""
    own = tuple(model.check)
    given = model.with_ or {}
    if _EXPECT not in given or any("failed_checks" in text for text in own):
        return own
    return (f"{given.get('name', 'table')}.failed_checks == 0", *own)


def clashes_of_check(name: str, path: str, model: StepModel, tree: Tree) -> list[tuple[str, WrongValueError]]:
    """Return keys that do not go together, with what is wrong."""
    found = []
    for key in _NOT_FOR_CHECK:
        if f"{path}.{key}" in tree.positions:
            message = f"step {name} has uses: check_data and {key}:"
            why = "such a step runs no command of yours; what it finds are metrics"
            found.append((key, WrongValueError("TW1017", message, why=why, remedy=f"leave {key}: out")))
    if model.with_ is None:
        remedy = "add with: {table: prep.table, expect: {rows: [1, null]}}"
        found.append(("", WrongValueError("TW1012", f"step {name} uses check_data without with:", remedy=remedy)))
    return found


def _translated(problem: ErrorDetails, path: str) -> WrongValueError:
    key = path.rpartition(".")[2]
    if problem["type"] == "missing" and key == "table":
        remedy = "name the output or the data to check, as in table: prep.table"
        return WrongValueError("TW1012", "table is missing", remedy=remedy)
    if problem["type"] != "extra_forbidden":
        return translate(problem, path)
    models: dict[int, type[BaseModel]] = {1: CheckDataModel, 2: ExpectModel}
    model = models.get(len(problem["loc"]), ColumnModel)
    return WrongValueError("TW1010", f"unknown key {key!r} in a data check", remedy=suggest(key, names_of(model)))
