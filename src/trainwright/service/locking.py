"""Locks the environments that a plan asks for: here, by whoever submits; they are built where the steps run.

A lock that was made is kept by what it was made from, and used until somebody asks for a newer one: the same files give
the same environment tomorrow, with or without a network.
"""

import re
import subprocess
import sys
import sysconfig
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from trainwright.core.codec import canonical_json
from trainwright.core.environment import AskedEnvironment, EnvironmentKind, StepEnvironment
from trainwright.core.errors import BackendError, Position, SpecError
from trainwright.core.lock import LockedPackage, LockError, key_of, parse_pylock, parse_requirements, text_of
from trainwright.plan.environments import asked_environments, with_environments
from trainwright.plan.plan import Plan
from trainwright.runtime import atomic, uv
from trainwright.service.context import Context
from trainwright.spec.document import Document

FOLDER = "locks"
"""In the state folder: locks by what they were made from."""

_INDEX_SETTINGS = (
    *("UV_INDEX", "UV_INDEX_URL", "UV_DEFAULT_INDEX", "UV_EXTRA_INDEX_URL", "UV_FIND_LINKS", "UV_CONFIG_FILE"),
    *("UV_EXCLUDE_NEWER", "UV_PRERELEASE", "UV_RESOLUTION", "UV_CONSTRAINT", "UV_OVERRIDE", "UV_INDEX_STRATEGY"),
)
"""Variables of uv that decide which packages are found: another value, another lock."""

_BARE = ("--generate-hashes", "--no-header", "--no-annotate", "--no-emit-index-url", "--no-emit-find-links")
_EXPORT = ("export", "--locked", "--no-emit-project", "--no-emit-local", "--no-dev", "--no-header", "--no-annotate")
_INCLUDE = re.compile(r"^\s*(?:-r|--requirement|-c|--constraint)[ =]*(\S+)", re.MULTILINE)
_LONGEST_S = 600
_DEEPEST = 8


@dataclass(frozen=True, slots=True)
class Locked:
    """An environment with its lock.

    Attributes:
        environment: as plans hold it.
        text: of the lock.
        place: where it is asked for.
        known: whether the lock was made before.
        folder: in which uv works for it: there it finds the settings of the project.
    """

    environment: StepEnvironment
    text: str
    place: Position
    known: bool
    folder: Path


@dataclass(frozen=True, slots=True)
class _Python:
    """An interpreter: its version, and how uv is told to take it."""

    version: str
    name: str


def lock_plan(context: Context, document: Document, plan: Plan, folder: Path) -> Plan:
    """Return the plan with its environments locked, and their locks in the content store.

    Raises:
        SpecError: a file is missing or no lock, uv is not installed, or finds no versions that go together.
        BackendError: a lock cannot be stored.
    """
    locked = {asked: one.environment for asked, one in lock_all(context, document, plan, folder).items()}
    return with_environments(plan, locked)


def lock_all(
    context: Context, document: Document, plan: Plan, folder: Path, *, anew: bool = False
) -> dict[AskedEnvironment, Locked]:
    """Lock every environment that a plan asks for.

    Args:
        context: of the project.
        document: of the plan.
        plan: compiled.
        folder: of the top pipeline file.
        anew: whether locks that were made before are made again, with whatever is newest now.

    Raises:
        SpecError, BackendError: see ``lock_plan``.
    """
    refuse_missing(document, plan, folder)
    return {
        asked: _Locker(context, asked, folder, place_of(document, asked, str(step))).lock(anew=anew)
        for asked, step in asked_environments(plan).items()
    }


def refuse_missing(document: Document, plan: Plan, folder: Path) -> None:
    """Let a plan pass whose environments' files are there.

    Raises:
        SpecError: one is not.
    """
    for asked, step in asked_environments(plan).items():
        if not asked.path:
            continue
        path = folder / asked.path
        is_project = asked.kind is EnvironmentKind.PROJECT
        if is_project and path.is_dir() and not (path / "pyproject.toml").is_file():
            path = path / "pyproject.toml"
        elif path.is_dir() if is_project else path.is_file():
            continue
        what = "folder" if is_project and path.name != "pyproject.toml" else "file"
        remedy = "name it relative to the pipeline file"
        where = place_of(document, asked, str(step))
        raise SpecError("TW1082", f"there is no {what} {path}", where=where, remedy=remedy)


