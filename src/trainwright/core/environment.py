"""The Python environment of a step: as its author asks for it, and locked."""

from dataclasses import dataclass
from enum import StrEnum

from trainwright.core.ids import Digest


class EnvironmentKind(StrEnum):
    """What an author names."""

    INHERIT = "inherit"  # the interpreter and packages of whoever starts the step
    REQUIREMENTS = "requirements"  # names of packages, with or without versions
    LOCKFILE = "lockfile"  # versions and hashes
    PROJECT = "project"  # a folder with a pyproject.toml
    IMAGE = "image"  # a container image, by its digest


@dataclass(frozen=True, slots=True)
class AskedEnvironment:
    """An environment as an author writes it.

    Attributes:
        path: of the file or folder, relative to the pipeline file; in a plan, to the top one. Empty for other kinds.
        extras: of a project, sorted.
        python: version such as ``3.11`` or ``3.11.7``; empty = the one of whoever submits.
        image: name of it, without a digest; empty for other kinds.
        image_sha256: its digest, 64 hex digits; not written as ``sha256:…``, which in records means stored content.
    """

    kind: EnvironmentKind = EnvironmentKind.INHERIT
    path: str = ""
    extras: tuple[str, ...] = ()
    python: str = ""
    image: str = ""
    image_sha256: str = ""

    @property
    def words(self) -> str:
        """Return it as a person would say it: ``requirements.txt``, ``reg/name@sha256:1a2b3c4d5e6f``."""
        if self.kind is EnvironmentKind.IMAGE:
            return f"{self.image}@sha256:{self.image_sha256[:12]}"
        return self.path or str(self.kind)


@dataclass(frozen=True, slots=True)
class StepEnvironment:
    """The environment of a step in a plan; everything but ``asked`` is known once it is locked.

    Attributes:
        python: version of the interpreter, such as ``3.11.7``; empty for an image.
        platform: such as ``linux-x86_64``; empty for an image.
        lock: the lock in the content store; None for an image.
        key: 64 hex digits of lock, version, platform and extras: equal key, equal environment; empty before.
        packages: how many the lock has.
    """

    asked: AskedEnvironment
    python: str = ""
    platform: str = ""
    lock: Digest | None = None
    key: str = ""
    packages: int = 0

    @property
    def is_image(self) -> bool:
        """Tell whether it is a container image."""
        return self.asked.kind is EnvironmentKind.IMAGE

    @property
    def name(self) -> str:
        """Return what people see of its key: twelve digits."""
        return (self.asked.image_sha256 if self.is_image else self.key)[:12]
