"""``tw simulate``: what another cluster, other quotas or another policy would do to a load."""

from typing import TYPE_CHECKING, Annotated

import typer

from trainwright.cli.pipeline import Json

if TYPE_CHECKING:
    from trainwright.app import App
    from trainwright.core.node import Node
    from trainwright.sched.policy import Policy
    from trainwright.sim.figures import Side
    from trainwright.sim.trace import Load

Words = list[str]


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(simulate)


def simulate(
    *,
    trace: Annotated[str, typer.Option("--trace", metavar="FILE", help="The load: .csv or .jsonl, .gz too.")] = "",
    history: Annotated[str, typer.Option("--history", help="The load: what this project ran; by itself 30d.")] = "",
    synthetic: Annotated[
        str, typer.Option("--synthetic", help="The load: made up: jobs=1000,load=0.9,gpus=1:7/8:1,queues=ads/search.")
    ] = "",
    inventory: Annotated[
        str, typer.Option("--inventory", metavar="FILE", help="Pretended nodes, instead of those there are.")
    ] = "",
    nodes: Annotated[
        Words, typer.Option("--nodes", help="8xA100:8: there are these; +4, -2: so many more, fewer.")
    ] = [],  # noqa: B006 - never changed
    quota: Annotated[Words, typer.Option("--quota", help="ads=16 (GPUs), ads.cpu=64, ads.gpu=16..24.")] = [],  # noqa: B006
    queue_weight: Annotated[Words, typer.Option("--queue-weight", help="ads=2.")] = [],  # noqa: B006
    policy: Annotated[str, typer.Option("--policy", metavar="FILE", help="YAML with the rules that differ.")] = "",
    seed: Annotated[int, typer.Option("--seed", help="Of a load that is made up.")] = 0,
    plot: Annotated[str, typer.Option("--plot", metavar="FILE", help="Charts: .html, .svg, or .png.")] = "",
    check: Annotated[bool, typer.Option("--check", help="Hold the invariants at every tick; slower.")] = False,
    json: Json = False,
) -> None:
    """Run a load on a virtual clock, as it is and with a change; print waiting, use and fairness before and after."""
    from trainwright.cli import output
    from trainwright.cli.progress import Progress
    from trainwright.cli.session import session
    from trainwright.sim import charting
    from trainwright.sim.comparison import Change, clusters, compare
    from trainwright.sim.declared import declared_cluster
    from trainwright.sim.mistakes import wrong

    if sum(map(bool, (trace, history, synthetic))) > 1:
        wrong("--trace, --history, --synthetic", "there is one load at a time", remedy="give one of them")
    charting.check_name(plot)
    with session() as app:
        from trainwright.app import nodes_of

        change = Change(tuple(nodes), tuple(quota), tuple(queue_weight), _policy(app, policy))
        there = nodes_of(app, inventory)
        both = clusters(declared_cluster(app.context, there), change)
        load = _load(app, (trace, history, synthetic), seed, both[0].nodes)
        with Progress() as progress:
            sides = compare(load, both, change, check=check, told=progress.counted)
        if plot:
            charting.write(app.context.here / plot, plot, sides, _about(load, both[0].nodes))
    if json:
        output.put_json({"load": _about(load, both[0].nodes), **{side.label: side.summary for side in sides}})
    else:
        _show(sides, load, both[0].nodes)


def _load(app: "App", given: tuple[str, str, str], seed: int, nodes: "tuple[Node, ...]") -> "Load":
    from trainwright.core import quantity
    from trainwright.core.errors import SpecError
    from trainwright.sim.past import past_load
    from trainwright.sim.synthetic import asked_of, synthetic
    from trainwright.sim.trace import Load, read_trace

    trace, history, made_up = given
    if trace:
        return read_trace(app.context.here / trace, trace, nodes)
    if made_up:
        return Load(tuple(synthetic(asked_of(made_up), nodes, seed)))
    try:
        since = quantity.duration(history or "30d")
    except ValueError as error:
        raise SpecError("TW2403", f"--history {error}") from error
    return past_load(app.context, since)


def _policy(app: "App", name: str) -> "Policy | None":
    from trainwright.core.errors import NotFoundError
    from trainwright.sim.policy_file import policy_of

    if not name:
        return None
    try:
        text = (app.context.here / name).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise NotFoundError("TW4004", f"there is no file {name}") from None
    return policy_of(text, name)


def _about(load: "Load", nodes: "tuple[Node, ...]") -> str:
    """Return in one line what is simulated on what."""
    gpus = sum(len(node.devices) for node in nodes)
    has = _counted(gpus, "GPU") if gpus else _counted(sum(node.total.cpu_milli for node in nodes) // 1000, "core")
    written = f" of a {load.dialect} trace" if load.dialect else ""
    return f"{_counted(len(load.jobs), 'job')}{written} on {_counted(len(nodes), 'node')} with {has}"


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _show(sides: "list[Side]", load: "Load", nodes: "tuple[Node, ...]") -> None:
    from trainwright.cli import output
    from trainwright.sim.figures import figures, waiting

    output.say(_about(load, nodes))
    if load.unused:
        output.say(f"columns that mean nothing here: {', '.join(load.unused)}")
    lines = [(name, *values) for name, values in figures(sides)]
    output.table(("", *(side.label for side in sides)), lines)
    output.put()
    columns, waits = waiting(sides)
    output.table(columns, waits)
    for side in sides:
        for why, count in side.summary.stuck[:5]:
            output.say(f"{side.label}: {_counted(count, 'job')} never ended: {why}")
