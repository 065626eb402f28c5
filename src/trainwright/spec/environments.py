"""``environment:`` of a pipeline or a step: its shape, what its keys mean together, and its value."""

import posixpath
import re
from collections.abc import Iterator
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, PlainValidator, WithJsonSchema

from trainwright.core.environment import AskedEnvironment, EnvironmentKind
from trainwright.core.scalar import Plain
from trainwright.spec.findings import Findings, WrongValueError, nearest, shape, show
from trainwright.spec.reader import Tree

KINDS = ("requirements", "lockfile", "project", "image")
"""Keys of which an environment has exactly one."""

_PYTHON = re.compile(r"3\.\d{1,2}(\.\d{1,2})?")
_IMAGE = re.compile(r"(?P<name>[a-zA-Z0-9][a-zA-Z0-9._/:-]*)@sha256:(?P<digest>[0-9a-f]{64})")
_INHERIT = "inherit"


def _shorthand(value: object) -> object:
    if value is None or isinstance(value, dict):
        return value
    if value == _INHERIT:
        return {}
    text = str(value)
    remedy = f"write environment: {{requirements: {text}}}" if "." in text else "write inherit, or {requirements: FILE}"
    if nearest(text, [_INHERIT]):
        remedy = f"did you mean {_INHERIT}?"
    raise WrongValueError("TW1014", f"environment: {show(value)} is not possible here", remedy=remedy)


def _python(value: object) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        why = "3.10 as a number is 3.1"
        raise WrongValueError("TW1013", f"python: {show(value)} is a number, not text", why=why, remedy=f'"{value}"')
    if not isinstance(value, str) or not _PYTHON.fullmatch(value):
        raise WrongValueError("TW1013", f"python: {show(value)} is no version", remedy='write python: "3.11"')
    return value


def _path(value: object) -> str:
    if not isinstance(value, str) or not value or "\0" in value:
        raise WrongValueError("TW1013", f"{show(value)} is {shape(value)}, not a path", remedy="name a file")
    return posixpath.normpath(value)


def _image(value: object) -> tuple[str, str]:
    match = _IMAGE.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise WrongValueError(
            "TW1081",
            f"the image {show(value)} has no digest",
            why="a tag may mean another image tomorrow, so it locks nothing",
            remedy="write NAME@sha256:…; podman image inspect NAME --format '{{.Digest}}' tells it",
        )
    return match["name"], match["digest"]


def _extras(value: object) -> list[str]:
    items = value if isinstance(value, list) else [value]
    for index, item in enumerate(items):
        if not isinstance(item, str) or not item:
            raise WrongValueError("TW1013", f"{show(item)} is no name of an extra", at=f".{index}")
    return [str(item) for item in items]


_TEXT = {"type": "string"}
_FILE = Annotated[str | None, PlainValidator(_path), WithJsonSchema(_TEXT)]


class EnvironmentModel(BaseModel):
    """Where the packages of a step come from."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    requirements: _FILE = None
    lockfile: _FILE = None
    project: _FILE = None
    extras: Annotated[
        list[str], PlainValidator(_extras), WithJsonSchema({"type": "array", "items": {"type": "string"}})
    ] = []
    image: Annotated[tuple[str, str] | None, PlainValidator(_image), WithJsonSchema(_TEXT)] = None
    python: Annotated[str | None, PlainValidator(_python), WithJsonSchema(_TEXT)] = None


Environment = Annotated[
    EnvironmentModel | None,
    BeforeValidator(_shorthand),
    WithJsonSchema(
        {
            "anyOf": [
                {"const": _INHERIT},
                {
                    "type": "object",
                    "additionalProperties": False,
                    "properties": {
                        **dict.fromkeys((*KINDS, "python"), _TEXT),
                        "extras": {"type": "array", "items": _TEXT},
                    },
                },
            ]
        }
    ),
]
"""A key that takes ``inherit`` or a mapping."""


def environment_of(
    path: str, model: EnvironmentModel | None, tree: Tree, findings: Findings
) -> AskedEnvironment | None:
    """Return what ``environment:`` at ``path`` asks for; None when the key is absent.

    What is wrong with it is added to the findings.
    """
    if model is None:
        return None
    written = [key for key in KINDS if getattr(model, key) is not None]
    for below, wrong in _clashes(path, model, written, tree):
        findings.add(tree.where(f"{path}.{below}" if below else path), wrong)
    if len(written) != 1:
        return AskedEnvironment()
    name, digest = model.image or ("", "")
    found = model.requirements or model.lockfile or model.project or ""
    extras, python = tuple(sorted(set(model.extras))), model.python or ""
    return AskedEnvironment(EnvironmentKind(written[0]), found, extras, python, name, digest)


def _clashes(
    path: str, model: EnvironmentModel, written: list[str], tree: Tree
) -> Iterator[tuple[str, WrongValueError]]:
    """Yield the keys that do not go together, with what is wrong."""
    if len(written) > 1:
        message = f"environment: has both {written[0]}: and {written[1]}:"
        yield written[1], WrongValueError("TW1017", message, remedy="write one of them")
    if not written and isinstance(_value(path, tree), dict):
        message = "environment: does not say where its packages come from"
        remedy = f"add one of {', '.join(f'{kind}:' for kind in KINDS)}"
        yield "", WrongValueError("TW1012", message, remedy=remedy)
    if model.extras and written and written != ["project"]:
        message = f"extras: says nothing to {written[0]}:"
        remedy = "write the extras into the file, as in name[extra]" if written != ["image"] else "leave it out"
        yield "extras", WrongValueError("TW1017", message, remedy=remedy)
    if model.python is not None and written == ["image"]:
        message = "python: says nothing to image:"
        why = "the image has its own"
        yield "python", WrongValueError("TW1017", message, why=why, remedy="leave it out")


def _value(path: str, tree: Tree) -> Plain:
    """Return the value at a path as it is written."""
    value = tree.value
    for part in path.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value
