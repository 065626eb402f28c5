"""Commands about which dataset versions stay, and under what names: tag, untag, rm, keep."""

from typing import Annotated

import typer

from trainwright.cli.pipeline import Json

Version = Annotated[str, typer.Argument(metavar="NAME@VERSION", help="Such as datasets/digits@3.")]


def add_to(dataset: typer.Typer) -> None:
    """Add the commands below ``tw dataset``."""
    dataset.command()(tag)
    dataset.command()(untag)
    dataset.command()(rm)
    dataset.command()(keep)


def tag(
    address: Version,
    name: Annotated[str, typer.Argument(metavar="TAG", help="A word, such as gold.")],
    force: Annotated[bool, typer.Option("--force", help="Move the tag from another version.")] = False,
    json: Json = False,
) -> None:
    """Give a version a name of its own: datasets/digits@gold."""
    from trainwright.cli import output
    from trainwright.cli.session import session
    from trainwright.service import versions

    with session() as app:
        version, before = versions.tag(app.context, address, name, force=force)
    if json:
        output.put_json({"address": version.address, "tag": name, "before": before or None})
        return
    moved = f" (it was version {before})" if before not in {0, version.version} else ""
    output.put(f"datasets/{version.name}@{name} is {version.address}{moved}")


def untag(
    address: Annotated[str, typer.Argument(metavar="NAME@TAG", help="Such as datasets/digits@gold.")],
    json: Json = False,
) -> None:
    """Take a tag away; the version stays."""
    from trainwright.cli import output
    from trainwright.cli.session import session
    from trainwright.service import versions

    with session() as app:
        version = versions.untag(app.context, address)
    if json:
        output.put_json({"address": version.address, "untagged": address.partition("@")[2]})
        return
    output.put(f"{address} is no name of {version.address} any more")


def rm(
    address: Version,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would go.")] = False,
    json: Json = False,
) -> None:
    """Remove a version that nothing refers to; its content goes with tw gc when nothing else names it.

    Who removed what and when stays on record, and its number is given to nothing else.
    """
    from trainwright.cli import output
    from trainwright.cli.session import session
    from trainwright.core.quantity import show_bytes
    from trainwright.service import versions

    with session() as app:
        version = versions.remove(app.context, address, dry_run=dry_run)
    if json:
        output.put_json({"address": version.address, "dry_run": dry_run, "version": version})
        return
    content = version.content
    verb = "would remove" if dry_run else "removed"
    output.put(f"{verb} {version.address}: {content.files} file(s), {show_bytes(content.size_bytes)}")
    if not dry_run:
        output.say("what nothing else names is freed by: tw gc (see before: tw gc --dry-run)")


def keep(
    name: Annotated[str, typer.Argument(help="The dataset.")],
    last: Annotated[
        int, typer.Option("--last", metavar="N", min=0, help="Versions that tw gc leaves; 0 = all, as without a rule.")
    ],
    json: Json = False,
) -> None:
    """Let tw gc remove all but the newest versions of a dataset; what something refers to stays all the same."""
    from trainwright.cli import output
    from trainwright.cli.session import session
    from trainwright.service import versions

    with session() as app:
        versions.keep(app.context, name.removeprefix("datasets/"), last)
    if json:
        output.put_json({"name": name.removeprefix("datasets/"), "last": last})
    elif last:
        output.put(f"tw gc keeps the newest {last} of {name}, and what is referred to; see first: tw gc --dry-run")
    else:
        output.put(f"tw gc keeps every version of {name}")
