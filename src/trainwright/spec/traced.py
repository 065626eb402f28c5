"""What a traced Python file says, as JSON, to a checked ``Document``."""

from collections.abc import Mapping
from typing import Any

from trainwright.core.errors import Position, SpecError
from trainwright.spec.document import Document
from trainwright.spec.load import load_tree


def document_of(traced: Mapping[str, Any]) -> Document:
    """Return the pipeline that ``dsl`` has drawn.

    Args:
        traced: ``document``, ``positions`` (dotted path → file, line, column), ``warnings`` and ``file``, as
            ``dsl.trace`` prints them; or only ``problem``.

    Raises:
        SpecError: there is a problem instead, or the document is wrong.
    """
    if "problem" in traced:
        found = traced["problem"]
        raise SpecError(found["code"], found["message"], where=found["where"], why=found["why"], remedy=found["remedy"])
    positions = {path: Position(*place) for path, place in traced["positions"].items()}
    return load_tree(traced["document"], positions, traced["file"], tuple(traced["warnings"]))
