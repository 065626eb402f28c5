"""What is stored by content: manifests, datasets and their versions, outputs of attempts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from trainwright.core.ids import AttemptId, Digest, RunId, StepName
from trainwright.core.scalar import Plain


class ArtifactKind(StrEnum):
    """What an output is, as a pipeline declares it under ``out:``.

    ``value`` is one file of JSON, read by steps and by the engine; ``pickle`` is what a function step made and only
    steps of the same project load.
    """

    DATASET = "dataset"
    MODEL = "model"
    FILE = "file"
    VALUE = "value"  # JSON: a file of its own, or value.json in a folder
    PICKLE = "pickle"


@dataclass(frozen=True, slots=True)
class Content:
    """A file or folder in the content store.

    Attributes:
        digest: of its manifest, see ``runtime.content``.
        files: how many files it holds.
        size_bytes: their sum.
    """

    digest: Digest
    files: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class DatasetVersion:
    """One version of a named dataset; equal content is the same version.

    Attributes:
        version: 1, 2, 3 … in the order of adding.
        source: the URI or path it was read from.
    """

    name: str
    version: int
    content: Content
    source: str
    added_at: datetime
    added_by: str

    @property
    def address(self) -> str:
        """Return ``datasets/name@version``."""
        return f"datasets/{self.name}@{self.version}"


@dataclass(frozen=True, slots=True)
class PinnedData:
    """A ``data:`` entry of a pipeline, resolved once at submit.

    Attributes:
        name: as under ``data:``.
        asked: what the document says, such as ``datasets/digits@latest``.
        address: what it became: ``datasets/digits@3``, or the URI itself.
    """

    name: str
    asked: str
    address: str
    content: Content


@dataclass(frozen=True, slots=True)
class Input:
    """What an attempt reads: the name it has in references and where the bytes are.

    Attributes:
        name: ``step.output`` or ``data.name``.
        kind: ``dataset`` for pinned data.
        address: ``runs:/id/step/output`` or the address of pinned data.
    """

    name: str
    kind: ArtifactKind
    content: Content
    address: str


@dataclass(frozen=True, slots=True)
class Output:
    """What an attempt published."""

    attempt: AttemptId
    run: RunId
    step: StepName
    name: str
    kind: ArtifactKind
    content: Content

    @property
    def address(self) -> str:
        """Return ``runs:/run/step/output``."""
        return f"runs:/{self.run}/{self.step}/{self.name}"


@dataclass(frozen=True, slots=True)
class GateResult:
    """What one check said.

    Attributes:
        expression: as written.
        verdict: ``passed``, ``failed``, ``not-a-number``, ``missing``, or ``no-baseline``, which passes: there is
            nothing to compare with.
        values: the operands that were looked up.
        default: whether the stage brought it, not the author.
        baseline: the model version behind ``production.…``, such as ``models/digits/3``; empty without one.
    """

    expression: str
    verdict: str
    values: Mapping[str, Plain] = field(default_factory=dict)
    default: bool = False
    baseline: str = ""

    @property
    def passed(self) -> bool:
        """Tell whether this check lets the step pass."""
        return self.verdict in {"passed", "no-baseline"}


@dataclass(frozen=True, slots=True)
class Signature:
    """What a model takes and gives, by the names and types that its author or its library states.

    Attributes:
        inputs, outputs: name → type, in order; a type may be empty where only the name is known.
        source: who says so: ``step`` (``tw.signature``), ``pipeline`` (``signature:`` of the register step) or
            ``model`` (read off the fitted estimator in the job).
    """

    inputs: Mapping[str, str]
    outputs: Mapping[str, str] = field(default_factory=dict)
    source: str = "step"


@dataclass(frozen=True, slots=True)
class ModelVersion:
    """One version of a registered model.

    Attributes:
        version: 1, 2, 3 … within the name; the number of a version that was removed is not given again.
        metrics: final metrics of the steps that made and judged it.
        gates: every check made on it before registration.
        aliases: names that point here now, sorted.
        signature: None when nobody stated one.
        card: content with its author's text about it; None without one.
    """

    name: str
    version: int
    content: Content
    run: RunId
    step: StepName
    output: str
    metrics: Mapping[str, float]
    gates: tuple[GateResult, ...]
    registered_at: datetime
    registered_by: str
    aliases: tuple[str, ...] = ()
    signature: Signature | None = None
    card: Digest | None = None

    @property
    def address(self) -> str:
        """Return ``models/name/version``."""
        return f"models/{self.name}/{self.version}"


@dataclass(frozen=True, slots=True)
class Evidence:
    """What one rule of a policy said about a version.

    Attributes:
        policy: that has the rule.
        rule: as written, such as ``auc >= production.auc`` or ``from: candidate``.
        verdict: as of a check; ``passed`` and ``no-baseline`` let it through.
        values: what was looked up.
        baseline: the version that was compared with; empty without one.
    """

    policy: str
    rule: str
    verdict: str
    values: Mapping[str, Plain] = field(default_factory=dict)
    baseline: str = ""

    @property
    def passed(self) -> bool:
        """Tell whether this rule lets the version pass."""
        return self.verdict in {"passed", "no-baseline"}


@dataclass(frozen=True, slots=True)
class AliasMove:
    """One step in the history of an alias.

    Attributes:
        revision: 1, 2, 3 … within the alias; what compare-and-set compares.
        before: version it pointed at; None when it was new.
        after: version it points at since; None when it was taken away.
        reason: what the person or rule said.
        how: ``registered``, ``promoted`` or ``rolled-back``; ``moved`` for what older versions wrote.
        evidence: what the policies of the alias said then.
    """

    model: str
    alias: str
    revision: int
    before: int | None
    after: int | None
    reason: str
    moved_at: datetime
    moved_by: str
    how: str = "moved"
    evidence: tuple[Evidence, ...] = ()
