"""Releasing a version to a target, and going back: a row first, then the act, then its end.

Killed at any line, a release stays pending; the next one of the same version repeats it under the same id, any other
ends it as failed and goes on from what the target is known to serve. Whoever calls holds the target's lock, so a
pending row is never somebody else's at work.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from trainwright.core.codec import to_json
from trainwright.core.errors import BackendError, DeniedError, NotFoundError, SpecError, TrainwrightError
from trainwright.core.governance import ReleaseTarget
from trainwright.core.release import Release, ReleaseState, before, serving
from trainwright.core.scalar import Plain
from trainwright.ports.release import ReleaseFile, ReleaseOrder, ReleasePlugin
from trainwright.service.context import Context
from trainwright.service.models import find_in
from trainwright.service.nearest import did_you_mean
from trainwright.store import documents, journal, registry, releases, runs
from trainwright.store.database import Rows

LOG = logging.getLogger(__name__)

Plugins = Mapping[str, ReleasePlugin]


@dataclass(frozen=True, slots=True)
class Listed:
    """A release with what it means now.

    Attributes:
        serves: whether it is what its target serves.
    """

    release: Release
    serves: bool


def completing(plugins: Plugins) -> Callable[[str, Mapping[str, Plain], Path], Mapping[str, Plain]]:
    """Return what completes the value of a ``ReleaseTarget``: its plugin looks at ``with:``."""

    def complete(_: str, value: Mapping[str, Plain], folder: Path) -> Mapping[str, Plain]:
        settings = value["settings"]
        plugin = _plugin(plugins, str(value["type"]))
        return {**value, "settings": dict(plugin.check(settings if isinstance(settings, dict) else {}, folder))}

    return complete


def target_named(context: Context, name: str) -> ReleaseTarget:
    """Return a target.

    Raises:
        NotFoundError: there is none of that name.
    """
    with context.database.reading() as rows:
        return _target(rows, context, name)


def release(context: Context, plugins: Plugins, address: str, target: str, reason: str) -> Release:
    """Make a version what the target serves.

    Args:
        context: of the project; its actor is who asks.
        plugins: type → plugin.
        address: of the version.
        target: name of its document.
        reason: kept; may be empty.

    Raises:
        NotFoundError: no such version or target.
        SpecError: no plugin has the target's type.
        DeniedError: the target wants an alias that does not point at the version.
        BackendError: the target did not take it; the release is on record as failed.
    """
    with context.database.writing() as rows:
        place = _target(rows, context, target)
        plugin = _plugin(plugins, place.type)
        version, alias = find_in(rows, context, address)
        _refuse_unaliased(rows, context, place, version.name, version.version)
        begun = _begun(rows, context, target, lambda r: (r.model, r.version) == (version.name, version.version))
        asked = begun or Release(
            target=target,
            number=releases.next_number(rows, context.project, target),
            model=version.name,
            version=version.version,
            digest=version.content.digest,
            asked=f"{version.name}@{alias}" if alias else version.address,
            state=ReleaseState.PENDING,
            rolls_back=None,
            reason=reason,
            place="",
            error="",
            asked_at=context.clock.now(),
            asked_by=context.actor,
        )
        if begun is None:
            _note(rows, context, asked)
    return _carry_out(context, plugin, place, asked)


def roll_back(context: Context, plugins: Plugins, target: str, model: str, reason: str) -> Release:
    """Make the target serve the version that it served before; an unfinished release is ended.

    Args:
        context: of the project.
        plugins: type → plugin.
        target: name of its document.
        model: which of its models; may be empty when it has only one.
        reason: kept; may be empty.

    Raises:
        NotFoundError: no such target, or there is nothing to go back to.
        SpecError: the target has several models and none is named.
        BackendError: the target did not take it; that is on record.
    """
    with context.database.writing() as rows:
        place = _target(rows, context, target)
        plugin = _plugin(plugins, place.type)
        known = releases.of_target(rows, context.project, target)
        model = model.removeprefix("models/") or _only_model(known, target)
        unfinished = [r for r in known if r.model == model and r.state is ReleaseState.PENDING]
        begun = _begun(rows, context, target, lambda r: r.model == model and r.rolls_back is not None)
        if begun is None:
            asked = _way_back(context, rows, known, target, model, unfinished)
            asked = replace(asked, reason=reason or "rolled back")
            _note(rows, context, asked)
        else:
            asked = begun
    return _carry_out(context, plugin, place, asked)


def listed(context: Context, target: str | None = None) -> list[Listed]:
    """Return the releases to one target or to all, newest first within each."""
    with context.database.reading() as rows:
        if target:
            _target(rows, context, target)
        found = releases.of_target(rows, context.project, target)
    result: list[Listed] = []
    for name in sorted({r.target for r in found}):
        mine = [r for r in found if r.target == name]
        now = {r.number for r in serving(mine).values()}
        result += [Listed(r, r.number in now) for r in reversed(mine)]
    return result


def _way_back(
    context: Context, rows: Rows, known: Sequence[Release], target: str, model: str, unfinished: Sequence[Release]
) -> Release:
    """Return the release that goes back: from an unfinished one to what served before it, else one version back."""
    mine = list(known)
    now = serving(mine).get(model)
    back_to = now if unfinished else before(mine, model)
    taken = unfinished[-1] if unfinished else now
    if back_to is None or taken is None:
        raise NotFoundError(
            "TW4702",
            f"{target} has no earlier release of {model} to go back to",
            remedy=f"see: tw release ls {target}",
        )
    return replace(
        back_to,
        number=releases.next_number(rows, context.project, target),
        state=ReleaseState.PENDING,
        rolls_back=taken.number,
        place="",
        error="",
        asked_at=context.clock.now(),
        asked_by=context.actor,
        ended_at=None,
    )


def _begun(rows: Rows, context: Context, target: str, same: Callable[[Release], bool]) -> Release | None:
    """Return the pending release that is to be repeated, and end every other one: its process has died."""
    pending = [r for r in releases.of_target(rows, context.project, target) if r.state is ReleaseState.PENDING]
    again = next((r for r in pending if same(r)), None)
    for left in pending:
        if left is not again:
            ended = replace(left, state=ReleaseState.FAILED, error="interrupted", ended_at=context.clock.now())
            releases.end(rows, context.project, ended)
    return again


def _note(rows: Rows, context: Context, asked: Release) -> None:
    releases.insert(rows, context.project, asked)
    journal.add_audit(
        rows, context.project, asked.asked_at, context.actor, "model.release-asked", asked.version_address,
        details={"release": asked.id, "rolls_back": asked.rolls_back, "reason": asked.reason},
    )  # fmt: skip


def _carry_out(context: Context, plugin: ReleasePlugin, target: ReleaseTarget, asked: Release) -> Release:
    order = _order(context, target, asked)
    try:
        place = plugin.release(order, lambda path: context.content.export(asked.digest, path))
    except TrainwrightError as error:
        _end(context, replace(asked, state=ReleaseState.FAILED, error=error.problem.message))
        raise
    except Exception as error:  # around a plugin anything may come; kept with its traceback
        LOG.exception("a release broke", extra={"release": asked.id})
        _end(context, replace(asked, state=ReleaseState.FAILED, error=f"{type(error).__name__}: {error}"))
        raise BackendError(
            "TW6901",
            f"the release plugin {plugin.type} broke: {type(error).__name__}: {error}",
            where=f"release {asked.id}",
            remedy="look into engine.log of the state folder, and report it to whoever wrote the plugin",
        ) from error
    return _end(context, replace(asked, state=ReleaseState.RELEASED, place=place))


def _end(context: Context, asked: Release) -> Release:
    ended = replace(asked, ended_at=context.clock.now())
    with context.database.writing() as rows:
        releases.end(rows, context.project, ended)
        if ended.state is ReleaseState.RELEASED and ended.rolls_back is not None:
            releases.take_back(rows, context.project, ended.target, ended.rolls_back)
        journal.add_audit(
            rows, context.project, ended.ended_at or ended.asked_at, context.actor, f"model.{ended.state}",
            ended.version_address,
            details={
                "release": ended.id, "place": ended.place, "error": ended.error, "rolls_back": ended.rolls_back,
            },
        )  # fmt: skip
    return ended


def _order(context: Context, target: ReleaseTarget, asked: Release) -> ReleaseOrder:
    with context.database.reading() as rows:
        version = registry.version(rows, context.project, asked.model, asked.version)
        run = runs.run(rows, version.run) if version else None
    facts: dict[str, Plain] = {}
    if version is not None:
        facts = {
            "metrics": to_json(version.metrics),
            "run": version.run,
            "signature": to_json(version.signature),
            "registered_at": to_json(version.registered_at),
            "fingerprint": run.fingerprint if run else None,
        }
    try:
        entries = context.content.entries(asked.digest)
    except TrainwrightError:
        entries = ()  # whoever copies them will say what is wrong
    return ReleaseOrder(
        id=asked.id,
        project=context.project,
        target=target.name,
        settings=target.settings,
        model=asked.model,
        version=asked.version,
        digest=asked.digest,
        alias=asked.asked.partition("@")[2],
        files=tuple(ReleaseFile(*entry) for entry in entries),
        asked_at=asked.asked_at,
        asked_by=asked.asked_by,
        facts=facts,
        rolls_back=asked.rolls_back is not None,
    )


def _target(rows: Rows, context: Context, name: str) -> ReleaseTarget:
    known = {target.name: target for target in documents.release_targets(rows, context.project)}
    if name not in known:
        otherwise = f"known are {', '.join(known)}" if known else "apply one: kind: ReleaseTarget, tw apply -f FILE"
        raise NotFoundError("TW4701", f"there is no release target {name}", remedy=did_you_mean(name, known, otherwise))
    return known[name]


def _plugin(plugins: Plugins, kind: str) -> ReleasePlugin:
    if kind not in plugins:
        known = ", ".join(sorted(plugins)) or "none"
        raise SpecError(
            "TW2903",
            f"no installed plugin releases to the type {kind}",
            why=f"installed are {known}",
            remedy=did_you_mean(kind, plugins, "install the plugin, or write another type:"),
        )
    return plugins[kind]


def _refuse_unaliased(rows: Rows, context: Context, target: ReleaseTarget, model: str, number: int) -> None:
    if not target.require_alias:
        return
    holder = registry.alias_state(rows, context.project, model, target.require_alias)[0]
    if holder != number:
        where = f"{model}@{target.require_alias}"
        raise DeniedError(
            "TW3208",
            f"models/{model}/{number} may not be released to {target.name}: {where} points at"
            f" {'no version' if holder is None else f'version {holder}'}",
            why=f"the target requires the alias {target.require_alias}",
            remedy=f"promote it first: tw model promote {model}/{number} --alias {target.require_alias}",
        )


def _only_model(known: Sequence[Release], target: str) -> str:
    models = sorted({r.model for r in known})
    if not models:
        raise NotFoundError("TW4702", f"nothing was released to {target} yet", remedy="tw release NAME@ALIAS --to it")
    if len(models) > 1:
        raise SpecError("TW2903", f"{target} serves {', '.join(models)}", remedy="name one: --model NAME")
    return models[0]
