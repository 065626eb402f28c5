"""The plan: what we intend to do, as one value with a digest. Same input, same bytes."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from functools import cached_property

from trainwright.core.artifact import ArtifactKind, PinnedData, Signature
from trainwright.core.cache import CachePolicy
from trainwright.core.codec import digest_of
from trainwright.core.environment import StepEnvironment
from trainwright.core.ids import Digest, StepName
from trainwright.core.job import Command, Part, Retry, Template
from trainwright.core.join import Join
from trainwright.core.reproduction import Tolerance
from trainwright.core.resources import Resources
from trainwright.core.scalar import Plain
from trainwright.core.scheduling import Gang, Scheduling
from trainwright.core.stage import Stage


@dataclass(frozen=True, slots=True)
class Check:
    """A condition that a step's results must meet.

    Attributes:
        default: whether the stage brought it, not the author.
    """

    expression: str
    default: bool = False


class Source(StrEnum):
    """How an input comes from the step that makes it."""

    ONE = "one"  # its output
    ALL = "all"  # the outputs of all members of a group, in order
    PREVIOUS = "previous"  # the output of the round before; none in the first


@dataclass(frozen=True, slots=True)
class PlannedInput:
    """What a step reads.

    Attributes:
        name: ``prep.table`` or ``data.raw``, as the step itself says it.
        step: that makes it, as a path in the plan; None for pinned data.
        output: its name there; the name of the pinned data.
    """

    name: str
    step: StepName | None
    output: str
    kind: ArtifactKind
    source: Source = Source.ONE


@dataclass(frozen=True, slots=True)
class Registration:
    """What a ``uses: register`` step puts into the registry.

    Attributes:
        source: the input that is the model.
        model: name in the registry.
        alias: moved to the new version; empty = none.
        judges: steps before it that read the model and have checks of their author's.
        metrics_from: steps whose final metrics describe the model: its maker, then its judges.
        signature: that the pipeline states; None when it does not.
        card: output of the model's maker with its author's text; empty = the one that is called ``card``, if any.
    """

    source: PlannedInput
    model: str
    alias: str
    judges: tuple[StepName, ...]
    metrics_from: tuple[StepName, ...]
    signature: Signature | None = None
    card: str = ""


class GroupKind(StrEnum):
    """How a step stands for several."""

    EACH = "each"  # one member for each item, side by side
    LOOP = "loop"  # one member after another, until a condition holds
    ONCE = "once"  # the steps of a sub-pipeline


@dataclass(frozen=True, slots=True)
class Group:
    """What a step stands for when it is not one command.

    Attributes:
        body: the one template of each member; for ``once`` the steps of the sub-pipeline, each after all it needs.
        items: of the members, when known at compile time; None for a list that a step makes, and for a loop.
        over: the output that holds the list; None without one.
        outputs: name → step of the body and its output; empty for a single template, whose outputs are its own.
        parallel: members at one time; 0 = as many as there is room for.
        tolerate: members that may fail before the group has failed.
        max_rounds: of a loop.
        until: ends a loop when it holds after a round.
    """

    kind: GroupKind
    body: tuple["PlannedStep", ...]
    items: tuple[Plain, ...] | None = None
    over: PlannedInput | None = None
    outputs: Mapping[str, tuple[StepName, str]] = field(default_factory=dict)
    parallel: int = 0
    tolerate: int = 0
    max_rounds: int = 0
    until: str = ""


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """One node of the graph, resolved.

    Attributes:
        name: path in the plan: ``train`` at the top, ``eval.*`` for the template of each member of ``eval``,
            ``sub.prep`` for a step of the sub-pipeline ``sub``.
        command: None for a registration and for a group.
        needs: steps that must have ended before, as paths, sorted.
        timeout_s: seconds; None = for ever.
        baseline_model: whose production version ``production.…`` means; empty when no check asks.
        baseline_required: whether a check with ``production.…`` fails before there is one.
        join: what it wants of ``needs``.
        when: conditions that must hold, else it is skipped.
        group: what it stands for; None for an ordinary step.
        skip_code: exit code by which the command says that it has nothing to do; None = there is none.
        warm: modules that an interpreter may have imported ahead of its function, sorted.
        params: of its sub-pipeline; None at the top, where the run's are meant.
        bound: parameters of its sub-pipeline that each member has a value of its own for: name → where it is.
        folder: of its pipeline file, relative to the folder of the top one.
        param_names: parameters whose values stand in the command or its variables, sorted.
        cache: whether what was made before may be used again.
        environment: in which its command runs; None = that of whoever starts it.
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
    join: Join = Join.ALL_SUCCESS
    when: tuple[str, ...] = ()
    group: Group | None = None
    skip_code: int | None = None
    warm: tuple[str, ...] = ()
    params: Mapping[str, Plain] | None = None
    bound: Mapping[str, Part] = field(default_factory=dict)
    folder: str = "."
    param_names: tuple[str, ...] = ()
    cache: CachePolicy = field(default_factory=CachePolicy)
    environment: StepEnvironment | None = None


