"""``tw lineage``: back to the raw data, forward to what is in use."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trainwright.cli.pipeline import Json

if TYPE_CHECKING:
    from trainwright.core.lineage import Impact, Lineage, LineageNode

MOST = 20
"""Runs and branches of one thing that are shown unless more are asked for."""


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(lineage)
    app.command(hidden=True)(exporter)


def lineage(
    address: Annotated[
        str,
        typer.Argument(
            help="models/NAME@ALIAS, models/NAME/3, datasets/NAME@2, datasets/NAME@2/FILE, runs/RUN/STEP, "
            "runs/RUN/STEP/OUTPUT, sha256:…, a path or URI of raw data, a file; or the word export, "
            "which sends OpenLineage events."
        ),
    ],
    *,
    up: Annotated[
        bool, typer.Option("--up", help="What it was made from, back to the raw data (the default).")
    ] = False,
    down: Annotated[bool, typer.Option("--down", help="What came of it, to the aliases in use.")] = False,
    depth: Annotated[int, typer.Option("--depth", min=0, help="Only so many steps away; 0 = all.")] = 0,
    most: Annotated[
        int | None,
        typer.Option(
            "--most", min=0, help=f"Runs, newest first, and branches shown; 0 = all. {MOST}; with --json all."
        ),
    ] = None,
    svg: Annotated[
        Path | None, typer.Option("--svg", metavar="FILE", help="Write it as a picture instead.", show_default=False)
    ] = None,
    since: Annotated[
        int | None, typer.Option("--since", min=0, help="With export: all events after this number, once more.")
    ] = None,
    to: Annotated[
        str, typer.Option("--to", metavar="TARGET", help="With export: file:PATH, http(s)://… or - for the screen.")
    ] = "",
    json: Json = False,
) -> None:
    """Show what something was made from, or with --down what came of it."""
    if address == "export":
        from trainwright.cli.exporting import export

        export(since, to)
        return
    from trainwright.cli.session import session
    from trainwright.core.errors import SpecError
    from trainwright.core.lineage import within_depth
    from trainwright.service.lineage import downstream, upstream

    if up and down:
        raise SpecError("TW2001", "--up and --down are two questions", remedy="ask them one after the other")
    limit = most if most is not None else 0 if json else MOST
    with session() as app:
        found = downstream(app.context, address, limit) if down else upstream(app.context, address)
    _show(within_depth(found, depth) if depth else found, limit, svg, json=json)


def _show(found: "Lineage", limit: int, svg: Path | None, *, json: bool) -> None:
    from trainwright.cli import output

    if svg is not None:
        from trainwright.cli.drawing import write_picture
        from trainwright.notebook.lineage import picture

        write_picture(picture(found), f"lineage of {found.asked}", svg)
    if json:
        output.put_json(found)
    elif svg is None:
        _draw(found, limit)
    if found.impact is not None and not json:
        output.put(summary(found.impact))


def summary(impact: "Impact") -> str:
    """Return one line that says how far something reaches."""
    if not impact.attempts and not impact.models:
        return "impact: nothing came of it"
    runs = f"{impact.runs:,} run{'s' if impact.runs != 1 else ''}"
    models = f"{len(impact.models):,} model{'s' if len(impact.models) != 1 else ''}"
    versions = f" ({impact.versions:,} version{'s' if impact.versions != 1 else ''})" if impact.versions else ""
    return f"impact: {runs}, {models}{versions}, in use: {', '.join(impact.aliases) or 'none'}"


def _draw(found: "Lineage", limit: int) -> None:
    """Print a tree; what was drawn before is named only, and long lists of branches are cut."""
    from trainwright.cli import output

    nodes, further = found.by_address(), found.next()
    seen: set[str] = set()
    left: list[tuple[str, str, str]] = [(found.root, "", "")]  # a stack: a tree may be deeper than Python recurses
    while left:
        address, first, rest = left.pop()
        if address not in nodes:  # a line that says how many more there are
            output.put(f"{first}{address}")
            continue
        known = address in seen and bool(further[address])
        output.put(f"{first}{_words(nodes[address])}{'  (see above)' if known else ''}".rstrip())
        if known:
            continue
        seen.add(address)
        branches = [*further[address]]
        older = found.omitted_runs if address == found.root else 0
        if limit and len(branches) > limit:
            branches = [*branches[:limit], f"… {len(branches) - limit:,} more{_with_older(older)}"]
        elif older:
            branches.append(f"… of {older:,} older run{'s' if older != 1 else ''}: --most 0")
        for place, child in reversed(list(enumerate(branches))):
            last = place == len(branches) - 1
            left.append((child, rest + ("└─ " if last else "├─ "), rest + ("   " if last else "│  ")))


def _with_older(runs: int) -> str:
    return f", and those of {runs:,} older runs" if runs else ""


def _words(node: "LineageNode") -> str:
    digest = f"  {node.digest[7:19]}" if node.digest else ""
    facets = node.facets
    run = f"  {facets.pipeline} #{facets.number} {facets.state}," if node.kind == "attempt" and facets.number else ""
    equal = f", {facets.equal_outputs:,} more with equal content" if facets.equal_outputs else ""
    return f"{node.address}{digest}{run or ' '} {node.note}{equal}"


def exporter() -> int:
    """Send the project's events to where they go until nothing is left to tell, then leave."""
    from trainwright.cli.exporting import keep_sending

    return keep_sending()
