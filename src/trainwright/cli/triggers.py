"""Commands about triggers: what starts runs without a person."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trainwright.cli.pipeline import Json

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from trainwright.app import App
    from trainwright.core.occasion import Trigger, TriggerEvent
    from trainwright.core.trigger import TriggerSpec
    from trainwright.service.context import Context
    from trainwright.service.firing import Outcome
    from trainwright.service.triggers import Arming, Listed

trigger = typer.Typer(help="Triggers: what starts runs without a person.", no_args_is_help=True, rich_markup_mode=None)

Name = Annotated[str, typer.Argument(metavar="TRIGGER", help="PIPELINE/NAME, or PIPELINE when it has one only.")]
Yes = Annotated[bool, typer.Option("-y", "--yes", help="Do not ask.")]


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(trigger, name="trigger")


@trigger.command()
def add(
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="Pipeline files with triggers:.")],
    yes: Yes = False,
    json: Json = False,
) -> int:
    """Arm the triggers of pipeline files, after showing when they come next; tw up watches over them."""
    from trainwright.cli import output
    from trainwright.cli.session import session

    with session() as app:
        armed = arm_files(app, files, yes=yes, command="tw trigger add")
        if armed is None:
            return 1
        if json:
            output.put_json([armed_json(arming) for arming in armed])
        else:
            for arming in armed:
                output.put(f"{arming.trigger.address}  {arming.change}")
        watched_or_said(app)
    return 0


@trigger.command("ls")
def list_triggers(json: Json = False) -> None:
    """List triggers: what they wait for, when they come next, and what became of their last event."""
    from trainwright.cli import output
    from trainwright.cli.session import session
    from trainwright.service.triggers import listed

    with session() as app:
        found = listed(app.context)
        if json:
            output.put_json([_listed_json(one) for one in found])
        elif not found:
            output.say("no triggers yet; write triggers: into a pipeline file, then: tw trigger add FILE")
        else:
            columns = ("trigger", "waits for", "state", "next", "last event", "run")
            output.table(columns, [_row(one) for one in found], one_line=("waits for",))
            for one in found:
                _say_trouble(one)
            watched_or_said(app)


@trigger.command()
def pause(name: Name, json: Json = False) -> None:
    """Let a trigger take no notice; what happens meanwhile starts nothing later."""
    from trainwright.service.triggers import pause as service

    _say_done(name, service, "is paused; what happens from now on starts nothing", json=json)


@trigger.command()
def resume(name: Name, json: Json = False) -> None:
    """Let a paused trigger take notice again, from now on."""
    from trainwright.service.triggers import resume as service

    _say_done(name, service, "is armed from now on", json=json)


@trigger.command("rm")
def remove(name: Name, json: Json = False) -> None:
    """Take a trigger away; its runs stay."""
    from trainwright.service.triggers import remove as service

    _say_done(name, service, "is taken away; the runs it started stay", json=json)


@trigger.command()
def backfill(
    name: Name,
    since: Annotated[str, typer.Option("--from", metavar="TIME", help="First time (2026-03-28, 2026-03-28T02:30).")],
    until: Annotated[
        str, typer.Option("--to", metavar="TIME", help="End, itself not included; now when left out.")
    ] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list what would run.")] = False,
    yes: Yes = False,
    json: Json = False,
) -> int:
    """Run a cron trigger for times that are over: one run for each; those that have a run are skipped."""
    from trainwright.app import ensure_engine
    from trainwright.cli import output
    from trainwright.cli.asking import confirmed
    from trainwright.cli.session import session
    from trainwright.service.documents import read_document
    from trainwright.service.firing import fire
    from trainwright.service.occasions import note_times, times_of

    with session() as app:
        found, times = times_of(app.context, name, since, until)
        todo = [event for event in times if event.run is None]
        if not json:
            for event in times:
                became = f"has run {event.run} already" if event.run else "to run"
                output.put(f"{_local(event.at, found.spec.timezone)}  {event.id}  {became}")
        question = f"start {len(todo)} run{'s' if len(todo) != 1 else ''} of {found.pipeline}"
        command = f"tw trigger backfill {name} --from {since}{f' --to {until}' if until else ''} -y"
        if not todo:
            output.say("there is nothing to run")
        if todo and not dry_run:
            if not confirmed(question, command, yes=yes):
                return 1
            note_times(app.context, found, todo)
        outcomes = []
        for event in [] if dry_run else todo:
            outcome = fire(app.context, read_document, found, [event])
            if outcome is not None:
                outcomes.append(outcome)
                show_outcome(app.context, outcome, quiet=json)
                ensure_engine(app)
        if json:
            planned = [{"id": e.id, "at": e.at, "had_run": e.run} for e in times]
            done = [outcome_json(outcome) for outcome in outcomes]
            output.put_json({"trigger": found.address, "times": planned, "outcomes": done})
    return 1 if any(o.run is None for o in outcomes) else 0


@trigger.command("fire")
def deliver(
    webhook: Annotated[str, typer.Argument(metavar="WEBHOOK", help="Name of the webhook, as in webhook: NAME.")],
    delivery: Annotated[
        str | None, typer.Option("--id", metavar="ID", help="Of the delivery; a repeat starts nothing new.")
    ] = None,
    json: Json = False,
) -> int:
    """Call a webhook by hand, as a server would; without --id each call counts."""
    from trainwright.cli import output
    from trainwright.cli.session import session
    from trainwright.service.documents import read_document
    from trainwright.service.occasions import deliver as service

    with session() as app:
        answers = service(app.context, read_document, webhook, delivery)
    if json:
        output.put_json([{"trigger": a.trigger.address, "new": a.new, "event": a.event} for a in answers])
        return 1 if any(a.event.reason for a in answers) else 0
    for answer in answers:
        event = answer.event
        words = event.reason.sentence() if event.reason else f"run {event.run}" if event.run else "waits to be fired"
        output.put(f"{answer.trigger.address}  {event.id}  {words}{'' if answer.new else ' (a repeat)'}")
    return 1 if any(a.event.reason for a in answers) else 0


def arm_files(app: "App", files: list[str], *, yes: bool, command: str) -> "list[Arming] | None":
    """Show what arming files changes, ask once when anything does, and do it; None when the person says no.

    Every file is checked before the first is armed.
    """
    from trainwright.cli import output
    from trainwright.cli.asking import confirmed
    from trainwright.cli.pipeline import check_graph
    from trainwright.service.documents import read_document
    from trainwright.service.triggers import Change, arm, look_at
    from trainwright.spec.params import resolve

    documents = [(file, Path(file).absolute(), read_document(Path(file), file)) for file in files]
    armings = []
    for file, path, document in documents:
        armings += look_at(app.context, document, file, path)
        for spec in document.spec.triggers:
            check_graph(document, resolve(document, spec.params))
    for arming in armings:
        _show_arming(arming)
    changes = [a for a in armings if a.change is not Change.UNCHANGED]
    if not changes:
        output.say("all of it is armed already")
        return armings
    question = "arm " + ", ".join(f"{a.trigger.address.removeprefix('triggers/')} ({a.change})" for a in changes)
    if not confirmed(question, f"{command} {' '.join(files)} -y", yes=yes):
        return None
    return [arming for file, path, document in documents for arming in arm(app.context, document, file, path)]


def show_outcome(context: "Context", outcome: "Outcome", *, quiet: bool = False) -> None:
    """Print what a trigger started, or why it did not."""
    from datetime import UTC

    from trainwright.cli import output

    if quiet:
        return
    at = context.clock.now().astimezone(UTC).isoformat(timespec="seconds")
    head = f"{at}  {outcome.trigger.address}  {outcome.events[-1].id}"
    more = f" and {len(outcome.events) - 1} before it" if len(outcome.events) > 1 else ""
    if outcome.run is not None:
        output.put(f"{head}{more}  → {outcome.run.pipeline} #{outcome.run.number} ({outcome.run.id})")
    elif outcome.reason is not None:
        output.say(f"{head}{more}  ✗ {outcome.reason.sentence()}\n  fix: {outcome.reason.remedy()}")
    if outcome.remark:
        output.say(f"  {outcome.remark}")


def outcome_json(outcome: "Outcome") -> dict[str, object]:
    """Return what became of events, for programs."""
    run = outcome.run.id if outcome.run else None
    return {"trigger": outcome.trigger.address, "events": [e.id for e in outcome.events], "run": run} | {
        "reason": outcome.reason
    }


def armed_json(arming: "Arming") -> dict[str, object]:
    """Return a trigger that was armed, for programs."""
    return {
        "trigger": arming.trigger.address,
        "change": arming.change,
        "spec": arming.trigger.spec,
        "next": arming.next,
    }


def watched_or_said(app: "App") -> None:
    """Say so when nobody watches over the triggers."""
    from trainwright.app import only_watcher
    from trainwright.cli import output

    with only_watcher(app) as nobody:
        pass
    if nobody:
        output.say("nobody watches over the triggers of this project: tw up")


def waits_for(spec: "TriggerSpec") -> str:
    """Return what a trigger waits for, in a few words."""
    from trainwright.core.quantity import show_duration

    quiet = f", quiet for {show_duration(spec.debounce_s)}" if spec.debounce_s else ""
    match spec.kind.value:
        case "cron":
            policy = {0: "none", 1: ""}.get(spec.catch_up, f"all({spec.catch_up})")
            return f"{spec.subject} {spec.timezone}" + (f", catch up {policy}" if policy else "")
        case "run":
            return f"run of {spec.subject} {spec.on if spec.on != 'any' else 'that ended'}{quiet}"
        case "webhook":
            return f"webhook {spec.subject}{quiet}"
        case _:
            return f"{spec.subject}{quiet}"


def _show_arming(arming: "Arming") -> None:
    from trainwright.cli import output

    spec = arming.trigger.spec
    params = "  ".join(f"{k}={v}" for k, v in spec.params.items())
    parts = (arming.trigger.address, str(arming.change), waits_for(spec), params)
    output.say("  ".join(part for part in parts if part))
    if arming.moved_from:
        output.say(f"  was armed from {arming.moved_from}")
    for instant in arming.next:
        output.say(f"  {_local(instant, spec.timezone)}")
    if spec.kind == "webhook":
        output.say(f"  needs a server to be called from elsewhere; by hand: tw trigger fire {spec.subject}")


def _local(instant: "datetime", zone: str) -> str:
    """Return an instant on the clock of a zone, with its offset, and in UTC."""
    from datetime import UTC
    from zoneinfo import ZoneInfo

    here = instant.astimezone(ZoneInfo(zone))
    offset = here.strftime("%z")
    return f"{here:%a %Y-%m-%d %H:%M} {offset[:3]}:{offset[3:]} {zone}  {instant.astimezone(UTC):%Y-%m-%dT%H:%MZ}"


def _row(one: "Listed") -> tuple[str, ...]:
    spec = one.trigger.spec
    upcoming = _local(one.next[0], spec.timezone).split("  ")[0].rsplit(" ", 1)[0] if one.next else ""
    last = one.last[0] if one.last else None
    became = "" if last is None else str(last.run or last.state)
    name = one.trigger.address.removeprefix("triggers/")
    return (name, waits_for(spec), one.trigger.state, upcoming, last.id if last else "", became)


def _say_trouble(one: "Listed") -> None:
    from trainwright.cli import output

    last: TriggerEvent | None = one.last[0] if one.last else None
    if last is not None and last.reason is not None:
        output.put(f"{one.trigger.address} for {last.id}: {last.reason.sentence()}  [{last.reason.code}]")
        where = last.reason.evidence.get("where")
        if where:
            output.put(f"  where: {where}")
        output.put(f"  fix: {last.reason.remedy()}")


def _listed_json(one: "Listed") -> dict[str, object]:
    about = one.trigger
    return {
        "trigger": about.address, "pipeline": about.pipeline, "state": about.state, "spec": about.spec,
        "file": about.path, "armed_at": about.armed_at, "armed_by": about.armed_by, "next": one.next,
        "events": one.last,
    }  # fmt: skip


def _say_done(name: str, service: "Callable[[Context, str], Trigger]", words: str, *, json: bool) -> None:
    from trainwright.cli import output
    from trainwright.cli.session import session

    with session() as app:
        done = service(app.context, name)
    if json:
        output.put_json({"trigger": done.address, "state": done.state})
    else:
        output.say(f"{done.address} {words}")
