"""The six standard stages: what each owes and the gates it brings.

A stage's metadata is what its step logged (``tw.log``, ``tw.params``) and what the platform knows (inputs, outputs).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from trainwright.core.artifact import ArtifactKind, Input, Output
from trainwright.core.scalar import Plain


class Stage(StrEnum):
    """A standard stage of training, in the order of a full pipeline."""

    DATA_PREPARATION = "data_preparation"
    FEATURE_LOAD = "feature_load"
    MODEL_INIT = "model_init"
    TRAINING = "training"
    EVALUATION = "evaluation"
    REGISTRATION = "registration"


@dataclass(frozen=True, slots=True)
class StepFacts:
    """What is known of a finished attempt.

    Attributes:
        metrics: last value of each.
        params: logged by the attempt, over the run's declared ones.
    """

    metrics: Mapping[str, float]
    params: Mapping[str, Plain]
    inputs: tuple[Input, ...]
    outputs: tuple[Output, ...]


@dataclass(frozen=True, slots=True)
class Owed:
    """One piece of mandatory metadata.

    Attributes:
        name: as shown and stored.
        find: returns its value, or None when the step did not give it.
        remedy: what the author adds.
    """

    name: str
    find: Callable[[StepFacts], Plain]
    remedy: str


@dataclass(frozen=True, slots=True)
class StageRule:
    """What a stage owes and which checks come with it.

    Attributes:
        gates: condition texts, judged like the author's own checks.
    """

    owes: tuple[Owed, ...]
    gates: tuple[str, ...] = ()


def _metric(name: str) -> Owed:
    return Owed(name, lambda facts: facts.metrics.get(name), f"log it in the step: tw.log({name}=…)")


def _param(name: str, example: str) -> Owed:
    return Owed(name, lambda facts: facts.params.get(name), f"note it in the step: tw.params({name}={example})")


def _source_digests(facts: StepFacts) -> Plain:
    found = {i.address: str(i.content.digest) for i in facts.inputs if i.kind is ArtifactKind.DATASET}
    return dict(found) or facts.params.get("source_digests")


def _input_of(kind: ArtifactKind) -> Callable[[StepFacts], Plain]:
    def find(facts: StepFacts) -> Plain:
        return next((f"{i.address} {i.content.digest}" for i in facts.inputs if i.kind is kind), None)

    return find


def _output_of(kind: ArtifactKind) -> Callable[[StepFacts], Plain]:
    def find(facts: StepFacts) -> Plain:
        return next((f"{o.address} {o.content.digest}" for o in facts.outputs if o.kind is kind), None)

    return find


def _final_metrics(facts: StepFacts) -> Plain:
    return dict(facts.metrics) or None


_DATA = Owed("data_version", _input_of(ArtifactKind.DATASET), "read a dataset: ${{ data.NAME }} or ${{ step.output }}")
_FINAL = Owed("final_metrics", _final_metrics, "log at least one: tw.log(loss=…)")

RULES: Mapping[Stage, StageRule] = {
    Stage.DATA_PREPARATION: StageRule(
        owes=(
            _metric("rows"),
            Owed(
                "source_digests",
                _source_digests,
                "declare the source under data: and read it with ${{ data.NAME }},"
                " or note it: tw.params(source_digests={…})",
            ),
        ),
        gates=("rows > 0",),
    ),
    Stage.FEATURE_LOAD: StageRule(
        owes=(_metric("rows"), _metric("features"), _DATA),
        gates=("rows > 0", "features > 0"),
    ),
    Stage.MODEL_INIT: StageRule(
        owes=(
            _metric("parameters"),
            _param("seed", "7"),
            Owed("model", _output_of(ArtifactKind.MODEL), "declare it: out: {model: model}"),
        ),
        gates=("parameters > 0",),
    ),
    Stage.TRAINING: StageRule(
        owes=(
            _param("seed", "7"),
            _param("device", '"cpu"'),
            _FINAL,
            Owed("model", _output_of(ArtifactKind.MODEL), "declare it: out: {model: model}"),
        ),
    ),
    Stage.EVALUATION: StageRule(
        owes=(
            Owed("evaluated_model", _input_of(ArtifactKind.MODEL), "read the model: ${{ step.model }}"),
            _DATA,
            _FINAL,
        ),
    ),
    Stage.REGISTRATION: StageRule(owes=()),  # the registration itself records model, version, metrics and gates
}

NUMBERS_ONLY = frozenset({Stage.TRAINING, Stage.EVALUATION})
"""Stages whose every final metric must be a finite number."""


def metadata(stage: Stage, facts: StepFacts) -> tuple[dict[str, Plain], tuple[Owed, ...]]:
    """Return what the step gave and what it still owes, in the order of the rule."""
    found = {owed.name: owed.find(facts) for owed in RULES[stage].owes}
    given: dict[str, Plain] = {name: value for name, value in found.items() if value is not None}
    return given, tuple(owed for owed in RULES[stage].owes if owed.name not in given)
