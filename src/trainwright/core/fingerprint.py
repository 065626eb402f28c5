"""What identifies an experiment; its digest is an address: ``tw show fp:3fa9…``."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from trainwright.core.codec import digest_of, to_json
from trainwright.core.environment import StepEnvironment
from trainwright.core.ids import Digest
from trainwright.core.scalar import Plain


@dataclass(frozen=True, slots=True)
class Submodule:
    """A repository inside the repository.

    Attributes:
        commit: that is checked out; of one that is not, the commit that belongs there.
        dirty: whether its files differ from that commit, untracked ones included; the tree holds them as they were.
        absent: whether it was not checked out, so that the tree holds nothing of it.
    """

    commit: str
    dirty: bool = False
    absent: bool = False


@dataclass(frozen=True, slots=True)
class CodeState:
    """The code that runs, as it was at submit.

    Attributes:
        tree: manifest of every file that belongs to it: tracked, modified and untracked ones.
        folder: of the pipeline file inside the tree, relative.
        commit: of the repository; empty outside one or before the first commit.
        branch: empty when detached or outside a repository.
        dirty: whether tracked files differ from the commit.
        modified: their paths, sorted.
        untracked: paths not in the repository yet not ignored, sorted.
        submodules: path → what was there.
        shallow: whether the clone had only the last commits.
        pointers: files of git LFS of which only the pointer was there, sorted.
        dangling: links that lead nowhere, sorted; the tree lacks them.
    """

    tree: Digest
    folder: str
    commit: str = ""
    branch: str = ""
    dirty: bool = False
    modified: tuple[str, ...] = ()
    untracked: tuple[str, ...] = ()
    submodules: Mapping[str, Submodule] = field(default_factory=dict)
    shallow: bool = False
    pointers: tuple[str, ...] = ()
    dangling: tuple[str, ...] = ()


_SELDOM = ("submodules", "shallow", "pointers", "dangling")
"""What most code has nothing of. It counts only where there is some, so that fingerprints made before it was recorded
keep their digests."""


@dataclass(frozen=True, slots=True)
class Environment:
    """The interpreters and packages of the steps.

    Attributes:
        python: version of the inherited one, such as ``3.11.7``; of those in the locks when no step inherits.
        packages: name → version of every inherited distribution; none when no step inherits.
        locked: whether every step runs in a locked environment.
        records: what the inherited distributions consist of, 64 hex digits: other files under the same version give
            another one; empty when no step inherits.
        editable: inherited distributions whose code lies elsewhere and may change under the same version, sorted.
        locks: environments of steps, by name.
    """

    python: str
    packages: Mapping[str, str]
    locked: bool = False
    records: str = ""
    editable: tuple[str, ...] = ()
    locks: Mapping[str, StepEnvironment] = field(default_factory=dict)


_OF_ENVIRONMENT = ("records", "editable", "locks")


@dataclass(frozen=True, slots=True)
class Hardware:
    """The machine.

    Attributes:
        gpus: model names, one a device.
    """

    system: str
    machine: str
    cpu: str
    cores: int
    memory_bytes: int
    gpus: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Everything that has to be equal for a run to be the same experiment.

    Attributes:
        plan: digest of the compiled plan, which holds parameters and pinned data.
        data: name → manifest digest of pinned data.
        seed: the parameter ``seed``; None when the pipeline has none.
        taken_over: of a run that resumes another: each step whose results were taken from there → the attempt that
            made them, as far as it was known at submit.
    """

    plan: Digest
    code: CodeState
    environment: Environment
    data: Mapping[str, Digest]
    params: Mapping[str, Plain]
    seed: int | None
    hardware: Hardware
    taken_over: Mapping[str, str] = field(default_factory=dict)

    @property
    def digest(self) -> Digest:
        """Return ``sha256:…`` of its canonical JSON.

        What was added to fingerprints in time is not in it while it is empty, so that older ones keep their address.
        """
        plain = to_json(self)
        if not self.taken_over:
            del plain["taken_over"]
        for name in _OF_ENVIRONMENT:
            if not plain["environment"][name]:
                del plain["environment"][name]
        for name in _SELDOM:
            if not plain["code"][name]:
                del plain["code"][name]
        return Digest(digest_of(plain))

    @property
    def address(self) -> str:
        """Return the short address: ``fp:`` and twelve digits."""
        return f"fp:{self.digest.removeprefix('sha256:')[:12]}"
