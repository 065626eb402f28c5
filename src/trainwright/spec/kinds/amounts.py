"""Amounts by resource in platform documents: ``cpu``, ``memory``, ``gpu``, ``gpu:MODEL``."""

import re

from trainwright.core import quantity
from trainwright.spec.findings import WrongValueError, shape, show, suggest

_MODEL = re.compile(r"gpu:[\w.-]{1,100}")
_NAMES = ("cpu", "memory", "gpu", "gpu:MODEL")


def amount(resource: str, value: object, at: str) -> int:
    """Return an amount in the unit of its resource; GPUs may be fractions.

    Raises:
        WrongValueError: it is none, or there is no such resource.
    """
    if resource not in _NAMES[:3] and not _MODEL.fullmatch(resource):
        remedy = suggest(resource, _NAMES, "resources")
        raise WrongValueError("TW1014", f"{show(resource)} is no resource", remedy=remedy, at=at)
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise WrongValueError("TW1016", f"{resource}: is {shape(value)}, not an amount", at=at)
    try:
        if resource == "memory":
            return quantity.memory_bytes(value)
        return quantity.cpu_milli(value)
    except ValueError as error:
        raise WrongValueError("TW1016", str(error).replace("cpu", resource), at=at) from error


def amounts(value: object) -> dict[str, int]:
    """Return a mapping of amounts.

    Raises:
        WrongValueError: it is no mapping, or a part of it is wrong.
    """
    if not isinstance(value, dict):
        raise WrongValueError("TW1013", f"{show(value)} is {shape(value)}, not a mapping of resources")
    return {name: amount(str(name), given, f".{name}") for name, given in value.items()}
