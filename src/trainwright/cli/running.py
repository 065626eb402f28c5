"""Commands that make things happen: run, stop, wait, and the engine behind them."""

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trainwright.cli.pipeline import CacheOption, File, Json, Params, Steps
from trainwright.cli.pretending import InventoryOption

if TYPE_CHECKING:
    from trainwright.app import App
    from trainwright.cli.watch import Interrupts
    from trainwright.core.ids import RunId
    from trainwright.core.run import Run, RunView
    from trainwright.plan.plan import Plan
    from trainwright.service.submit import Prepared

MOST_LINES = 20
"""Of a list in a talk about a run."""

PATIENCE = timedelta(minutes=10)
"""How long a background engine goes on trying while the database takes nothing."""

RunName = Annotated[str, typer.Argument(metavar="RUN", help="Id or its beginning, number, pipeline, or -1.")]


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(run)
    app.command()(attach)
    app.command()(stop)
    app.command()(retry)
    app.command()(resume)
    app.command()(wait)
    app.command(hidden=True)(engine)


def run(
    file: File,
    param: Params = None,
    *,
    detach: Annotated[bool, typer.Option("-d", "--detach", help="Submit and return; prints the run's id.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the plan and stop.")] = False,
    step: Steps = None,
    cache: CacheOption = "auto",
    inventory: InventoryOption = "",
    json: Json = False,
) -> int:
    """Plan, submit and follow a run to its verdict. Ctrl-C lets go of it, a second one stops it."""
    from trainwright.cli.pipeline import cache_mode, overrides, show_plan, warn
    from trainwright.cli.pretending import begin
    from trainwright.cli.session import session
    from trainwright.service.checked import FOLDER
    from trainwright.service.documents import read_document
    from trainwright.service.submit import prepare

    with session(inventory) as app:
        begin(app)
        if not dry_run:
            app.context.backend.warm_up()
        document = read_document(Path(file), file, app.settings.home / FOLDER)
        warn(document)
        folder = Path(file).parent.absolute()
        prepared = prepare(app.context, document, overrides(param or []), folder, file, only=step or ())
        cache_mode(cache)  # a wrong word is refused before anything is stored
        if dry_run:
            show_plan(prepared.plan, stderr=False, foresights=app.foresee(prepared, cache_mode(cache)))
            return 0
        return submit_and_follow(app, prepared, detach=detach, cache=cache, json=json)[1]


def submit_and_follow(
    app: "App", prepared: "Prepared", *, detach: bool, json: bool, cache: str = "auto"
) -> "tuple[RunId, int]":
    """Submit a prepared run and show it to its end, or let go of it; return its id and the exit code."""
    from trainwright.app import start_background_engine
    from trainwright.cli import output
    from trainwright.cli.errors import INTERRUPTED, forget_output
    from trainwright.cli.pipeline import cache_mode
    from trainwright.cli.pretending import refuse_elsewhere
    from trainwright.cli.watch import Interrupts
    from trainwright.service.capture.pointers import warnings_of
    from trainwright.service.submit import submit, with_code

    refuse_elsewhere(app)
    with Interrupts() as interrupts:
        prepared = with_code(app.context, prepared)
        for warning in warnings_of(prepared.code) if prepared.code else ():
            output.say(f"warning: {warning}")
        record = submit(app.context, prepared, cache=cache_mode(cache))
        if detach:
            start_background_engine(app)
            output.say(
                f"{record.pipeline} #{record.number} goes on in the background; come back: tw attach {record.id}"
            )
            output.put(record.id)
            return record.id, 0
        try:
            return record.id, _follow(app, record, interrupts, json=json)
        except BaseException as error:  # whatever happened to this face of it, the run goes on
            start_background_engine(app)
            if not isinstance(error, BrokenPipeError):
                raise
            forget_output()
            return record.id, INTERRUPTED


def attach(name: RunName, json: Json = False) -> int:
    """Come back to the live view of a run that was let go of; Ctrl-C lets go again."""
    from trainwright.cli.session import session
    from trainwright.cli.watch import Interrupts
    from trainwright.service.lookup import read_run

    with session() as app, Interrupts() as interrupts:
        return _follow(app, read_run(app.context, of_run(name))[0].run, interrupts, json=json)


def stop(name: RunName) -> int:
    """Ask a run to end: its steps get TERM, ten seconds, KILL."""
    from trainwright.cli import output
    from trainwright.cli.session import session
    from trainwright.service.control import stop as ask_to_stop

    with session() as app:
        record, asked = ask_to_stop(app.context, of_run(name))
    if asked:
        output.say(
            f"{record.pipeline} #{record.number} ({record.id}) is asked to stop; see it end: tw wait {record.id}"
        )
    else:
        output.say(f"{record.pipeline} #{record.number} ({record.id}) is {record.state} already")
    return 0


def retry(
    name: RunName,
    detach: Annotated[bool, typer.Option("-d", "--detach", help="Return at once; prints the run's id.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would run again and stop.")] = False,
    json: Json = False,
) -> int:
    """Try again what failed in a run, and what comes after it: the same run, the same code."""
    from trainwright.app import start_background_engine
    from trainwright.cli import output
    from trainwright.cli.session import session
    from trainwright.cli.watch import Interrupts
    from trainwright.service.control import try_again

    with session() as app:
        record, found = try_again(app.context, of_run(name), dry_run=dry_run)
        if found.stands:
            output.say(f"stands: {output.some(found.stands)}")
        for step, why in list(found.why.items())[:MOST_LINES]:
            output.say(f"again:  {step}, which {why}")
        if len(found.why) > MOST_LINES:
            output.say(f"again:  {len(found.why) - MOST_LINES} more")
        if dry_run:
            return 0
        if detach:
            start_background_engine(app)
            output.put(record.id)
            return 0
        with Interrupts() as interrupts:
            return _follow(app, record, interrupts, json=json)