def place_of(document: Document, asked: AskedEnvironment, step: str) -> Position:
    """Return where the environment of a step is written: at the step, or at the top of its file or of one above."""
    found, at = document.where(f"environment.{asked.kind}"), document
    path = "steps"
    for part in step.split("."):
        known = at.spec.steps.get(part)
        path = f"steps.{part}" if known is not None else f"{path}.{part}"
        if f"{path}.environment" in at.positions:
            found = at.where(f"{path}.environment.{asked.kind}")
        if known is not None and known.uses:
            at = at.subs[known.uses]
            found = at.where(f"environment.{asked.kind}") if at.spec.environment else found
    return found


class _Locker:
    """Locks one environment."""

    def __init__(self, context: Context, asked: AskedEnvironment, folder: Path, place: Position) -> None:
        self._context, self._asked, self._place = context, asked, place
        self._path = folder / asked.path
        self._home = self._path if asked.kind is EnvironmentKind.PROJECT else self._path.parent

    def lock(self, *, anew: bool) -> Locked:
        asked = self._asked
        if asked.kind is EnvironmentKind.IMAGE:
            return Locked(StepEnvironment(asked), "", self._place, known=True, folder=self._path)
        python = self._python()
        platform = sysconfig.get_platform()
        text, known = self._text(python, platform, anew=anew)
        environment = StepEnvironment(
            asked=asked,
            python=python.version,
            platform=platform,
            lock=self._context.content.put(self._store(text)).digest,
            key=key_of(text, python.version, platform, asked.extras),
            packages=text.count("\n"),
        )
        return Locked(environment, text, self._place, known, self._home)

    def _text(self, python: _Python, platform: str, *, anew: bool) -> tuple[str, bool]:
        """Return the lock, and whether it was there before."""
        if self._asked.kind is EnvironmentKind.LOCKFILE and self._path.name != "uv.lock":
            return text_of(self._read()), True
        kept = self._folder() / f"{self._input(python, platform)}.lock"
        if kept.is_file() and not anew:
            return kept.read_text(encoding="utf-8"), True
        text = text_of(self._made(python))
        atomic.replace(str(kept), text.encode())
        return text, False

    def _read(self) -> tuple[LockedPackage, ...]:
        """Return the packages of a lock file."""
        try:
            text = self._path.read_text(encoding="utf-8")
            if self._path.suffix == ".toml":
                return parse_pylock(tomllib.loads(text))
            return parse_requirements(text)
        except LockError as error:
            raise self._no_lock(error, str(self._path)) from error
        except (OSError, ValueError) as error:  # tomllib's own is a ValueError, and so is what is not UTF-8
            message = f"{self._path} is no lock: {error}"
            raise SpecError("TW1083", message, where=self._place, remedy="make it anew") from error

    def _made(self, python: _Python) -> tuple[LockedPackage, ...]:
        """Return the packages that uv finds."""
        asked, path = self._asked, self._path
        if asked.kind is EnvironmentKind.PROJECT:
            locked = (path / "uv.lock").is_file()
            path = path / ("uv.lock" if locked else "pyproject.toml")
        extras = [word for extra in asked.extras for word in ("--extra", extra)]
        if path.name == "uv.lock":
            words = [*_EXPORT, *extras, "--format", "requirements.txt", "--directory", str(path.parent)]
        else:
            words = ["pip", "compile", str(path), *_BARE, *extras]
        said = self._uv([*words, "--quiet", "--python", python.name], self._home)
        try:
            return parse_requirements(said)
        except LockError as error:
            raise self._no_lock(error, asked.path) from error

    def _python(self) -> _Python:
        """Return the interpreter that is asked for: ours when it is one, else what uv finds on this machine."""
        own = ".".join(map(str, sys.version_info[:3]))
        wanted = self._asked.python
        if not wanted or f"{own}.".startswith(f"{wanted}."):
            return _Python(own, sys.executable)
        try:
            return _Python(self._uv(["python", "find", "--show-version", wanted], self._home).strip(), wanted)
        except SpecError as error:
            if error.problem.code != "TW2212":
                raise
            raise SpecError(
                "TW2213",
                f"there is no Python {wanted} on this machine",
                where=self._place,
                why=error.problem.why,
                remedy=f"uv python install {wanted}",
            ) from error

    def _uv(self, words: Sequence[str], folder: Path) -> str:
        """Return what uv prints."""
        environ = self._context.environ
        program = find_uv(environ, self._place)
        try:
            done = subprocess.run(  # noqa: S603 - words of ours
                [program, *words],
                cwd=folder,
                env={**environ, "NO_COLOR": "1"},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
                timeout=_LONGEST_S,
            )
        except subprocess.TimeoutExpired as error:
            message = f"uv did not lock {self._asked.words} within {_LONGEST_S} s"
            raise SpecError("TW2212", message, where=self._place, remedy="try again") from error
        if done.returncode:
            said = uv.last_words(done.stderr.decode("utf-8", "replace").splitlines())
            remedy = "mend the requirements; without a network only what was locked before can run"
            message = f"uv cannot lock {self._asked.words}"
            raise SpecError("TW2212", message, where=self._place, why=said, remedy=remedy)
        return done.stdout.decode("utf-8", "replace")

    def _input(self, python: _Python, platform: str) -> str:
        """Return what tells apart all that a lock is made from."""
        environ = self._context.environ
        settings = {name: environ[name] for name in _INDEX_SETTINGS if environ.get(name)}
        asked = [str(self._asked.kind), self._asked.extras, python.version, platform]
        return sha256(canonical_json([asked, settings, list(self._files())]).encode()).hexdigest()

    def _files(self) -> Iterator[str]:
        """Yield the texts that a lock is made from."""
        if self._asked.kind is EnvironmentKind.REQUIREMENTS:
            yield from _with_included(self._path, _DEEPEST)
            return
        top = self._path.parent if self._path.name == "uv.lock" else self._path
        for name in ("pyproject.toml", "uv.lock", "uv.toml"):
            path = top / name
            yield path.read_text("utf-8", errors="replace") if path.is_file() else ""

    def _folder(self) -> Path:
        folder = self._context.home / FOLDER
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def _store(self, text: str) -> Path:
        """Return a file with the text, named by it, for the content store."""
        data = text.encode()
        path = self._folder() / f"text-{sha256(data).hexdigest()}.txt"
        try:
            if not path.is_file():
                atomic.create(str(path), data)
        except OSError as error:
            raise BackendError("TW6101", f"a lock cannot be kept: {error.strerror}: {path}") from error
        return path

    def _no_lock(self, error: LockError, name: str) -> SpecError:
        where = f"{name}:{error.line}" if error.line and self._asked.kind is EnvironmentKind.LOCKFILE else self._place
        why = f"asked for at {self._place}" if where is not self._place else ""
        return SpecError("TW1083", str(error), where=where, why=why, remedy=error.remedy)


def find_uv(environ: Mapping[str, str], where: Position | str = "") -> str:
    """Return the path of uv.

    Raises:
        SpecError: it is not installed.
    """
    found = uv.find(environ.get("PATH", ""))
    if not found:
        why = "environments are locked and built with uv"
        remedy = "pip install 'trainwright[env]'"
        raise SpecError("TW2211", "uv is not installed", where=where, why=why, remedy=remedy)
    return found


def _with_included(path: Path, deepest: int) -> Iterator[str]:
    """Yield the text of a requirements file and of those that it includes; what is missing is for uv to tell."""
    try:
        text = path.read_text("utf-8", errors="replace")
    except OSError:
        return
    yield text
    for name in _INCLUDE.findall(text) if deepest else ():
        if "://" not in name:
            yield from _with_included(path.parent / name, deepest - 1)
