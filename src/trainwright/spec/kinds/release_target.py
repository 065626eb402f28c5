"""``kind: ReleaseTarget``: a place that models are released to. Its ``with:`` is checked by the plugin of its type."""

from typing import Annotated

from pydantic import BeforeValidator, Field

from trainwright.core.governance import ReleaseTarget
from trainwright.spec.kinds.kind import Kind, SpecModel, mapping, name_of


class ReleaseTargetModel(SpecModel):
    """A place that models are released to."""

    type: str
    require_alias: Annotated[str, name_of("alias")] | None = None
    with_: Annotated[dict[str, object], BeforeValidator(mapping)] = Field(default_factory=dict, alias="with")


def _value(name: str, model: ReleaseTargetModel) -> ReleaseTarget:
    return ReleaseTarget(name, model.type, dict(model.with_), model.require_alias or "")  # type: ignore[arg-type]  # Plain by the reader


KIND = Kind("ReleaseTarget", "a place that models are released to", ReleaseTargetModel, _value)
