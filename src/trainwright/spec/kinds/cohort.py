"""``kind: Cohort``: queues that lend to one another what they do not use."""

from typing import Annotated

from pydantic import Field, PlainValidator, WithJsonSchema

from trainwright.core.queue import Cohort
from trainwright.spec.kinds.amounts import amounts
from trainwright.spec.kinds.kind import Kind, SpecModel


class CohortModel(SpecModel):
    """Queues that lend to one another what they do not use."""

    extra: Annotated[
        dict[str, int], PlainValidator(amounts), WithJsonSchema({"type": "object", "additionalProperties": True})
    ] = Field(default_factory=dict)


def _value(name: str, model: CohortModel) -> Cohort:
    return Cohort(name, dict(sorted(model.extra.items())))


KIND = Kind(
    "Cohort", "queues that lend to one another, and what they have beside their guarantees", CohortModel, _value
)
