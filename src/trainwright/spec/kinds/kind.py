"""What every kind of platform document is made of, and the checks that several share."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, WithJsonSchema

from trainwright.core import condition
from trainwright.spec.findings import WrongValueError, shape, show
from trainwright.spec.names import check_name


class SpecModel(BaseModel):
    """The ``spec:`` of one kind: unknown keys are refused, nothing is converted."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, populate_by_name=False)


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of document.

    Attributes:
        name: as ``kind:`` has it.
        says: what such a document is for, in one line.
        model: the shape of its ``spec:``.
        value: makes the core value of a document from its name and its checked ``spec:``; raises ``WrongValueError``
            for keys that do not go together.
    """

    name: str
    says: str
    model: type[SpecModel]
    value: Callable[[str, Any], object]


def _listed(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _condition(text: str) -> str:
    try:
        parsed = condition.parse(text)
    except ValueError as error:
        remedy = 'write a condition such as "auc >= 0.9"'
        raise WrongValueError("TW1040", f"the condition {show(text)}: {error}", remedy=remedy) from error
    if not condition.mentioned(parsed):
        remedy = "name a metric of the version, or one of production"
        raise WrongValueError("TW1040", f"the condition {show(text)} names no metric", remedy=remedy)
    return text


def glob(text: str) -> str:
    """Return a pattern of names.

    Raises:
        WrongValueError: it is empty, or holds what no name holds.
    """
    if not _GLOB.fullmatch(text) or ".." in text:
        remedy = 'write names with * for any part, as in "datasets/ads/*"'
        raise WrongValueError("TW1015", f"{show(text)} is no pattern of names", remedy=remedy)
    return text


def name_of(what: str) -> AfterValidator:
    """Return a validator for the name of ``what``."""
    return AfterValidator(lambda text: check_name(text, what))


def mapping(value: object) -> object:
    """Let a mapping pass, and nothing as an empty one.

    Raises:
        WrongValueError: it is anything else.
    """
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise WrongValueError("TW1013", f"{show(value)} is {shape(value)}, not a mapping")
    return value


_GLOB = re.compile(r"[\w@*?\[\]!/-]{1,200}")
_TEXT_OR_TEXTS = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}

Globs = Annotated[list[Annotated[str, AfterValidator(glob)]], BeforeValidator(_listed), WithJsonSchema(_TEXT_OR_TEXTS)]
Conditions = Annotated[
    list[Annotated[str, AfterValidator(_condition)]], BeforeValidator(_listed), WithJsonSchema(_TEXT_OR_TEXTS)
]
