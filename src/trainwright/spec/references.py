"""``${{ name.field }}``: the only substitution. Text to pieces.

``$${{`` stands for a literal ``${{``.
"""

import re
import unicodedata
from dataclasses import dataclass

from trainwright.spec.findings import WrongValueError, clip

OPEN = "${{"
_REFERENCE = re.compile(r"\$\{\{(.*?)\}\}", re.DOTALL)
_FIELD = re.compile(r"\s*([^\s.{}]+)\.([^\s.{}]+)\s*")


@dataclass(frozen=True, slots=True)
class Reference:
    """A reference in a text.

    Attributes:
        offset: of its ``$`` in the text, in characters.
        bare: whether it is written without ``${{ }}``, as under ``with:``.
    """

    name: str
    field: str
    offset: int
    bare: bool = False

    def __str__(self) -> str:
        return f"{self.name}.{self.field}" if self.bare else f"${{{{ {self.name}.{self.field} }}}}"


class ReferenceSyntaxError(WrongValueError):
    """A ``${{`` that is not a reference.

    Attributes:
        offset: of its ``$`` in the text, in characters.
    """

    def __init__(self, offset: int, message: str, remedy: str) -> None:
        super().__init__("TW1020", message, why="the only form is ${{ name.field }}", remedy=remedy)
        self.offset = offset


def pieces(text: str) -> tuple[str | Reference, ...]:
    """Split a text into literal parts and references, in order; no literal part is empty.

    Raises:
        ReferenceSyntaxError: a ``${{`` that is not closed or does not hold ``name.field``.
    """
    found: list[str | Reference] = []
    here = 0
    while here < len(text):
        start = text.find(OPEN, here)
        if start < 0:
            found.append(text[here:])
            break
        if start > here and text[start - 1] == "$":
            found.append(text[here : start - 1] + OPEN)
            here = start + len(OPEN)
            continue
        if start > here:
            found.append(text[here:start])
        reference, here = reference_at(text, start)
        found.append(reference)
    return tuple(found)


def reference_at(text: str, start: int) -> tuple[Reference, int]:
    """Return the reference whose ``$`` stands at ``start``, and where the text goes on after it.

    Raises:
        ReferenceSyntaxError: it is not closed or does not hold ``name.field``.
    """
    match = _REFERENCE.match(text, start)
    if match is None:
        raise ReferenceSyntaxError(start, "a ${{ is not closed", "close it with }}, or write $${{ for the three signs")
    inside = _FIELD.fullmatch(match[1])
    if inside is None:
        shown = clip(match[0])
        raise ReferenceSyntaxError(start, f"{shown} is not a reference", "write $${{ for the three signs themselves")
    name, field = (unicodedata.normalize("NFC", part) for part in inside.groups())
    return Reference(name, field, start), match.end()


def references(text: str) -> tuple[Reference, ...]:
    """Return the references of a text in order.

    Raises:
        ReferenceSyntaxError: see ``pieces``.
    """
    return tuple(piece for piece in pieces(text) if isinstance(piece, Reference))
