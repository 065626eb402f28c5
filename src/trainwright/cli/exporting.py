"""Sending events to other systems: by hand, and from a process of its own beside the engine."""

from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trainwright.app import App
    from trainwright.service.exporting import Outgoing

BETWEEN_LOOKS_S = 0.5

PATIENCE = timedelta(minutes=2)
"""How long a target that takes nothing is tried when no run goes on any more; what waits is kept for the next time."""


def export(since: int | None, to: str) -> None:
    """Send what waits, or everything after an event; to the screen when there is no other place.

    Raises:
        SpecError: no target.
        BackendError: it takes nothing at present.
    """
    from trainwright.cli import output
    from trainwright.cli.session import session
    from trainwright.service.exporting import open_way
    from trainwright.settings import openlineage

    with session() as app:
        here = app.context
        if to == "-" or (not to and not app.outgoing):
            nowhere = open_way(here, openlineage(here.environ, "file:/dev/null", here.here))
            for _, documents in nowhere.documents(since or 0):
                for document in documents:
                    output.put(document)
            return
        outgoing = app.outgoing[0] if not to else open_way(here, openlineage(here.environ, to, here.here))
        sent = _again(outgoing, since) if since is not None else _rest(app, outgoing, by_hand=bool(to))
        output.say(f"{sent:,} event{'s' if sent != 1 else ''} sent to {outgoing.destination.target}")


def _again(outgoing: "Outgoing", since: int) -> int:
    count = 0
    for _, documents in outgoing.documents(since):
        if documents:
            outgoing.deliver(documents)
            count += len(documents)
    return count


def _rest(app: "App", outgoing: "Outgoing", *, by_hand: bool) -> int:
    from trainwright.app import only_exporter
    from trainwright.core.errors import TransientBackendError

    before = outgoing.begin(from_first=by_hand).sent
    with only_exporter(app, patience_s=5.0):  # beside another sender some events arrive twice, which does no harm
        while outgoing.backlog():
            outgoing.send()
            cursor = outgoing.begin()
            if cursor.failures:
                raise TransientBackendError(
                    "TW6701", cursor.problem, remedy="nothing is lost: what waits is sent later, or by this command"
                )
    return outgoing.begin().sent - before


def keep_sending() -> int:
    """Send until no run is unfinished and nothing is left, or a target takes nothing for too long."""
    from trainwright.app import only_exporter, open_app
    from trainwright.core.errors import BackendError
    from trainwright.store import runs

    app = open_app()
    clock = app.context.clock
    quiet_since = clock.now()
    with only_exporter(app) as alone:
        while alone:
            try:
                with app.database.reading() as rows:
                    working = bool(runs.unfinished(rows, app.context.project))
                moved = sum(o.send().events for o in app.outgoing if not o.pause_s())
                left = any(o.backlog() for o in app.outgoing)
            except BackendError:
                working, moved, left = False, 0, True  # the database takes nothing; patience ends it
            if not working and not left:
                return 0
            if moved or working:
                quiet_since = clock.now()
            elif clock.now() - quiet_since > PATIENCE:
                return 1
            if not moved:
                clock.sleep(BETWEEN_LOOKS_S)
    return 0
