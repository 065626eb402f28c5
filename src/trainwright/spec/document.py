"""What a pipeline file asks for, as values; importing this module costs next to nothing.

Every value here is one that ``spec.load`` has checked: names, amounts, checks and references are good.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from trainwright.core.artifact import ArtifactKind, Signature
from trainwright.core.cache import CachePolicy
from trainwright.core.environment import AskedEnvironment
from trainwright.core.errors import Position
from trainwright.core.job import Retry
from trainwright.core.join import Join
from trainwright.core.reproduction import Tolerance
from trainwright.core.resources import Resources
from trainwright.core.scalar import Plain
from trainwright.core.scheduling import Gang, Scheduling
from trainwright.core.stage import Stage
from trainwright.core.trigger import TriggerSpec

API_VERSION = "trainwright/v1"

MOST_MEMBERS = 10_000
"""Of one step that stands for several."""


class ParamType(StrEnum):
    """The declared type of a parameter."""

    FLOAT = "float"
    INT = "int"
    BOOL = "bool"
    STR = "str"
    LIST = "list"
    MAP = "map"


@dataclass(frozen=True, slots=True)
class ParamSpec:
    """A declared parameter.

    Attributes:
        default: None = a value must be given for each run.
        range: lowest and highest value allowed; empty = any.
        choices: the only values allowed; empty = any.
        scale: ``linear`` or ``log``, how a search walks the range.
    """

    type: ParamType
    default: Plain = None
    range: tuple[int | float, ...] = ()
    choices: tuple[Plain, ...] = ()
    scale: str = "linear"
    help: str = ""


@dataclass(frozen=True, slots=True)
class RegisterSpec:
    """The ``with:`` of a register step.

    Attributes:
        model: ``step.output``.
        name: in the registry.
        alias: moved to the new version; empty = none.
        signature: what the model takes and gives; None when the pipeline does not say.
        card: output of the step that makes the model, with its author's text; empty = its output ``card``, if any.
    """

    model: str
    name: str
    alias: str = ""
    signature: Signature | None = None
    card: str = ""


@dataclass(frozen=True, slots=True)
class FanOut:
    """``for_each:`` or ``matrix:`` of a step.

    Attributes:
        items: written out; None when they are elsewhere, or a matrix.
        over: ``params.NAME`` or ``step.output`` that holds the list; empty otherwise.
        matrix: name → its values, or ``params.NAME`` that holds them.
    """

    items: tuple[Plain, ...] | None = None
    over: str = ""
    matrix: Mapping[str, tuple[Plain, ...] | str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LoopSpec:
    """``loop:`` of a step: rounds one after another until a condition holds."""

    max_rounds: int
    until: str


@dataclass(frozen=True, slots=True)
class StepSpec:
    """One step as written.

    Attributes:
        run: shell script; empty when ``argv``, ``call`` or ``register`` is used.
        argv: arguments of a command without a shell.
        call: ``package.module:function`` to call; empty for anything else.
        register: what a ``uses: register`` step registers.
        depends_on: sorted names of steps that come before.
        checks: conditions of the author, in the order written.
        timeout_s: seconds; None = for ever.
        env: variable → text, in which references stand.
        uses: pipeline file that the step stands for; empty for any other step.
        arguments: ``with:`` of such a step, or of a call: name → literal, or text that is a reference without braces.
        parallel: members at one time; 0 = no limit of its own.
        tolerate: members that may fail.
        join: what it wants of the steps before it.
        when: conditions of the author, all of which must hold.
        on_fail: what is run when the step has failed.
        warm: modules that an interpreter may have imported ahead of the function, sorted.
        skip_code: exit code that means "nothing to do"; None = there is none.
        environment: None = that of the pipeline.
        scheduling: what it asks beside its pipeline.
        gang: its replicas, GPU models and isolation.
    """

    stage: Stage | None = None
    run: str = ""
    argv: tuple[str, ...] = ()
    call: str = ""
    register: RegisterSpec | None = None
    out: Mapping[str, ArtifactKind] = field(default_factory=dict)
    depends_on: tuple[str, ...] = ()
    resources: Resources = field(default_factory=Resources)
    checks: tuple[str, ...] = ()
    baseline_required: bool = False
    retry: Retry = field(default_factory=Retry)
    timeout_s: float | None = None
    cache: CachePolicy = field(default_factory=CachePolicy)
    env: Mapping[str, str] = field(default_factory=dict)
    help: str = ""
    uses: str = ""
    arguments: Mapping[str, Plain] = field(default_factory=dict)
    fan_out: FanOut | None = None
    loop: LoopSpec | None = None
    parallel: int = 0
    tolerate: int = 0
    join: Join = Join.ALL_SUCCESS
    when: tuple[str, ...] = ()
    on_fail: "StepSpec | None" = None
    skip_code: int | None = None
    warm: tuple[str, ...] = ()
    environment: AskedEnvironment | None = None
    scheduling: Scheduling = field(default_factory=Scheduling)
    gang: Gang = field(default_factory=Gang)


@dataclass(frozen=True, slots=True)
class PipelineSpec:
    """A pipeline as written; the order of its mappings means nothing.

    Attributes:
        outputs: what it gives as a sub-pipeline: name → ``step.output``.
        parallel: steps of a run at one time; 0 = no limit of its own.
        triggers: in the order written; no plan depends on them.
        environment: of steps that say none; None = that of the file that uses this one, or inherited.
        tolerance: ``step.metric`` or ``metric`` → how far it may be off when the run is made again.
        scheduling: of all its steps.
    """

    pipeline: str
    steps: Mapping[str, StepSpec]
    api_version: str = API_VERSION
    description: str = ""
    standard: bool = False
    params: Mapping[str, ParamSpec] = field(default_factory=dict)
    data: Mapping[str, str] = field(default_factory=dict)
    outputs: Mapping[str, str] = field(default_factory=dict)
    parallel: int = 0
    triggers: tuple[TriggerSpec, ...] = ()
    environment: AskedEnvironment | None = None
    tolerance: Mapping[str, Tolerance] = field(default_factory=dict)
    scheduling: Scheduling = field(default_factory=Scheduling)


@dataclass(frozen=True, slots=True)
class Document:
    """A checked pipeline file.

    Attributes:
        positions: where each value stands, by dotted path: ``steps.train.run``, ``steps.train.check.0``.
        file: name as the person typed it.
        warnings: sentences with line numbers, in the order of the file.
        subs: pipeline files that steps stand for, by what ``uses:`` says.
    """

    spec: PipelineSpec
    positions: Mapping[str, Position]
    file: str
    warnings: tuple[str, ...] = ()
    subs: Mapping[str, "Document"] = field(default_factory=dict)

    def where(self, path: str) -> Position:
        """Return where ``path`` stands, or the nearest thing around it that has a place."""
        while path and path not in self.positions:
            path = path.rpartition(".")[0]
        return self.positions.get(path, Position(self.file, 1, 1))
