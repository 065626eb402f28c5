"""Environments of this machine, and what of an environment that a run had could be had again."""

import sysconfig
from dataclasses import dataclass
from datetime import UTC, datetime

from trainwright.core.environment import StepEnvironment
from trainwright.core.errors import ConflictError, NotFoundError
from trainwright.core.fingerprint import Environment
from trainwright.core.run import RunView
from trainwright.plan.environments import locked_environments
from trainwright.plan.plan import Plan
from trainwright.runtime import disk, virtualenv
from trainwright.service.capture.environment import RECORDS, capture_environment
from trainwright.service.context import Context

_WORTH_TELLING_S = 0.5
"""Of waiting for an environment that somebody else builds."""


@dataclass(frozen=True, slots=True)
class BuiltEnvironment:
    """An environment on this machine.

    Attributes:
        python, packages: empty and 0 when it is not whole: a build that is under way, or was killed.
        size_bytes: of its files; most are shared with uv's cache.
        own_bytes: what its removal would free.
        used_at: when it was last taken into use.
        leased: whether a running step uses it.
    """

    key: str
    python: str
    packages: int
    size_bytes: int
    own_bytes: int
    used_at: datetime
    leased: bool


@dataclass(frozen=True, slots=True)
class Restorable:
    """Whether the environments of a run can be had again.

    Attributes:
        exact: every step's, from its lock.
        same_here: inherited ones are what is installed here now, so that a run here has them again; True when none is.
        gaps: what cannot be restored, a sentence each; empty when ``exact``.
    """

    exact: bool
    same_here: bool
    gaps: tuple[str, ...]


def built(context: Context) -> list[BuiltEnvironment]:
    """Return the environments that lie on this machine, the last used first."""
    root = str(context.environments)
    found = [_built(root, key) for key in virtualenv.keys(root)]
    return sorted(found, key=lambda one: (-one.used_at.timestamp(), one.key))


def remove(context: Context, name: str) -> BuiltEnvironment:
    """Remove an environment; it is built anew when a step needs it. Return what it was.

    Args:
        context: of any project.
        name: the beginning of its key.

    Raises:
        NotFoundError: no environment begins like this, or several do.
        ConflictError: a running step uses it.
    """
    root = str(context.environments)
    fitting = [key for key in virtualenv.keys(root) if name and key.startswith(name)]
    if len(fitting) != 1:
        message = f"{name} fits {len(fitting)} environments" if fitting else f"there is no environment {name}"
        raise NotFoundError("TW4601", message, remedy="see them: tw env ls")
    was = _built(root, fitting[0])
    if not virtualenv.remove(root, fitting[0]):
        raise ConflictError("TW5611", f"the environment {was.key[:12]} is in use", remedy="wait for the steps: tw ps")
    return was


def restorable(context: Context, environment: Environment) -> Restorable:
    """Tell whether the environments that a fingerprint names can be had again, exactly or as they are here now.

    An inherited one cannot be restored: only its names and versions are known. A lock can, as long as it is stored and
    the index still has its files, which is seen when it is built.
    """
    gaps = []
    same_here = True
    if not environment.locked:
        here = capture_environment(kept=context.home / RECORDS)
        same_here = (here.python, dict(here.packages), here.records) == (
            environment.python, dict(environment.packages), environment.records or here.records,
        )  # fmt: skip
        count = len(environment.packages)
        gaps.append(f"Python {environment.python} with {count} packages was inherited, and no lock holds them")
        if environment.editable:
            gaps.append(f"installed from folders that may have changed: {', '.join(environment.editable)}")
    gaps += [sentence for lock in environment.locks.values() if (sentence := _gap(context, lock))]
    return Restorable(exact=not gaps, same_here=same_here, gaps=tuple(gaps))


def built_for(context: Context, view: RunView, plan: Plan) -> list[str]:
    """Return ``environment STEP: built in 3.2 s`` for each step that had to wait for its environment."""
    if not locked_environments(plan):
        return []
    found = []
    for attempt in view.attempts:
        if plan.step(attempt.step).environment is None:
            continue
        facts = virtualenv.told(str(context.backend.folder(attempt.id)))
        if facts.get("built") or float(facts.get("took_s", 0.0)) >= _WORTH_TELLING_S:
            how = "built" if facts.get("built") else "there, after another step had built it,"
            found.append(f"environment {attempt.step}: {how} in {float(facts['took_s']):.1f} s")
    return found


def _gap(context: Context, lock: StepEnvironment) -> str:
    """Return why an environment cannot be built again here; empty when it can."""
    words = f"the environment of {lock.asked.words} ({lock.name})"
    if lock.is_image:
        return "" if getattr(context.backend, "runs_images", False) else f"{words} is an image; no containers run here"
    if lock.lock is None or not context.content.has(lock.lock):
        return f"the lock of {words.removeprefix('the environment of ')} is not stored any more"
    here = sysconfig.get_platform()
    return "" if lock.platform == here else f"{words} was locked for {lock.platform}, and this is {here}"


def _built(root: str, key: str) -> BuiltEnvironment:
    path = f"{root}/{key}"
    facts = virtualenv.facts_of(path)
    return BuiltEnvironment(
        key=key,
        python=str(facts.get("python", "")),
        packages=int(facts.get("packages", 0)),
        size_bytes=int(facts.get("size_bytes", 0)) or disk.size_of(path),
        own_bytes=virtualenv.own_bytes(path),
        used_at=datetime.fromtimestamp(virtualenv.used_at(root, key), UTC),
        leased=virtualenv.is_leased(root, key),
    )
