"""An environment as a container image: its packages, installed from the lock here, laid over a base that has Python.

The image holds no index and no password, since nothing is downloaded while it is built; the same lock over the same
base gives the same files.
"""

import json
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from trainwright.core.environment import StepEnvironment
from trainwright.core.errors import BackendError
from trainwright.runtime import uv
from trainwright.service.context import Context
from trainwright.service.locking import Locked, find_uv
from trainwright.store import journal

HOME = "/opt/trainwright"
"""In the image."""

_LOCK, _PACKAGES = "requirements.lock", "environment"
_LONGEST_S = 1800


@dataclass(frozen=True, slots=True)
class Engine:
    """What builds.

    Attributes:
        words: program and what stands before ``build``: ``podman --root /var/mine``.
        flags: what stands behind it: ``--network host``.
    """

    words: tuple[str, ...]
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Image:
    """An image that was built.

    Attributes:
        address: ``NAME@sha256:…``, what ``environment: {image: …}`` takes.
        tag: under which the engine has it.
        key: of the environment that it holds.
    """

    address: str
    tag: str
    key: str


def default_base(environment: StepEnvironment) -> str:
    """Return the image that an environment is laid over when nobody says otherwise."""
    return f"docker.io/library/python:{environment.python}-slim"


def containerfile(environment: StepEnvironment, base: str) -> str:
    """Return what the image is built by."""
    place = f"{HOME}/{_PACKAGES}"
    lines = (
        f"# the environment {environment.name} of {environment.asked.words}, by tw env build",
        f"FROM {base}",
        f"COPY {_LOCK} {HOME}/{_LOCK}",
        f"COPY {_PACKAGES} {place}",
        f"ENV PYTHONPATH={place} PATH={place}/bin:$PATH",
        f"LABEL trainwright.environment={environment.key}",
    )
    return "\n".join(lines) + "\n"


def engine_of(said: str, flags: str, environ: Mapping[str, str]) -> Engine:
    """Return the engine that is asked for, or the first there is.

    Args:
        said: words of it; empty = podman, else docker.
        flags: of ``build``.
        environ: of this process.

    Raises:
        BackendError: there is none.
    """
    words = shlex.split(said) or [name for name in ("podman", "docker") if shutil.which(name, path=environ.get("PATH"))]
    words = words if said else words[:1]
    if not words or not shutil.which(words[0], path=environ.get("PATH")):
        message = f"there is no {words[0]}" if words else "there is neither podman nor docker"
        remedy = "install podman; or print what it would build: tw env build FILE --dry-run"
        raise BackendError("TW6602", message, remedy=remedy)
    return Engine(tuple(words), tuple(shlex.split(flags)))


def build(context: Context, locked: Locked, base: str, tag: str, engine: Engine) -> Image:
    """Build the image of an environment; note in the audit what came of it.

    Args:
        context: of the project.
        locked: the environment.
        base: image that has its version of Python.
        tag: for the image.
        engine: that builds.

    Raises:
        SpecError: uv is not installed.
        BackendError: the packages cannot be installed, or the engine fails; with its last words.
    """
    environment = locked.environment
    with tempfile.TemporaryDirectory(prefix="trainwright-", ignore_cleanup_errors=True) as scratch:
        folder = Path(scratch)
        (folder / "Containerfile").write_text(containerfile(environment, base), encoding="utf-8")
        (folder / _LOCK).write_text(locked.text, encoding="utf-8")
        _install(context, locked, folder)
        steady = ("--timestamp", "0") if Path(engine.words[0]).name == "podman" else ()
        words = (*engine.words, "build", *steady, *engine.flags, "--tag", tag, "--file", "Containerfile", ".")
        _run(words, folder, context.environ)
    found = _run((*engine.words, "image", "inspect", tag), Path.cwd(), context.environ)
    image = Image(f"{_name_of(tag)}@{_digest(found)}", tag, environment.key)
    with context.database.writing() as rows:
        journal.add_audit(
            rows, context.project, context.clock.now(), context.actor, "environment.image", f"images/{tag}",
            details={"image": image.address, "key": image.key, "base": base},
        )  # fmt: skip
    return image


def _install(context: Context, locked: Locked, folder: Path) -> None:
    """Install the packages into a folder for the image."""
    target = folder / _PACKAGES
    target.mkdir()
    if not locked.text:
        return
    program = find_uv(context.environ, locked.place)
    words = ["pip", "install", "--no-deps", "--require-hashes", "--link-mode", "copy", "--target", str(target)]
    python = ["--python-version", locked.environment.python]
    _run((program, *words, *python, "--requirements", str(folder / _LOCK)), locked.folder, context.environ)
    for script in (target / "bin").glob("*"):
        text = script.read_bytes()
        first, _, rest = text.partition(b"\n")
        if first.startswith(b"#!") and b"python" in first:  # of this machine
            script.write_bytes(b"#!/usr/bin/env python3\n" + rest)
    (target / ".lock").unlink(missing_ok=True)


def _run(words: Sequence[str], folder: Path, environ: Mapping[str, str]) -> str:
    """Return what a program prints.

    Raises:
        BackendError: it fails, or takes too long.
    """
    name = Path(words[0]).name
    try:
        done = subprocess.run(  # noqa: S603 - what the caller asked for
            words, cwd=folder, env=dict(environ), stdin=subprocess.DEVNULL, capture_output=True, check=False,
            timeout=_LONGEST_S,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BackendError("TW6601", f"{name} cannot build the image: {error}") from error
    if done.returncode:
        said = uv.last_words(done.stderr.decode("utf-8", "replace").splitlines())
        raise BackendError("TW6601", f"{name} cannot build the image", why=said, remedy="see: tw env build --help")
    return done.stdout.decode("utf-8", "replace")


def _name_of(tag: str) -> str:
    """Return the name of an image without its tag; the port of a registry is no tag."""
    head, colon, last = tag.rpartition(":")
    return head if colon and "/" not in last else tag


def _digest(inspected: str) -> str:
    """Return the digest in what ``image inspect`` prints: of the manifest where the engine has one, else its id."""
    facts = json.loads(inspected)[0]
    known = [str(one).rpartition("@")[2] for one in facts.get("RepoDigests") or ()]
    digest = str(facts.get("Digest") or (known[0] if known else facts["Id"]))
    return digest if digest.startswith("sha256:") else f"sha256:{digest}"
