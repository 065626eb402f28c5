"""``tw show``: one run, or one step of it with what is in it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from trainwright.cli.pipeline import Json

if TYPE_CHECKING:
    from trainwright.app import App
    from trainwright.core.artifact import Output
    from trainwright.core.fingerprint import Fingerprint
    from trainwright.core.run import RunView, StepRun
    from trainwright.plan.plan import Plan
    from trainwright.service.outline import Line, Outline

PAGE = 100
"""Steps of one page: some 350 KB of JSON with items of a kilobyte."""

Address = Annotated[str, typer.Argument(metavar="RUN[/STEP]", help="Id or its beginning, number, pipeline, or -1.")]


def show(
    address: Address,
    fingerprint: Annotated[bool, typer.Option("--fingerprint", help="Show all that identifies it.")] = False,
    everything: Annotated[bool, typer.Option("--all", help="Every member of large groups.")] = False,
    page: Annotated[int, typer.Option("--page", min=1, help="Which page of the members of a step, or of --json.")] = 1,
    limit: Annotated[int, typer.Option("--limit", min=1, max=1000, help="Members, or steps of --json, a page.")] = PAGE,
    json: Json = False,
) -> None:
    """Show one run: steps, checks, outputs, fingerprint; or one step. Also: tw show fp:3fa9…"""  # noqa: D415
    from trainwright.cli import output
    from trainwright.cli.session import session
    from trainwright.service.environments import built_for
    from trainwright.service.lookup import find_step, read_run, split_address
    from trainwright.service.outline import MOST, Outline, page_of
    from trainwright.service.reproduce import trust_lines
    from trainwright.service.triggers import story_of
    from trainwright.service.why import memory_of_run, story_lines
    from trainwright.store import runs

    name, step, _ = split_address(address)
    with session() as app:
        view, plan = read_run(app.context, name)
        started_for, started = story_of(app.context, view.run.id)
        with app.database.reading() as rows:
            print_ = runs.fingerprint(rows, app.context.project, view.run.fingerprint)
        if fingerprint or (name.startswith("fp:") and not json):
            from trainwright.cli.fingerprint import show_fingerprint

            show_fingerprint(app.context, print_, plan, json=json)
            return
        top = find_step(view, step) if step else None
        if json:
            found = page_of(view, plan, top, page, limit)
            story = {"started_for": started_for, "started": started}
            output.put_json(found | {"fingerprint": print_} | story)
            return
        outline = Outline(view, plan)
        if top is not None:
            _show_step(app, view, outline, view.step(top), page, len(view.steps) if everything else limit)
            return
        _show_head(app, view, plan, print_)
        lines = list(outline.lines(most=len(view.steps) if everything else MOST))
        remarks = [*memory_of_run(view, plan), *built_for(app.context, view, plan)]
        _show_steps(app, view, outline, lines, remarks)
        for line in (*story_lines(started_for, started), *trust_lines(app.context, view)):
            output.put(line)


def _show_head(app: "App", view: "RunView", plan: "Plan", print_: "Fingerprint") -> None:
    from trainwright.cli import output
    from trainwright.cli.environment_text import in_short

    run, now = view.run, app.context.clock.now()
    output.put(f"{output.marked(run.state)}  {run.pipeline} #{run.number}  {run.id}  {print_.address}")
    output.put(f"file {run.source}, submitted {output.when(run.submitted_at, now)} by {run.submitted_by}")
    if run.params:
        output.put("params " + "  ".join(f"{k}={v}" for k, v in run.params.items()))
    for data in plan.data:
        output.put(f"data {data.name} = {data.address}  {data.content.digest[7:19]}")
    output.put(f"environment: {in_short(print_.environment)}")


def _show_step(app: "App", view: "RunView", outline: "Outline", step: "StepRun", page: int, limit: int) -> None:
    """Print one step; of a group one page of its members."""
    from trainwright.cli import output
    from trainwright.core.codec import to_json
    from trainwright.service.outline import Line

    output.put(f"{output.marked(step.state)}  runs/{view.run.id}/{step.name}  {outline.count(step)}".rstrip())
    if step.item is not None:
        output.put(f"item {to_json(step.item)}")
    members = outline.inside(step.name)
    lines = [Line(step, 0)]
    for member in members[(page - 1) * limit : page * limit]:
        lines += [Line(member, 1), *outline.lines(member.name, depth=2)]
    _show_steps(app, view, outline, lines)
    pages = -(-len(members) // limit)
    if pages > 1:
        further = f"; more: --page {page + 1}, or --all" if page < pages else ""
        output.say(f"page {page} of {pages}, {len(members)} members{further}")


def _show_steps(
    app: "App", view: "RunView", outline: "Outline", lines: "Sequence[Line]", remarks: Sequence[str] = ()
) -> None:
    """Print steps as a table, remarks, their checks and what they made."""
    from trainwright.cli import output
    from trainwright.core.quantity import show_bytes
    from trainwright.service.why import gate_line

    now = app.context.clock.now()
    rows = []
    for line in lines:
        indent = "  " * line.depth
        if line.step is None:
            rows.append(("", f"{indent}… {line.rest:,} more", "", "", f"tw show {view.run.id}/{line.group}"))
            continue
        step = line.step
        length = output.took(step.started_at, step.finished_at, now)
        tries = outline.count(step) or str(step.attempts or "")
        rows.append((output.marked(step.state), indent + step.name, tries, length, _words(view, step)))
    output.table(("state", "step", "tries", "took", "metrics or reason"), rows)
    reused = sum(step.state == "cached" for step in view.steps)
    if reused:
        output.put(f"cached {reused} of {len(view.steps)} steps")
    for remark in remarks:
        output.put(remark)
    shown = [line.step for line in lines if line.step is not None]
    for step in shown:
        for gate in step.gates:
            output.put(f"gate {step.name}: {gate_line(gate)}")
    made_by: dict[str, list[Output]] = {}
    for made in view.made():
        made_by.setdefault(made.step, []).append(made)
    for made in (made for step in shown for made in made_by.get(step.name, ())):
        size = show_bytes(made.content.size_bytes)
        output.put(
            f"made {made.address}  {made.kind}  {made.content.digest[7:19]}  {made.content.files} file(s), {size}"
        )


def _words(view: "RunView", step: "StepRun") -> str:
    """Return the last metrics of a step, the version that it registered, or why it is as it is."""
    from trainwright.cli import output

    if step.reason and step.state not in {"succeeded", "running"}:
        return step.reason.sentence()
    if step.metadata.get("model_version"):
        return str(step.metadata["model_version"])
    attempt = view.latest(step.name)
    figures = {k: m.last for k, m in attempt.metrics.items()} if attempt else {}
    return "  ".join(f"{k} {output.figure(v)}" for k, v in list(figures.items())[-4:])
