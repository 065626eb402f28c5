"""A checked document as one text and back, so that a file that has not changed need not be checked again."""

import json
from typing import Any

from trainwright.core.codec import canonical_json, from_json
from trainwright.core.errors import Position
from trainwright.spec.document import Document, PipelineSpec


def to_text(document: Document) -> str:
    """Return the text of a document; empty when that text would not bring back the very same."""
    places = {path: (place.line, place.column) for path, place in document.positions.items()}
    text = canonical_json(
        {"file": document.file, "places": places, "spec": document.spec, "warnings": document.warnings}
    )
    again = from_text(text)
    exact = again == document and canonical_json(again) == canonical_json(document)  # 1, 1.0 and true are equal
    return text if exact else ""


def from_text(text: str) -> Document | None:
    """Return the document behind a text of :func:`to_text`; None when it is not one."""
    try:
        found: Any = json.loads(text)
        file = str(found["file"])
        return Document(
            from_json(PipelineSpec, found["spec"]),
            {path: Position(file, line, column) for path, (line, column) in found["places"].items()},
            file,
            tuple(found["warnings"]),
        )
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
