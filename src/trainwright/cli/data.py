"""Commands about datasets."""

from typing import Annotated

import typer

from trainwright.cli import keeping, tables
from trainwright.cli.pipeline import Json

dataset = typer.Typer(help="Datasets: versions by content.", no_args_is_help=True, rich_markup_mode=None)


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    tables.add_to(dataset)
    keeping.add_to(dataset)
    app.add_typer(dataset, name="dataset")


@dataset.command()
def add(
    name: Annotated[str, typer.Argument(help="Name, such as digits or ads/clicks.")],
    path: Annotated[
        str, typer.Argument(help="File, folder, pattern, or URI (s3://, https://, git+https://, delta:, …).")
    ],
    reference: Annotated[
        bool, typer.Option("--reference", help="Store no bytes: pin the version kept there, or check files before use.")
    ] = False,
    copy: Annotated[bool, typer.Option("--copy", help="Store the bytes, however many (see TW_COPY_LIMIT).")] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Hash every file again, also those that look unchanged.")
    ] = False,
    json: Json = False,
) -> None:
    """Store what is at a path or URI as the next version of a dataset; equal content is no new version."""
    from trainwright.cli import output
    from trainwright.cli.arriving import Arriving
    from trainwright.cli.progress import Progress
    from trainwright.cli.session import session
    from trainwright.core.errors import SpecError
    from trainwright.core.quantity import show_bytes
    from trainwright.ports.content import Intake
    from trainwright.service.datasets import add as add_version

    if reference and copy:
        raise SpecError("TW2132", "--reference and --copy contradict each other", remedy="give one of them")
    with session() as app, Arriving() as arriving, Progress() as progress:
        how = Intake(strict=strict, any_size=copy, reference=reference, progress=progress.told)
        version, new = add_version(app.context, name, path, how, arriving)
        snapshot = app.context.content.snapshot(version.content.digest)
        origin = app.context.content.origin(version.content.digest)
    arriving.conclude()
    if json:
        output.put_json(
            {
                "address": version.address,
                "new": new,
                "by_reference": None if origin is None else str(origin),
                "version": version,
                "fetched": arriving.fetched,
            }
        )
        return
    content = version.content
    size = f"{content.files} file(s), {show_bytes(content.size_bytes)}"
    if snapshot is not None:
        size = f"by reference: {snapshot.uri}"
    output.put(f"{version.address}  {content.digest}  {size}")
    if snapshot is not None:
        output.say("nothing is copied: it is kept, or removed, where it is")
    elif origin is not None:
        output.say(f"by reference: nothing was copied, and every run that reads it needs {origin} as it is now")
    elif reference:
        output.say("nothing to refer to: its bytes are in the content store already")
    if not new:
        output.say(f"the same content is {version.address} already")


@dataset.command("ls")
def list_datasets(
    name: Annotated[str | None, typer.Argument(help="Only this dataset.")] = None, json: Json = False
) -> None:
    """List datasets and their versions."""
    from trainwright.cli import output
    from trainwright.cli.session import session
    from trainwright.core.quantity import show_bytes
    from trainwright.service.datasets import versions
    from trainwright.service.governing import owners_of
    from trainwright.service.versions import tags_of

    with session() as app:
        found = versions(app.context, name)
        tags = tags_of(app.context)
        now = app.context.clock.now()
        origins = {v.address for v in found if app.context.content.origin(v.content.digest)}
        with app.database.reading() as rows:
            teams = owners_of(rows, app.context, sorted({f"datasets/{v.name}" for v in found}))
    if json:
        output.put_json([{**output.fields(v), "tags": tags.get((v.name, v.version), ())} for v in found])
    elif not found:
        output.say("no datasets yet; add one: tw dataset add NAME PATH")
    else:
        output.table(
            ("dataset", "tags", "digest", "files", "size", "bytes", "added", "source", "team"),
            [
                (
                    v.address,
                    ", ".join(tags.get((v.name, v.version), ())),
                    v.content.digest[7:19],
                    str(v.content.files),
                    show_bytes(v.content.size_bytes),
                    "by reference" if v.address in origins else "",
                    output.when(v.added_at, now),
                    v.source,
                    ", ".join(teams.get(f"datasets/{v.name}", ())),
                )
                for v in found
            ],
        )
