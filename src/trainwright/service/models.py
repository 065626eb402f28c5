"""The registry: finding versions by name, number and alias, now or at an earlier instant."""

from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta

from trainwright.core.artifact import AliasMove, ModelVersion
from trainwright.core.errors import NotFoundError, SpecError
from trainwright.service.context import Context
from trainwright.service.nearest import did_you_mean
from trainwright.store import registry, removal
from trainwright.store.database import Rows

PRODUCTION = "production"
LARGEST = 2**63 - 1

_NAMED = 5  # models in one message


@dataclass(frozen=True, slots=True)
class Held:
    """What an alias pointed at, at some instant.

    Attributes:
        at: the instant that was meant.
        move: by which the alias had come there.
        until: when it moved on; None when it has not.
        moves_that_day: how often it moved on the day that was asked for; 0 when an instant was asked for.
    """

    version: ModelVersion
    at: datetime
    move: AliasMove
    until: datetime | None
    moves_that_day: int = 0


def versions(context: Context, name: str | None = None, limit: int = LARGEST) -> list[ModelVersion]:
    """Return the versions of one model or of all, by name, newest first; at most ``limit``.

    Raises:
        NotFoundError: no model has that name.
    """
    with context.database.reading() as rows:
        found = registry.versions(rows, context.project, name, limit=limit)
        if name is not None and not found:
            raise unknown(rows, context, name)
    return found


def find(context: Context, address: str) -> tuple[ModelVersion, str]:
    """Return a version and the alias it was asked by (empty without one).

    ``digits`` is its newest version; ``digits@candidate``, ``digits/3``; ``models/`` or ``models:/`` may stand before.

    Raises:
        NotFoundError: no such model, version or alias.
        SpecError: the address names both.
    """
    with context.database.reading() as rows:
        return find_in(rows, context, address)


def held_at(context: Context, address: str, when: str) -> Held:
    """Return what ``NAME@alias`` pointed at then.

    Args:
        context: of the project.
        address: with an alias.
        when: an instant with its offset, or a plain date, which means the end of that day in UTC.

    Raises:
        NotFoundError: no such model or alias, it pointed nowhere then, or what it pointed at was removed since.
        SpecError: the address has no alias, or ``when`` is neither a date nor an instant.
    """
    name, _, alias = split_address(address)
    if not alias:
        remedy = f"write NAME@alias, as in {printable(name)}@production"
        raise SpecError("TW2901", f"{printable(address)} names no alias", remedy=remedy)
    begins, at = _instant(when)
    with context.database.reading() as rows:
        if registry.newest(rows, context.project, name) is None:
            raise unknown(rows, context, name)
        moves = registry.history(rows, context.project, name, alias)
        before = [move for move in moves if move.moved_at <= at]
        if not moves or not before or before[-1].after is None:
            first = f"it was first moved at {moves[0].moved_at:%Y-%m-%d %H:%M} UTC" if moves else "it never was moved"
            raise NotFoundError(
                "TW4103", f"{name}@{alias} pointed at no version at {at:%Y-%m-%d %H:%M:%S} UTC", why=first
            )
        move, number = before[-1], before[-1].after
        version = registry.version(rows, context.project, name, number)
        if version is None:
            raise gone(rows, context, name, number)
        later = [m.moved_at for m in moves if m.revision > move.revision]
    moved = sum(begins <= m.moved_at <= at for m in moves) if begins else 0
    return Held(version, at, move, later[0] if later else None, moved)


def history(context: Context, address: str) -> list[AliasMove]:
    """Return every move of ``NAME@alias``, oldest first; without an alias those of all aliases of the model.

    Raises:
        NotFoundError: no such model, or it never had that alias.
        SpecError: the address names a version.
    """
    name, number, alias = split_address(address)
    if number:
        remedy = f"write {name}, or {name}@ALIAS"
        raise SpecError("TW2901", f"{printable(address)} names a version, which has no history", remedy=remedy)
    with context.database.reading() as rows:
        moves = registry.history(rows, context.project, name, alias or None)
        if not moves and registry.newest(rows, context.project, name) is None:
            raise unknown(rows, context, name)
        if alias and not moves:
            have = ", ".join(registry.aliases(rows, context.project, name)) or "none"
            raise NotFoundError("TW4103", f"{name}@{alias} never was moved", remedy=f"the aliases of {name}: {have}")
    return moves


