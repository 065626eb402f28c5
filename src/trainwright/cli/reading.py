"""Commands that only read: why, logs, metrics; ``ps``, ``show`` and ``compare`` are in modules of their own."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from trainwright.cli.comparing import compare
from trainwright.cli.pipeline import Json
from trainwright.cli.searching import Jsonl, Since, Sort, Where, ps, table_of_metrics
from trainwright.cli.showing import show

if TYPE_CHECKING:
    from trainwright.core.ids import StepName
    from trainwright.core.run import RunView
    from trainwright.plan.plan import Plan
    from trainwright.service.why import Explanation

NO_SAMPLES = "no samples: steps that are over within a second have none"
Address = Annotated[str, typer.Argument(metavar="RUN[/STEP[/N]]", help="A run, a step of it, an attempt at that.")]


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (ps, show, why, logs, metrics, compare):
        app.command()(command)


def why(address: Address, json: Json = False) -> None:
    """Say why a run or step waits, failed, was refused or stopped."""
    from trainwright.cli import output
    from trainwright.cli.session import session
    from trainwright.service.lookup import read_run, split_address
    from trainwright.service.reproduce import trust_lines
    from trainwright.service.triggers import story_of
    from trainwright.service.why import explain_run, explain_step, story_lines

    name, step, _ = split_address(address)
    with session() as app:
        view, plan = read_run(app.context, name)
        lines = (*story_lines(*story_of(app.context, view.run.id)), *trust_lines(app.context, view))
    explanation = explain_step(view, plan, step) if step else explain_run(view, plan, lines)
    if json:
        output.put_json(explanation)
    else:
        _print_explanation(explanation, "")


def logs(
    address: Address,
    follow: Annotated[bool, typer.Option("-f", "--follow", help="Go on until the step has ended.")] = False,
    tail: Annotated[int | None, typer.Option("-n", "--tail", min=0, help="Only the last lines.")] = None,
) -> None:
    """Print what the commands of a run wrote."""
    from trainwright.cli import output
    from trainwright.cli.session import session
    from trainwright.cli.watch import follow_log
    from trainwright.service import metrics as files
    from trainwright.service.lookup import find_attempt, read_run, split_address

    name, step, number = split_address(address)
    with session() as app:
        view, plan = read_run(app.context, name)
        names = _steps(view, plan, step)
        if follow:
            chosen = _current(view, names)
            follow_log(app.context, lambda: read_run(app.context, view.run.id)[0], chosen, _write)
            return
        for each in names:
            attempt = find_attempt(view, each, number)
            if attempt is None:
                continue
            if len(names) > 1:
                output.say(f"--- {attempt.id}")
            if attempt.origin is not None:
                output.say(f"reused: this is what runs/{attempt.origin} wrote")
            path = files.log_file(app.context, attempt)
            if tail is not None:
                _write("".join(f"{line}\n" for line in files.tail(app.context, attempt, tail)).encode())
            elif path.is_file():
                _write(path.read_bytes())


def metrics(
    address: Annotated[str, typer.Argument(metavar="[RUN[/STEP[/N]]]", help="A run, a step, an attempt.")] = "",
    *,
    series: Annotated[bool, typer.Option("--series", help="Every point instead of the last values.")] = False,
    usage: Annotated[bool, typer.Option("--usage", help="Cores, memory and GPUs in use over time instead.")] = False,
    name: Annotated[list[str] | None, typer.Option("--name", help="Of many runs, this metric; repeatable.")] = None,
    where: Where = "",
    since: Since = "",
    sort: Sort = "",
    lines: Annotated[int, typer.Option("-n", "--lines", min=1, help="At most so many runs.")] = 20,
    json: Json = False,
    jsonl: Jsonl = False,
) -> None:
    """Show the metrics of a run or step, or --name of many runs; --series without an attempt merges those at a step."""
    from trainwright.cli import output

    if not address or name:
        table_of_metrics(address, name or [], (where, since, sort, lines), json=json, jsonl=jsonl)
        return
    rows = _measured(address, series=series, usage=usage)
    if json:
        output.put_json(rows)
    elif jsonl:
        output.put_jsonl(rows)
    elif rows:
        output.table(tuple(rows[0]), [tuple(output.cell(v) for v in row.values()) for row in rows])
    else:
        output.say(NO_SAMPLES if usage else "nothing was logged; a step does it with: tw.log(loss=0.1)")


def _measured(address: str, *, series: bool, usage: bool) -> list[dict[str, object]]:
    """Return what one run, step or attempt logged, or used, a line each."""
    from trainwright.cli.session import session
    from trainwright.service import metrics as files
    from trainwright.service.lookup import find_attempt, read_run, split_address, tries_of

    run, step, number = split_address(address)
    with session() as app:
        view, plan = read_run(app.context, run)
        names = _steps(view, plan, step)
        attempts = [a for a in (find_attempt(view, n, number) for n in names) if a is not None]
        points = [
            found
            for a in attempts
            for found in files.merged(app.context, [a] if number else tries_of(view, a.step) if series else [])
        ]
        samples = [(a, files.usage(app.context, a)) for a in attempts if usage]
    if usage:
        return [
            {"step": a.step, "attempt": a.number, "at_s": sample.get("t"), "cpu": sample.get("cpu")}
            | {"memory_bytes": sample.get("memory_bytes"), "processes": sample.get("processes")}
            | {"gpus": sample.get("gpus")}
            for a, found in samples
            for sample in found
        ]
    if series:
        return [
            {"step": a.step, "attempt": a.number, "name": p.name, "at_step": p.step, "value": p.value, "at_s": p.at_s}
            for a, p in points
        ]
    return [
        {"step": a.step, "attempt": a.number, "name": key, "last": m.last, "low": m.low, "high": m.high}
        | {"count": m.count, "last_step": m.last_step}
        for a in attempts
        for key, m in sorted(a.metrics.items())
    ]


def _print_explanation(explanation: "Explanation", indent: str) -> None:
    from trainwright.cli import output

    words = f": {explanation.sentence}" if explanation.sentence else ""
    code = f"  [{explanation.code}]" if explanation.code else ""
    output.put(f"{indent}{explanation.subject} {explanation.state}{words}{code}")
    for line in explanation.evidence:
        output.put(f"{indent}  {line}")
    if explanation.remedy:
        output.put(f"{indent}  fix: {explanation.remedy}")
    for inner in explanation.about:
        _print_explanation(inner, indent + "  ")


def _steps(view: "RunView", plan: "Plan", step: str | None) -> "list[StepName]":
    """Return a step and what is in it, or all steps, each group before its members."""
    from trainwright.service.lookup import find_step
    from trainwright.service.outline import Outline

    outline = Outline(view, plan)
    if step is None:
        return [s.name for s in outline.below(None)]
    name = find_step(view, step)
    return [name, *(s.name for s in outline.below(name))]


def _current(view: "RunView", names: "list[StepName]") -> "StepName":
    """Return the step to follow: the first that runs a command, else the last that ran one, else the first."""
    tried = [name for name in names if view.step(name).attempts]
    running = [name for name in tried if view.step(name).state == "running"]
    return (running or tried[-1:] or names)[0]


def _write(data: bytes) -> int:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
    return len(data)
