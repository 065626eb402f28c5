"""Commands about datasets and lineage."""

from typing import TYPE_CHECKING, Annotated

import typer

from trainwright.cli import keeping, tables
from trainwright.cli.pipeline import Json

if TYPE_CHECKING:
    from trainwright.core.lineage import LineageNode

dataset = typer.Typer(help="Datasets: versions by content.", no_args_is_help=True, rich_markup_mode=None)


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    tables.add_to(dataset)
    keeping.add_to(dataset)
    app.add_typer(dataset, name="dataset")
    app.command()(lineage)


@dataset.command()
def add(
    name: Annotated[str, typer.Argument(help="Name, such as digits or ads/clicks.")],
    path: Annotated[
        str, typer.Argument(help="File, folder, pattern, or URI (s3://, https://, git+https://, delta:, …).")
    ],
    reference: Annotated[
        bool, typer.Option("--reference", help="Pin the version that is kept there; store no bytes here.")
    ] = False,
    json: Json = False,
) -> None:
    """Store what is at a path or URI as the next version of a dataset; equal content is no new version."""
    from trainwright.cli import output
    from trainwright.cli.arriving import Arriving
    from trainwright.cli.session import session
    from trainwright.core.quantity import show_bytes
    from trainwright.service.datasets import add as add_version

    with session() as app, Arriving() as arriving:
        version, new = add_version(app.context, name, path, reference=reference, progress=arriving)
        snapshot = app.context.content.snapshot(version.content.digest)
    arriving.conclude()
    if json:
        output.put_json({"address": version.address, "new": new, "version": version, "fetched": arriving.fetched})
        return
    content = version.content
    size = f"{content.files} file(s), {show_bytes(content.size_bytes)}"
    if snapshot is not None:
        size = f"by reference: {snapshot.uri}"
    output.put(f"{version.address}  {content.digest}  {size}")
    if snapshot is not None:
        output.say("nothing is copied: it is kept, or removed, where it is")
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
    from trainwright.service.versions import tags_of

    with session() as app:
        found = versions(app.context, name)
        tags = tags_of(app.context)
        now = app.context.clock.now()
    if json:
        output.put_json([{**output.fields(v), "tags": tags.get((v.name, v.version), ())} for v in found])
    elif not found:
        output.say("no datasets yet; add one: tw dataset add NAME PATH")
    else:
        output.table(
            ("dataset", "tags", "digest", "files", "size", "added", "source"),
            [
                (
                    v.address,
                    ", ".join(tags.get((v.name, v.version), ())),
                    v.content.digest[7:19],
                    str(v.content.files),
                    show_bytes(v.content.size_bytes),
                    output.when(v.added_at, now),
                    v.source,
                )
                for v in found
            ],
        )


def lineage(
    address: Annotated[str, typer.Argument(help="models/NAME@ALIAS, models/NAME/3, datasets/NAME@2, runs/RUN/STEP.")],
    json: Json = False,
) -> None:
    """Show what something was made from, back to the raw data."""
    from trainwright.cli import output
    from trainwright.cli.session import session
    from trainwright.service.lineage import upstream

    with session() as app:
        tree = upstream(app.context, address)
    if json:
        output.put_json(tree)
    else:
        _draw(tree, "", "", set())


def _draw(node: "LineageNode", first: str, rest: str, seen: set[str]) -> None:
    from trainwright.cli import output

    digest = f"  {node.digest[7:19]}" if node.digest else ""
    known = node.address in seen and bool(node.made_from)
    output.put(f"{first}{node.address}{digest}  {node.note}{'  (see above)' if known else ''}".rstrip())
    seen.add(node.address)
    if known:
        return
    for place, child in enumerate(node.made_from):
        last = place == len(node.made_from) - 1
        _draw(child, rest + ("└─ " if last else "├─ "), rest + ("   " if last else "│  "), seen)
