"""``kind: AliasPolicy``: what a version has to show before an alias may point at it."""

from typing import Annotated, Literal

from pydantic import Field

from trainwright.core.governance import AliasPolicy
from trainwright.spec.findings import WrongValueError
from trainwright.spec.kinds.kind import Conditions, Globs, Kind, SpecModel, name_of


class AliasPolicyModel(SpecModel):
    """What a version has to show before an alias may point at it."""

    models: Globs = Field(default_factory=lambda: ["*"])
    alias: Annotated[str, name_of("alias")]
    require: Conditions = Field(default_factory=list)
    baseline: Literal["required", "optional"] = "optional"
    came_from: Annotated[str, name_of("alias")] | None = Field(None, alias="from")
    checks: Annotated[int, Field(ge=1)] | Conditions | None = None


def _value(name: str, model: AliasPolicyModel) -> AliasPolicy:
    if model.came_from == model.alias:
        remedy = "name the alias that a version has before, such as candidate"
        raise WrongValueError("TW1017", f"from: {model.alias} is the alias itself", remedy=remedy)
    if not (model.require or model.came_from or model.checks):
        remedy = 'add require: ["auc >= 0.9"], from: candidate or checks: 2'
        raise WrongValueError("TW1017", "the policy requires nothing", remedy=remedy)
    named = tuple(model.checks) if isinstance(model.checks, list) else ()
    return AliasPolicy(
        name=name,
        models=tuple(model.models),
        alias=model.alias,
        require=tuple(model.require),
        came_from=model.came_from or "",
        checks=named,
        passed_checks=model.checks if isinstance(model.checks, int) else 1,
        baseline_required=model.baseline == "required",
    )


KIND = Kind("AliasPolicy", "what a version has to show before an alias may point at it", AliasPolicyModel, _value)
