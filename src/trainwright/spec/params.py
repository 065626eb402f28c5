"""Parameters: their declared types, and the values of one run after overrides."""

import math
from collections.abc import Iterator, Mapping

from trainwright.core.errors import DeniedError, SpecError
from trainwright.core.scalar import Plain, parse_scalar
from trainwright.spec.document import Document, ParamSpec, ParamType
from trainwright.spec.findings import WrongValueError, nearest, shape, show, suggest

_BOOL_WORDS = {
    **dict.fromkeys(("true", "yes", "on"), True),
    **dict.fromkeys(("false", "no", "off"), False),
}
_EXAMPLES = {
    ParamType.FLOAT: "0.5 or 1e-4",
    ParamType.INT: "3",
    ParamType.BOOL: "true or false",
    ParamType.STR: "text",
    ParamType.LIST: "[1, 2]",
    ParamType.MAP: "{a: 1}",
}


def resolve(document: Document, overrides: Mapping[str, "str | Plain"]) -> dict[str, Plain]:
    """Return every declared parameter with its final value, by name in sorted order.

    Args:
        document: declares the parameters.
        overrides: name, or dotted path into a mapping parameter, to a value. Text is read by the one typing rule and
            then taken as the declared type; other values are taken as they are. Whole parameters are replaced first,
            then parts of them, each in the order of their names.

    Raises:
        SpecError: an unknown name, a value of the wrong type, or a parameter without a value.
        DeniedError: a value outside the declared range or choices.
    """
    declared = document.spec.params
    values = {name: _copy(spec.default) for name, spec in declared.items()}
    for key in sorted(overrides, key=lambda k: (k.count("."), k)):
        _override(declared, values, key, overrides[key])
    missing = [name for name in sorted(values) if values[name] is None]
    if missing:
        raise SpecError(
            "TW1033",
            f"no value for {', '.join(missing)}",
            where=document.where(f"params.{missing[0]}"),
            why="a parameter without a default needs one for each run",
            remedy="add " + " ".join(f"-p {name}=…" for name in missing),
        )
    for name in sorted(declared):
        obstacle = outside(name, declared[name], values[name])
        if obstacle:
            key = "range" if declared[name].range else "choices"
            raise DeniedError(
                "TW3101",
                obstacle[0],
                where=document.where(f"params.{name}.{key}"),
                why=f"the pipeline allows only values within its {key}:",
                remedy=f"{obstacle[1]}, or change {key}: there",
            )
    return dict(sorted(values.items()))


def typed(value: Plain, kind: ParamType, *, source: str | None = None) -> Plain:
    """Return ``value`` as the declared type.

    Args:
        value: as the typing rule read it.
        kind: declared.
        source: the text it was read from; None when there was none, or it was quoted.

    Raises:
        WrongValueError: it has another type, or is not finite.
    """
    taken: Plain = None
    match kind:
        case ParamType.STR:
            taken = value if isinstance(value, str) else source
        case ParamType.BOOL:
            word = value.lower() if isinstance(value, str) else ""
            taken = value if isinstance(value, bool) else _BOOL_WORDS.get(word)
        case ParamType.INT:
            taken = value if isinstance(value, int) and not isinstance(value, bool) else None
        case ParamType.FLOAT:
            taken = _number(value)
        case ParamType.LIST:
            taken = value if isinstance(value, list) else None
        case ParamType.MAP:
            taken = value if isinstance(value, dict) else None
    if taken is None:
        example = _EXAMPLES[kind]
        remedy = "write it in quotes" if kind is ParamType.STR else f"write it as {example}"
        if kind is ParamType.INT and isinstance(value, float):
            remedy += ", or declare type: float"
        raise WrongValueError("TW1032", f"{show(value)} is {shape(value)}, not {kind.value}", remedy=remedy)
    refuse_unfinite(taken)
    return taken


def type_of(value: Plain) -> ParamType:
    """Return the type that a default stands for.

    Raises:
        WrongValueError: there is no value.
    """
    match value:
        case bool():
            return ParamType.BOOL
        case int():
            return ParamType.INT
        case float():
            return ParamType.FLOAT
        case str():
            return ParamType.STR
        case list():
            return ParamType.LIST
        case dict():
            return ParamType.MAP
        case None:
            remedy = "write a value, or {type: float}"
            raise WrongValueError("TW1030", "the parameter has neither a type nor a default", remedy=remedy)


