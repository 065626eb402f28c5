"""The portable job: what a backend is handed, fully resolved but for paths that only the machine knows."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from trainwright.core.artifact import ArtifactKind, Input
from trainwright.core.environment import StepEnvironment
from trainwright.core.ids import AttemptId, Digest, ProjectName, RunId, StepName
from trainwright.core.resources import Resources
from trainwright.core.scalar import Plain
from trainwright.core.states import ExitClass
from trainwright.core.workload import Assignment


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a template: literal text, or a reference that the runner turns into a path.

    Attributes:
        text: literal; empty when ``ref`` is set.
        ref: ``input:prep.table``, ``output:model`` or ``checkpoint:path``, which the runner replaces;
            ``each:GROUP:FIELD``, which is replaced when the job of a member is made; empty for literal text.
    """

    text: str = ""
    ref: str = ""


Template: TypeAlias = tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a function.

    Attributes:
        value: itself; None when ``ref`` is set.
        ref: ``input:prep.table``, loaded by its format or as its parameter's annotation asks; ``each:GROUP:FIELD``,
            as in a template; empty for a value.
    """

    value: Plain = None
    ref: str = ""


@dataclass(frozen=True, slots=True)
class Call:
    """A function of the captured code, called by ``runtime.call``; what it returns becomes the outputs.

    Attributes:
        target: ``package.module:function``.
        arguments: parameter → argument.
    """

    target: str
    arguments: Mapping[str, Argument] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Command:
    """What a step executes: a shell script, an argument vector without a shell, or a function.

    Attributes:
        shell: script text in which each reference stands as ``$TW_REF_n``; None for anything else.
        refs: ``TW_REF_n`` → its template; set as environment variables, so that values arrive as data.
        argv: one template an argument; empty for anything else.
        call: None for anything else.
    """

    shell: str | None = None
    refs: Mapping[str, Template] = field(default_factory=dict)
    argv: tuple[Template, ...] = ()
    call: Call | None = None


RETRYABLE = (
    ExitClass.USER_ERROR,
    ExitClass.CRASH,
    ExitClass.KILLED,
    ExitClass.INTERRUPTED,
    ExitClass.TIMEOUT,
    ExitClass.OUTPUT,
    ExitClass.OOM,
)
"""What ``retry: {on: …}`` may name."""


LONGEST_BACKOFF_S = 86_400.0
"""A day: whoever means longer wants a schedule."""


@dataclass(frozen=True, slots=True)
class MemoryGrowth:
    """How much more memory an attempt gets after one that ran out of it.

    Attributes:
        times_milli: thousandths of what that one had: 2000 doubles it.
        most_bytes: never more than this; 0 = no cap.
    """

    times_milli: int
    most_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Retry:
    """How often and how soon a failed attempt is made again.

    Attributes:
        max: further attempts after the first, whatever ended them; 0 = none.
        on: classes that may be repeated.
        backoff_s: seconds before the first repetition; doubled each time.
        backoff_max_s: its cap; at most ``LONGEST_BACKOFF_S``.
        budgets: repetitions after one class, beside ``max``; a class that is absent has no bound of its own.
        memory: what an attempt gets after one that ran out of memory; None = the same again.
    """

    max: int = 0
    on: tuple[ExitClass, ...] = RETRYABLE[:-1]  # the same memory would not suffice the next time either
    backoff_s: float = 1.0
    backoff_max_s: float = 60.0
    budgets: Mapping[ExitClass, int] = field(default_factory=dict)
    memory: MemoryGrowth | None = None


@dataclass(frozen=True, slots=True)
class CodeTree:
    """The code a job runs from.

    Attributes:
        digest: manifest of the whole tree in the content store.
        folder: where in it the command starts, relative, ``.`` for its top.
    """

    digest: Digest
    folder: str


@dataclass(frozen=True, slots=True)
class Collection:
    """The outputs of the members of a group, as one input.

    Attributes:
        kind: of each; values become one JSON list, anything else a folder with an entry a member.
        inputs: names of the inputs it stands for, in order; their last part is the member's number.
    """

    kind: ArtifactKind
    inputs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class JobSpec:
    """One attempt of a step, ready for any backend; its JSON is the runner's ``job.json``.

    Attributes:
        number: 1 for the first attempt of the step.
        token: proves that a result belongs to this submission.
        outputs: promised outputs and their kinds; success needs every one.
        params: the run's declared parameters, for ``tw.params`` to compare with.
        devices: indices of the GPUs given; become ``CUDA_VISIBLE_DEVICES``.
        grace_s: seconds between TERM and KILL.
        collections: input that stands for many → its kind and the names of those inputs, in order.
        timeout_s: seconds the command may take; None = for ever.
        warm: modules that an interpreter may have imported ahead; nothing that the function computes depends on it.
        environment: locked; None = that of whoever starts it.
        places: one a replica, in order of rank, each with the resources stated; empty = one replica with ``devices``.
    """

    attempt: AttemptId
    run: RunId
    project: ProjectName
    pipeline: str
    step: StepName
    number: int
    token: str
    command: Command
    env: Mapping[str, Template]
    inputs: tuple[Input, ...]
    outputs: Mapping[str, ArtifactKind]
    params: Mapping[str, Plain]
    code: CodeTree | None
    resources: Resources
    devices: tuple[int, ...] = ()
    timeout_s: float | None = None
    grace_s: float = 10.0
    collections: Mapping[str, Collection] = field(default_factory=dict)
    warm: tuple[str, ...] = ()
    environment: StepEnvironment | None = None
    places: tuple[Assignment, ...] = ()
