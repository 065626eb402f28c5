"""Commands about platform documents: apply them, see what holds and who applied it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trainwright.cli.pipeline import Json

if TYPE_CHECKING:
    from trainwright.core.scalar import Plain
    from trainwright.service.governing import Application

config = typer.Typer(
    help="Platform documents: what holds, since when, by whom.", no_args_is_help=True, rich_markup_mode=None
)

Because = Annotated[str, typer.Option("-m", "--reason", help="Why; kept with the revision.")]
Document = Annotated[str, typer.Argument(metavar="KIND/NAME", help="As in AliasPolicy/production.")]


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(apply)
    app.add_typer(config, name="config")


def apply(
    file: Annotated[list[Path], typer.Option("-f", "--file", help="Platform document; may be repeated.")],
    reason: Because = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print what would change.")] = False,
    json: Json = False,
) -> None:
    """Make platform documents (AliasPolicy, Namespace, ReleaseTarget) hold as their files say."""
    from trainwright.app import release_plugins
    from trainwright.cli import output
    from trainwright.cli.session import session
    from trainwright.service import governing, releasing

    with session() as app:
        completed = {"ReleaseTarget": releasing.completing(release_plugins())}

        def each(*, dry_run: bool) -> "list[Application]":
            files = [(app.context.here / path, str(path)) for path in file]
            return [governing.apply(app.context, *named, reason, completed, dry_run=dry_run) for named in files]

        done = each(dry_run=True)  # all of them are good before one is applied
        done = done if dry_run else each(dry_run=False)
    if json:
        output.put_json(done)
        return
    for one in done:
        _tell(one)


@config.command("ls")
def list_documents(json: Json = False) -> None:
    """List the documents that hold now."""
    from trainwright.cli import output
    from trainwright.cli.session import session
    from trainwright.service import governing

    with session() as app:
        found = governing.in_force(app.context)
        now = app.context.clock.now()
    if json:
        output.put_json(found)
    elif not found:
        output.say("no platform document is applied; apply one: tw apply -f FILE")
    else:
        output.table(
            ("document", "revision", "applied", "by", "reason"),
            [(d.address, str(d.revision), output.when(d.applied_at, now), d.applied_by, d.reason) for d in found],
        )


@config.command()
def show(document: Document, json: Json = False) -> None:
    """Print a document as it holds now."""
    from trainwright.cli import output
    from trainwright.cli.session import session
    from trainwright.service import governing
    from trainwright.spec.write import write

    with session() as app:
        found = governing.find(app.context, document)
    if json:
        output.put_json(found)
        return
    whole: dict[str, Plain] = {
        "apiVersion": "trainwright/v1",
        "kind": found.kind,
        "metadata": {"name": found.name},
        "spec": dict(found.spec or {}),
    }
    output.put(write(whole).removesuffix("\n"))
    output.say(f"revision {found.revision}, applied {found.applied_at:%Y-%m-%d %H:%M} UTC by {found.applied_by}")


@config.command()
def log(
    document: Annotated[str | None, typer.Argument(metavar="[KIND[/NAME]]", help="Only this kind or document.")] = None,
    json: Json = False,
) -> None:
    """Print every revision that was applied, oldest first."""
    from trainwright.cli import output
    from trainwright.cli.session import session
    from trainwright.service import governing

    with session() as app:
        found = governing.log(app.context, document)
        now = app.context.clock.now()
    if json:
        output.put_json(found)
        return
    output.table(
        ("document", "revision", "what", "when", "by", "reason"),
        [
            (
                d.address,
                str(d.revision),
                "applied" if d.spec is not None else "taken away",
                output.when(d.applied_at, now),
                d.applied_by,
                d.reason,
            )
            for d in found
        ],
    )


@config.command("rm")
def remove(document: Document, reason: Because = "", json: Json = False) -> None:
    """Take a document away; its revisions stay on record."""
    from trainwright.cli import output
    from trainwright.cli.session import session
    from trainwright.service import governing

    with session() as app:
        ended = governing.take_away(app.context, document, reason)
    if json:
        output.put_json(ended)
    else:
        output.put(f"{ended.address} taken away, revision {ended.revision}")


def _tell(one: "Application") -> None:
    from trainwright.cli import output

    document = one.document
    if not one.changes and not one.is_new:
        output.put(f"{document.address} unchanged, revision {document.revision}")
        return
    what = "new" if one.is_new else "changed"
    would = "would be " if one.dry_run else ""
    output.put(f"{document.address} {would}{what}, revision {document.revision}")
    for change in one.changes:
        output.put(f"  {change.key}: {_shown(change.before)} → {_shown(change.after)}")


def _shown(value: object) -> str:
    import json

    return "nothing" if value is None else json.dumps(value, ensure_ascii=False)