def refuse_unfinite(value: Plain) -> None:
    """Check a value and everything in it.

    Raises:
        WrongValueError: one is infinite or not a number.
    """
    for inner in _scalars(value):
        if isinstance(inner, float) and not math.isfinite(inner):
            raise WrongValueError(
                "TW1034",
                f"{inner} is not a finite number",
                why="it is equal to nothing and cannot be compared between runs",
                remedy='pass it as text: declare type: str and write it in quotes, as in "inf"',
            )


def outside(name: str, spec: ParamSpec, value: Plain) -> tuple[str, str] | None:
    """Return why a value is not allowed and what to choose instead; None when it is allowed."""
    if spec.range and isinstance(value, int | float):
        low, high = spec.range
        if not low <= value <= high:
            return f"{name} = {show(value)} is outside {low} … {high}", f"choose a value from {low} to {high}"
    if spec.choices and value not in spec.choices:
        listed = ", ".join(map(show, spec.choices))
        return f"{name} = {show(value)} is not one of {listed}", f"choose one of {listed}"
    return None


def _override(declared: Mapping[str, ParamSpec], values: dict[str, Plain], key: str, given: "str | Plain") -> None:
    name, *path = key.split(".")
    if name not in declared:
        listed = suggest(name, declared, "declared") or "the pipeline declares none"
        raise SpecError("TW1031", f"unknown parameter {name!r}", where=f"-p {key}", remedy=listed)
    try:
        if not path:
            values[name] = _from_override(given, declared[name].type)
            return
        here = values[name]
        for depth, part in enumerate(path):
            here = _enter(here, part, ".".join([name, *path[:depth]]))
            if depth == len(path) - 1:
                old = here[part]
                kind = type_of(old) if old is not None else None
                here[part] = _from_override(given, kind)
            else:
                here = here[part]
    except WrongValueError as wrong:
        raise SpecError(
            wrong.code, f"{key}: {wrong.message}", where=f"-p {key}", why=wrong.why, remedy=wrong.remedy
        ) from wrong


def _enter(here: Plain, part: str, path: str) -> dict[str, Plain]:
    """Return ``here`` as a mapping that has the key ``part``."""
    if not isinstance(here, dict):
        raise WrongValueError("TW1031", f"{path} is {shape(here)} and has no {part!r}", remedy=f"replace {path} whole")
    if part not in here:
        near = nearest(part, here)
        known = f"did you mean {path}.{near}?" if near else f"{path} has: {', '.join(sorted(here)) or 'nothing'}"
        raise WrongValueError("TW1031", f"{path} has no {part!r}", remedy=known)
    return here


def _from_override(given: "str | Plain", kind: ParamType | None) -> Plain:
    if not isinstance(given, str):
        return typed(given, kind) if kind else given
    if kind is ParamType.STR:
        return given
    if kind in {ParamType.LIST, ParamType.MAP} or (kind is None and given[:1] in {"[", "{"}):
        value = _flow(given)
        refuse_unfinite(value)
        return typed(value, kind) if kind else value
    try:
        scalar = parse_scalar(given)
    except ValueError as error:
        raise WrongValueError("TW1032", f"a number of {len(given)} digits is too long") from error
    return typed(scalar, kind, source=given) if kind else scalar


def _flow(text: str) -> Plain:
    from trainwright.spec.reader import read_value  # noqa: PLC0415 - the parser is needed for lists and maps only

    try:
        return read_value(text)
    except SpecError as error:
        raise WrongValueError("TW1032", error.problem.message, remedy="write [1, 2] or {a: 1}") from error


def _scalars(value: Plain) -> Iterator[Plain]:
    if isinstance(value, list):
        for item in value:
            yield from _scalars(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _scalars(item)
    else:
        yield value


def _number(value: Plain) -> Plain:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _copy(value: Plain) -> Plain:
    if isinstance(value, list):
        return [_copy(item) for item in value]
    if isinstance(value, dict):
        return {key: _copy(item) for key, item in value.items()}
    return value
