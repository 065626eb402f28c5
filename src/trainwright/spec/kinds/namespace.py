"""``kind: Namespace``: a part of the names, who answers for it, and whether its runs need committed code."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from trainwright.core.governance import Namespace
from trainwright.spec.findings import WrongValueError, show
from trainwright.spec.kinds.kind import Globs, Kind, SpecModel

HEADS = ("datasets/", "models/", "pipelines/")
"""What an address that lies in a namespace begins with."""


def _addresses(globs: list[str]) -> list[str]:
    for place, text in enumerate(globs):
        if not text.startswith(HEADS):
            raise WrongValueError(
                "TW1014",
                f"match: {show(text)} is no address",
                remedy=f"begin with {', '.join(HEADS)}, as in datasets/ads/*",
                at=f".{place}",
            )
    return globs


class NamespaceModel(SpecModel):
    """A part of the names, who answers for it, and whether its runs need committed code."""

    match: Annotated[Globs, AfterValidator(_addresses), Field(min_length=1)]
    team: Annotated[str, Field(max_length=100)] = ""
    code: Literal["clean", "any"] = "any"


def _value(name: str, model: NamespaceModel) -> Namespace:
    return Namespace(name, tuple(model.match), model.team, model.code == "clean")


KIND = Kind("Namespace", "who answers for a part of the names, and what its runs need", NamespaceModel, _value)