def resume(
    name: RunName,
    param: Params = None,
    *,
    from_: Annotated[
        list[str] | None,
        typer.Option("--from", metavar="STEP", help="Run this step again and all after it; may be repeated."),
    ] = None,
    with_code: Annotated[
        str, typer.Option("--with-code", help="same (as that run), HEAD (as committed) or WORKTREE (as it is now).")
    ] = "same",
    detach: Annotated[bool, typer.Option("-d", "--detach", help="Return at once; prints the run's id.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be taken over and stop.")] = False,
    json: Json = False,
) -> int:
    """Start a new run that takes over from a finished one whatever is equal, and runs the rest."""
    from trainwright.cli.pipeline import overrides
    from trainwright.cli.resuming import announce, choice
    from trainwright.cli.session import session
    from trainwright.service.resume import resumption

    with (
        session() as app,
        resumption(app.context, of_run(name), overrides(param or []), choice(with_code), from_ or ()) as found,
    ):
        prepared = announce(app, found, insist=bool(from_))
        if dry_run:
            return 0
        return submit_and_follow(app, prepared, detach=detach, json=json)[1]


def wait(
    name: RunName,
    timeout: Annotated[str, typer.Option("--timeout", help="Give up after this long (30s, 10m); exit code 8.")] = "",
    json: Json = False,
) -> int:
    """Wait for a run to end; the exit code is the run's."""
    from trainwright.cli import errors, output
    from trainwright.cli.session import session
    from trainwright.core.errors import SpecError
    from trainwright.core.quantity import duration
    from trainwright.service.control import state_of
    from trainwright.service.lookup import read_run

    try:
        limit_s = duration(timeout).total_seconds() if timeout else None
    except ValueError as error:
        raise SpecError("TW2004", str(error), where="--timeout", remedy="write --timeout 10m") from error
    with session() as app:
        from trainwright.app import ensure_engine

        ensure_engine(app)
        view, plan = read_run(app.context, of_run(name))
        began = app.context.clock.now()
        while not state_of(app.context, view.run.id).state.is_final:
            if limit_s is not None and (app.context.clock.now() - began).total_seconds() >= limit_s:
                output.say(f"{view.run.id} is still {state_of(app.context, view.run.id).state} after {timeout}")
                return errors.TIMED_OUT
            app.context.clock.sleep(0.1)
            ensure_engine(app)
        view, plan = read_run(app.context, view.run.id)
        return _conclude(app, view, plan, json=json)


def of_run(address: str) -> str:
    """Return the run's part of what names a run: ``runs/ID``, as other commands print it, passes too.

    Raises:
        SpecError: it names a step.
    """
    from trainwright.core.errors import SpecError
    from trainwright.service.lookup import split_address

    name, step, _ = split_address(address)
    if step is not None:
        remedy = f"write {name}; about the step: tw why {address}, tw logs {address}, tw metrics {address}"
        raise SpecError("TW2104", f"{address} names a step, and this command takes a whole run", remedy=remedy)
    return name


def engine() -> int:
    """Carry every unfinished run of the project to its end, then leave."""
    from trainwright.app import only_engine, open_app

    app = open_app()
    with only_engine(app, patience_s=3.0) as alone:
        if not alone:
            return 0
        host = app.engine()
        while host.has_work():
            host.turn()
            host.wait()
            if host.trouble and app.context.clock.now() - host.trouble.since > PATIENCE:
                return 1  # the next command, or a step that ends, starts another one
    return 0


def _follow(app: "App", record: "Run", interrupts: "Interrupts", *, json: bool) -> int:
    from trainwright.cli import output
    from trainwright.cli.pipeline import show_plan
    from trainwright.cli.watch import watch
    from trainwright.service.lookup import read_run

    engine_ = app.engine()
    engine_.turn()  # the first step is on its way before anything is drawn
    plan = read_run(app.context, record.id)[1]
    show_plan(plan, stderr=True)
    output.say(f"run {record.pipeline} #{record.number} ({record.id})")
    view = watch(app, record.id, plan, interrupts, engine_)
    if not view.run.state.is_final:
        return _let_go(app, view.run, interrupts)
    return _conclude(app, view, plan, json=json)


def _conclude(app: "App", view: "RunView", plan: "Plan", *, json: bool) -> int:
    """Print the verdict on a finished run, and how it compares with what it makes again; return the exit code."""
    from trainwright.cli import output
    from trainwright.cli.verdict import exit_code_of, show_verdict

    if not json:
        show_verdict(app.context, view, plan)
    code = None
    if view.run.reproduces is not None:
        from trainwright.cli.outcome import conclude

        code = conclude(app.context, view, plan, json=json)
    if code is None and json:
        output.put_json(view.run)
    return exit_code_of(view) if code is None else code


def _let_go(app: "App", record: "Run", interrupts: "Interrupts") -> int:
    """Hand the run to a background engine; a second Ctrl-C within two seconds asks it to stop."""
    from trainwright.app import start_background_engine
    from trainwright.cli import errors, output
    from trainwright.service.control import stop as ask_to_stop

    if not interrupts.hung_up:
        output.say(f"let go of {record.id}: it goes on; come back with: tw attach {record.id}")
        output.say("Ctrl-C again within two seconds stops it")
        for _ in range(20):
            if interrupts.asked > 1:
                ask_to_stop(app.context, record.id)
                output.say(f"{record.id} is asked to stop")
                break
            app.context.clock.sleep(0.1)
    start_background_engine(app)
    return errors.INTERRUPTED