_SELDOM = ("tolerance", "gangs", "scheduling")
"""Parts of a plan that count only when there are any."""


@dataclass(frozen=True)  # without slots: the index below is made once and kept
class Plan:
    """A compiled pipeline.

    Attributes:
        api_version: of the language it was written in.
        params: declared parameters with their final values, by name.
        data: pinned, by name.
        steps: every step after all it needs; ties by name.
        parallel: steps of a run at one time; 0 = as many as there is room for.
        tolerance: ``step.metric`` or ``metric`` → how far it may be off when the run is made again.
        gangs: path → replicas; steps with one plain replica are absent.
        scheduling: path → what it asks of the scheduler; changes nothing that a step makes.
    """

    api_version: str
    pipeline: str
    standard: bool
    params: Mapping[str, Plain]
    data: tuple[PinnedData, ...]
    steps: tuple[PlannedStep, ...]
    parallel: int = 0
    tolerance: Mapping[str, Tolerance] = field(default_factory=dict)
    gangs: Mapping[StepName, Gang] = field(default_factory=dict)
    scheduling: Mapping[StepName, Scheduling] = field(default_factory=dict)

    @property
    def digest(self) -> Digest:
        """Return ``sha256:…`` of its canonical JSON, without what most plans do not have."""
        return self._digest(frozenset())

    @property
    def experiment(self) -> Digest:
        """Return the digest of what decides what comes out: of all but ``scheduling``."""
        return self._digest(frozenset({"scheduling"}))

    def _digest(self, without: frozenset[str]) -> Digest:
        absent = {name for name in _SELDOM if not getattr(self, name)} | without
        return Digest(digest_of({f.name: getattr(self, f.name) for f in fields(self) if f.name not in absent}))

    @cached_property
    def positions(self) -> Mapping[StepName, int]:
        """Return each top step's place in ``steps``."""
        return {step.name: place for place, step in enumerate(self.steps)}

    @cached_property
    def by_path(self) -> Mapping[StepName, PlannedStep]:
        """Return every step, those of groups too, by its path."""
        found: dict[StepName, PlannedStep] = {}
        left = list(self.steps)
        while left:
            step = left.pop()
            found[step.name] = step
            left.extend(step.group.body if step.group else ())
        return found

    @cached_property
    def models(self) -> tuple[str, ...]:
        """Return the models that steps compare with or register, sorted."""
        steps = self.by_path.values()
        compared = {s.baseline_model for s in steps if s.baseline_model}
        return tuple(sorted(compared | {s.registration.model for s in steps if s.registration}))

    @cached_property
    def dependents(self) -> Mapping[StepName, tuple[StepName, ...]]:
        """Return path → the steps that need it."""
        found: dict[StepName, list[StepName]] = {}
        for step in self.by_path.values():
            for need in step.needs:
                found.setdefault(need, []).append(step.name)
        return {path: tuple(sorted(names)) for path, names in found.items()}

    def step(self, name: StepName) -> PlannedStep:
        """Return the step of that name, which may be a member: ``eval.3`` is made from ``eval.*``.

        Raises:
            KeyError: there is none.
        """
        known = self.by_path.get(name)
        return known if known is not None else self.by_path[self.path(name)]

    def position(self, name: StepName) -> int:
        """Return the place in ``steps`` of a step, or of the top step that it lies in."""
        known = self.positions.get(name)
        return self.positions[StepName(name.partition(".")[0])] if known is None else known

    def path(self, name: StepName) -> StepName:
        """Return the path behind the name of a step: ``eval.*`` for ``eval.3``."""
        path = ""
        for part in name.split("."):
            group = self.by_path[StepName(path)].group if path in self.by_path else None
            indexed = group is not None and group.kind is not GroupKind.ONCE and part.isdigit()
            path = f"{path}.{'*' if indexed else part}" if path else part
        return StepName(path)


def within(path: StepName, name: StepName) -> StepName:
    """Return the step that a path means for the step ``name``: ``sub.*.prep`` is ``sub.3.prep`` for ``sub.3.train``."""
    if "*" not in path:
        return path
    here = name.split(".")
    parts = path.split(".")
    return StepName(".".join(here[n] if part == "*" else part for n, part in enumerate(parts)))
