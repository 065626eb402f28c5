"""``kind: PriorityClass``: a name for a priority."""

from typing import Annotated

from pydantic import Field

from trainwright.core.priority import PriorityClass
from trainwright.spec.kinds.kind import Kind, SpecModel


class PriorityClassModel(SpecModel):
    """A name for a priority; a larger value is more important."""

    value: Annotated[int, Field(ge=-1_000_000_000, le=1_000_000_000)]
    description: Annotated[str, Field(max_length=200)] = ""


def _value(name: str, model: PriorityClassModel) -> PriorityClass:
    return PriorityClass(name, model.value, model.description)


KIND = Kind("PriorityClass", "a name for a priority; a larger value is more important", PriorityClassModel, _value)
