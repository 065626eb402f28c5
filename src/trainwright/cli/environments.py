"""Commands about environments of steps: lock, ls, build, rm."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trainwright.cli.pipeline import File, Json, Params, Steps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trainwright.app import App
    from trainwright.service.locking import Locked

env = typer.Typer(
    help="Environments of steps: locked, built once, shared.", no_args_is_help=True, rich_markup_mode=None
)


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(env, name="env")


@env.command()
def lock(
    file: File,
    param: Params = None,
    *,
    step: Steps = None,
    upgrade: Annotated[bool, typer.Option("--upgrade", help="Lock anew, with what is newest now.")] = False,
    offline: Annotated[bool, typer.Option("--offline", help="Use no network: what uv has in its cache.")] = False,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", metavar="FILE", help="Write the lock, for environment: {lockfile: …}.")
    ] = None,
    json: Json = False,
) -> None:
    """Lock the environments of a pipeline, as a run would, and show them."""
    from trainwright.cli import output
    from trainwright.cli.session import session
    from trainwright.runtime import atomic

    with session() as app:
        found = _locked(app, file, param, step or (), anew=upgrade, offline=offline)
        if out is not None:
            atomic.replace(str(out.absolute()), _only(found).text.encode())
    if json:
        output.put_json([{"environment": one.environment, "known": one.known, "lock": one.text} for one in found])
        return
    if not found:
        output.say(f"{file}: every step inherits its environment, and none is locked")
        return
    rows = [
        (
            one.environment.asked.words,
            one.environment.python,
            str(one.environment.packages or ""),
            one.environment.name,
            "known" if one.known else "made now",
        )
        for one in found
    ]
    output.table(("environment", "python", "packages", "key", "lock"), rows)


@env.command("ls")
def list_environments(json: Json = False) -> None:
    """List the environments that lie on this machine."""
    from trainwright.cli import output
    from trainwright.cli.session import session
    from trainwright.core.quantity import show_bytes
    from trainwright.service.environments import built

    with session() as app:
        found = built(app.context)
        now = app.context.clock.now()
    if json:
        output.put_json(found)
        return
    if not found:
        output.say("no environments yet; a step with environment: makes one")
        return
    rows = [
        (
            one.key[:12],
            one.python or "not whole",
            str(one.packages),
            show_bytes(one.size_bytes),
            show_bytes(one.own_bytes),
            output.when(one.used_at, now),
            "yes" if one.leased else "",
        )
        for one in found
    ]
    output.table(("key", "python", "packages", "size", "of its own", "last used", "in use"), rows)


@env.command("rm")
def remove(
    key: Annotated[str, typer.Argument(help="The beginning of its key, see tw env ls.")], json: Json = False
) -> None:
    """Remove an environment that no step uses; it is built anew when one needs it."""
    from trainwright.cli import output
    from trainwright.cli.session import session
    from trainwright.core.quantity import show_bytes
    from trainwright.service.environments import remove as remove_one

    with session() as app:
        was = remove_one(app.context, key)
    if json:
        output.put_json(was)
    else:
        output.put(f"removed {was.key[:12]}, which frees {show_bytes(was.own_bytes)}")


@env.command()
def build(
    file: File,
    param: Params = None,
    *,
    step: Steps = None,
    tag: Annotated[str, typer.Option("--tag", help="Of the image; its key by default.")] = "",
    base: Annotated[
        str, typer.Option("--base", metavar="IMAGE", help="Image with the same Python; python:VERSION-slim by default.")
    ] = "",
    engine: Annotated[str, typer.Option("--engine", help="podman or docker, with options of its own.")] = "",
    engine_flags: Annotated[str, typer.Option("--engine-flags", help="Options for its build command.")] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the Containerfile and stop.")] = False,
    json: Json = False,
) -> None:
    """Make a container image of a step's environment with podman or docker, and print its digest."""
    from trainwright.cli import output
    from trainwright.cli.session import session
    from trainwright.service import images

    with session() as app:
        locked = _only(_locked(app, file, param, step or ()))
        environment = locked.environment
        base = base or images.default_base(environment)
        if dry_run:
            text = images.containerfile(environment, base)
            if json:
                output.put_json({"environment": environment, "base": base, "containerfile": text})
            else:
                output.put(text.removesuffix("\n"))
            return
        builder = images.engine_of(engine, engine_flags, app.context.environ)
        image = images.build(app.context, locked, base, tag or f"localhost/trainwright:{environment.name}", builder)
    if json:
        output.put_json(image)
    else:
        output.put(image.address)
        output.say(f"as {image.tag}; for a step: environment: {{image: {image.address}}}")


def _locked(
    app: "App", file: str, param: list[str] | None, only: "Sequence[str]", *, anew: bool = False, offline: bool = False
) -> "list[Locked]":
    """Return the environments of a pipeline, locked; its data is not looked at."""
    from dataclasses import replace

    from trainwright.cli.pipeline import check_graph, overrides, warn
    from trainwright.plan.part import part_of
    from trainwright.service.documents import read_document
    from trainwright.service.locking import lock_all
    from trainwright.spec.params import resolve

    document = read_document(Path(file), file)
    plan = check_graph(document, resolve(document, overrides(param or [])))
    warn(document)
    plan = replace(part_of(plan, only), steps=tuple(s for s in plan.steps if s.name in only)) if only else plan
    context = app.context
    if offline:
        context = replace(context, environ={**context.environ, "UV_OFFLINE": "1"})
    return list(lock_all(context, document, plan, Path(file).parent.absolute(), anew=anew).values())


def _only(found: "list[Locked]") -> "Locked":
    """Return the one environment that is meant.

    Raises:
        NotFoundError: there is none that is made from a lock, or several.
    """
    from trainwright.core.errors import NotFoundError

    made = [one for one in found if not one.environment.is_image]
    if len(made) == 1:
        return made[0]
    words = ", ".join(one.environment.asked.words for one in made)
    message = f"the pipeline has {len(made)} environments: {words}" if made else "no step has an environment to lock"
    raise NotFoundError("TW4602", message, remedy="choose one: --step STEP" if made else "add environment: to a step")
