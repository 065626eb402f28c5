"""The plan: what we intend to do, as one value with a digest. Same input, same bytes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from trainwright.core.artifact import ArtifactKind, PinnedData
from trainwright.core.codec import digest_of
from trainwright.core.ids import Digest, StepName
from trainwright.core.job import Command, Retry, Template
from trainwright.core.resources import Resources
from trainwright.core.scalar import Plain
from trainwright.core.stage import Stage


@dataclass(frozen=True, slots=True)
class Check:
    """A condition that a step's results must meet.

    Attributes:
        default: whether the stage brought it, not the author.
    """

    expression: str
    default: bool = False


@dataclass(frozen=True, slots=True)
class PlannedInput:
    """What a step reads.

    Attributes:
        name: ``prep.table`` or ``data.raw``.
        step: that makes it; None for pinned data.
        output: its name there; the data's name for pinned data.
    """

    name: str
    step: StepName | None
    output: str
    kind: ArtifactKind


@dataclass(frozen=True, slots=True)
class Registration:
    """What a ``uses: register`` step puts into the registry.

    Attributes:
        source: the input that is the model.
        model: name in the registry.
        alias: moved to the new version; empty = none.
        judges: steps before it that read the model and have checks of their author's.
        metrics_from: steps whose final metrics describe the model: its maker, then its judges.
    """

    source: PlannedInput
    model: str
    alias: str
    judges: tuple[StepName, ...]
    metrics_from: tuple[StepName, ...]


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """One node of the graph, resolved.

    Attributes:
        command: None for a registration.
        needs: steps that must have succeeded, sorted.
        timeout_s: seconds; None = for ever.
        baseline_model: whose production version ``production.…`` means; empty when no check asks.
        baseline_required: whether a check with ``production.…`` fails before there is one.
    """

    name: StepName
    stage: Stage | None = None
    command: Command | None = None
    registration: Registration | None = None
    inputs: tuple[PlannedInput, ...] = ()
    outputs: Mapping[str, ArtifactKind] = field(default_factory=dict)
    needs: tuple[StepName, ...] = ()
    resources: Resources = field(default_factory=Resources)
    checks: tuple[Check, ...] = ()
    retry: Retry = field(default_factory=Retry)
    timeout_s: float | None = None
    env: Mapping[str, Template] = field(default_factory=dict)
    baseline_model: str = ""
    baseline_required: bool = False


@dataclass(frozen=True)  # without slots: the index below is made once and kept
class Plan:
    """A compiled pipeline.

    Attributes:
        api_version: of the language it was written in.
        params: declared parameters with their final values, by name.
        data: pinned, by name.
        steps: every step after all it needs; ties by name.
    """

    api_version: str
    pipeline: str
    standard: bool
    params: Mapping[str, Plain]
    data: tuple[PinnedData, ...]
    steps: tuple[PlannedStep, ...]

    @property
    def digest(self) -> Digest:
        """Return ``sha256:…`` of its canonical JSON."""
        return Digest(digest_of(self))

    @cached_property
    def positions(self) -> Mapping[StepName, int]:
        """Return each step's place in ``steps``."""
        return {step.name: place for place, step in enumerate(self.steps)}

    def step(self, name: StepName) -> PlannedStep:
        """Return the step of that name."""
        return self.steps[self.positions[name]]