def split_address(address: str) -> tuple[str, str, str]:
    """Return name, number and alias of a model's address, each as written; empty for what it does not say.

    Raises:
        SpecError: it has both a number and an alias.
    """
    text = address.removeprefix("models:/").removeprefix("models/")
    name, at, alias = text.partition("@")
    name, slash, number = name.partition("/")
    if at and slash:
        both = f"{printable(address)} names a version and an alias"
        raise SpecError("TW2105", both, remedy="write NAME/3 or NAME@alias")
    return name, number if slash else "", alias


def find_in(rows: Rows, context: Context, address: str) -> tuple[ModelVersion, str]:
    """Return a version and the alias it was asked by, as ``find``, inside a transaction."""
    name, number, alias = split_address(address)
    newest = registry.newest(rows, context.project, name)
    if newest is None:
        raise unknown(rows, context, name)
    found: ModelVersion | None = newest
    if alias or address.endswith("@"):
        wanted = registry.alias_state(rows, context.project, name, alias)[0]
        found = None if wanted is None else registry.version(rows, context.project, name, wanted)
    elif number or address.endswith("/"):
        wanted = int(number) if number.isascii() and number.isdigit() else 0
        found = registry.version(rows, context.project, name, wanted)
        if found is None and removal.was_removed(rows, context.project, name, wanted):
            raise gone(rows, context, name, wanted)
    if found is None:
        have = ", ".join(registry.aliases(rows, context.project, name)) or "none"
        remedy = f"model {name} has versions up to {newest.version} and aliases: {have}"
        raise NotFoundError("TW4103", f"there is no {printable(address)}", remedy=remedy)
    return found, alias


def unknown(rows: Rows, context: Context, name: str) -> NotFoundError:
    """Return what to raise when no model has that name."""
    known = registry.names(rows, context.project)
    shown = ", ".join(known[:_NAMED]) + (" …" if len(known) > _NAMED else "")
    otherwise = f"known are {shown}" if known else "none is registered yet: run a pipeline with uses: register"
    return NotFoundError("TW4102", f"no model is called {printable(name)}", remedy=did_you_mean(name, known, otherwise))


def printable(text: str) -> str:
    """Return a text that a person typed, with what cannot be seen escaped."""
    return text if text.isprintable() else ascii(text)[1:-1]


def gone(rows: Rows, context: Context, name: str, number: int) -> NotFoundError:
    """Return what to raise when a version was removed."""
    noted = removal.was_removed(rows, context.project, name, number)
    when, who, why = noted or ("", "", "")
    told = f"it was removed at {when[:16]} UTC by {who}" + (f": {why}" if why else "")
    return NotFoundError("TW4103", f"models/{name}/{number} is not there any more", why=told)


def _instant(text: str) -> tuple[datetime | None, datetime]:
    """Return when the day that was asked for begins, and the instant that is meant; None for an instant."""
    try:
        given = datetime.fromisoformat(text)
    except ValueError as error:
        remedy = 'write --at 2026-05-03, or an instant: --at "2026-05-03T14:00+02:00"'
        raise SpecError("TW2305", f"{printable(text)} is neither a date nor an instant", remedy=remedy) from error
    if given.tzinfo is not None:
        return None, given.astimezone(UTC)
    if given.time() == time(0) and ":" not in text:
        begins = given.replace(tzinfo=UTC)
        return begins, begins + timedelta(days=1) - timedelta(microseconds=1)
    raise SpecError(
        "TW2305",
        f"{text} has no offset, so the instant is not known",
        why="people in two places would mean two instants",
        remedy=f"write its offset: --at {text}Z for UTC, --at {text}+02:00",
    )
