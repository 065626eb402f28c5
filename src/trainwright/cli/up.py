"""``tw up``: one process that watches over the project's triggers on this machine."""

from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from trainwright.cli.pretending import InventoryOption
from trainwright.cli.triggers import Yes

if TYPE_CHECKING:
    from trainwright.app import App
    from trainwright.cli.watch import Interrupts

LONGEST_SLEEP_S = 0.5
"""How late a dataset's version, the end of a run, or Ctrl-C is noticed; a time of cron is not late."""

CARE = timedelta(seconds=5)
"""How often to see whether unfinished runs have a living engine; soon once more after a run was started, because the
engine that is there may be just about to leave."""

SOON = timedelta(seconds=1)


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(up)


def up(
    files: Annotated[
        list[str] | None, typer.Argument(metavar="[FILE...]", help="Pipeline files whose triggers to arm first.")
    ] = None,
    yes: Yes = False,
    inventory: InventoryOption = "",
) -> int:
    """Watch over the armed triggers of the project and start their runs, until Ctrl-C. Runs go on without it."""
    from trainwright.app import only_watcher
    from trainwright.cli.pretending import begin
    from trainwright.cli.session import session
    from trainwright.cli.triggers import arm_files
    from trainwright.cli.watch import Interrupts
    from trainwright.core.errors import ConflictError

    with session(inventory) as app, only_watcher(app, patience_s=1.0) as alone:
        if not alone:
            raise ConflictError(
                "TW5401",
                "another tw up watches over the triggers of this project already",
                where=str(app.settings.home),
                remedy="let it watch: tw trigger add FILE arms more, tw trigger ls shows what it does",
            )
        begin(app)
        if files and arm_files(app, files, yes=yes, command="tw up") is None:
            return 1
        with Interrupts() as interrupts:
            _watch(app, interrupts)
    return 0


def _watch(app: "App", interrupts: "Interrupts") -> None:
    from trainwright.app import ensure_engine
    from trainwright.cli import output
    from trainwright.cli.triggers import show_outcome
    from trainwright.core.errors import TransientBackendError
    from trainwright.service.documents import read_document
    from trainwright.service.watching import Watch

    clock = app.context.clock
    watch = Watch(app.context, read_document)
    _greet(app)
    care_at = clock.now()
    told = ""
    while not interrupts.asked:
        try:
            outcomes = watch.look()
            for outcome in outcomes:
                show_outcome(app.context, outcome)
            now = clock.now()
            if outcomes or not timedelta(0) < care_at - now <= CARE:  # a clock that was set is no reason not to care
                ensure_engine(app)
                care_at = now + (SOON if outcomes else CARE)
            trouble = str(watch.trouble) if watch.trouble else told
        except TransientBackendError as error:
            trouble = str(error)
        if trouble != told:
            told = trouble
            output.say(f"{trouble}\nnothing is lost; trying again")
        pause_s = LONGEST_SLEEP_S
        if watch.wakes_at is not None:
            pause_s = min(pause_s, max(0.0, (watch.wakes_at - clock.now()).total_seconds()))
        if not interrupts.asked:
            clock.sleep(pause_s)
    output.say("nobody watches now; runs that were started go on, and missed times are made up for as catch_up: says")


def _greet(app: "App") -> None:
    """Say what is watched."""
    from trainwright.cli import output
    from trainwright.cli.triggers import waits_for
    from trainwright.service.triggers import listed

    armed = [one for one in listed(app.context, events=0) if one.trigger.state == "armed"]
    for one in armed:
        upcoming = f"  next {one.next[0]:%Y-%m-%dT%H:%MZ}" if one.next else ""
        output.say(f"{one.trigger.address}  {waits_for(one.trigger.spec)}{upcoming}")
    hooks = sorted({one.trigger.spec.subject for one in armed if one.trigger.spec.kind == "webhook"})
    if hooks:
        output.say(f"webhooks need a server, which this is not: {', '.join(hooks)}; by hand: tw trigger fire NAME")
    output.say(f"watching over {len(armed)} trigger{'s' if len(armed) != 1 else ''}; Ctrl-C ends it")
    if not armed:
        output.say("arm some while this runs: tw trigger add FILE")
