"""Commands that release models to where they serve."""

from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from trainwright.cli.pipeline import Json

if TYPE_CHECKING:
    from trainwright.core.release import Release

_DEFAULT = "to"


class _Verbs(TyperGroup):
    """Takes ``tw release digits@production --to T``, too: a first word that is no command is a model."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 - typer's own types
        if args and args[0] not in {*self.commands, "-h", "--help"}:
            args = [_DEFAULT, *args]
        return super().parse_args(ctx, args)


release = typer.Typer(
    cls=_Verbs,
    help="Releases: tw release NAME@ALIAS --to TARGET brings a version to where it serves.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Because = Annotated[str, typer.Option("-m", "--reason", help="Why; kept with the release.")]


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(release, name="release")


@release.command(_DEFAULT)
def bring(
    address: Annotated[str, typer.Argument(help="NAME@ALIAS or NAME/VERSION.")],
    to: Annotated[str, typer.Option("--to", metavar="TARGET", help="A ReleaseTarget that was applied.")],
    reason: Because = "",
    json: Json = False,
) -> None:
    """Make a version what a target serves; the word "to" may be left out."""
    from trainwright.app import only_releaser, release_plugins
    from trainwright.cli.session import session
    from trainwright.service import releasing

    with session() as app:
        releasing.target_named(app.context, to)
        with only_releaser(app, to):
            done = releasing.release(app.context, release_plugins(), address, to, reason)
    _tell(done, json=json)


@release.command("ls")
def list_releases(
    target: Annotated[str | None, typer.Argument(help="Only this target.")] = None, json: Json = False
) -> None:
    """List releases, newest first, and which of them serve."""
    from trainwright.cli import output
    from trainwright.cli.session import session
    from trainwright.core.codec import to_json
    from trainwright.service import releasing

    with session() as app:
        found = releasing.listed(app.context, target)
        now = app.context.clock.now()
    if json:
        output.put_json([{**to_json(one.release), "id": one.release.id, "serves": one.serves} for one in found])
        return
    if not found:
        output.say("nothing was released yet: tw release NAME@ALIAS --to TARGET")
        return
    output.table(
        ("release", "serves", "model", "state", "asked", "by", "place", "note"),
        [
            (
                one.release.id,
                "✓" if one.serves else "",
                one.release.version_address,
                one.release.state,
                output.when(one.release.asked_at, now),
                one.release.asked_by,
                one.release.place,
                one.release.error or one.release.reason,
            )
            for one in found
        ],
    )


@release.command()
def rollback(
    target: Annotated[str, typer.Argument(help="The target.")],
    model: Annotated[str, typer.Option("--model", help="Which of its models; not needed when it has one.")] = "",
    reason: Because = "",
    json: Json = False,
) -> None:
    """Make a target serve the version that it served before."""
    from trainwright.app import only_releaser, release_plugins
    from trainwright.cli.session import session
    from trainwright.service import releasing

    with session() as app:
        releasing.target_named(app.context, target)
        with only_releaser(app, target):
            done = releasing.roll_back(app.context, release_plugins(), target, model, reason)
    _tell(done, json=json)


def _tell(done: "Release", *, json: bool) -> None:
    from trainwright.cli import output
    from trainwright.core.codec import to_json

    if json:
        output.put_json({**to_json(done), "id": done.id})
        return
    back = " (back)" if done.rolls_back is not None else ""
    output.put(f"{done.target} serves {done.version_address}{back}  {done.place}")
    output.say(f"release {done.id}; to go back: tw release rollback {done.target}")
