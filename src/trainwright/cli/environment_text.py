"""Environments of a run in words."""

from collections.abc import Iterator

from trainwright.core.environment import StepEnvironment
from trainwright.core.fingerprint import Environment

NOT_LOCKED = "inherited, not locked"


def in_short(environment: Environment) -> str:
    """Return the environments of a run as one line: what is locked, and whether all is."""
    locks = ", ".join(f"{lock.asked.words} {lock.name}" for lock in environment.locks.values() if not lock.is_image)
    images = ", ".join(lock.asked.words for lock in environment.locks.values() if lock.is_image)
    known = "; ".join(part for part in (f"locked: {locks}" if locks else "", images) if part)
    if not known:
        return NOT_LOCKED
    return known if environment.locked else f"{known}; other steps: {NOT_LOCKED}"


def at_length(environment: Environment) -> Iterator[str]:
    """Yield every environment of a run, a line each, the inherited one with its packages."""
    for lock in environment.locks.values():
        yield _of_lock(lock)
    if environment.locked:
        return
    packages = environment.packages
    digest = f"  {environment.records[:12]}" if environment.records else ""
    yield f"environment  Python {environment.python}, {len(packages)} packages ({NOT_LOCKED}){digest}"
    if environment.editable:
        yield f"  editable: {' '.join(environment.editable)}"
    yield "  " + " ".join(f"{name}=={version}" for name, version in packages.items())


def _of_lock(lock: StepEnvironment) -> str:
    if lock.is_image:
        return f"environment  {lock.asked.image}@sha256:{lock.asked.image_sha256}"
    extras = f" [{', '.join(lock.asked.extras)}]" if lock.asked.extras else ""
    count = f"{lock.packages} package{'s' if lock.packages != 1 else ''}"
    return (
        f"environment  {lock.asked.words}{extras}: Python {lock.python}, {count} (locked)  {lock.key}  {lock.platform}"
    )
