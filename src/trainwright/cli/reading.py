"""Commands that only read: ps, show, why, logs, metrics, compare."""

import re
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from trainwright.cli.pipeline import Json
from trainwright.cli.running import RunName, of_run

if TYPE_CHECKING:
    from trainwright.app import App
    from trainwright.core.run import Run, RunView
    from trainwright.plan.plan import Plan
    from trainwright.service.why import Explanation

NO_SAMPLES = "no samples: steps that are over within a second have none"
Jsonl = Annotated[bool, typer.Option("--jsonl", help="Print one JSON document a line.")]
Address = Annotated[str, typer.Argument(metavar="RUN[/STEP[/N]]", help="A run, a step of it, an attempt at that.")]


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (ps, show, why, logs, metrics, compare):
        app.command()(command)


def ps(
    lines: Annotated[int, typer.Option("-n", "--lines", min=1, help="How many, newest first.")] = 20,
    json: Json = False,
    jsonl: Jsonl = False,
) -> None:
    """List the latest runs."""
    from trainwright.cli import output
    from trainwright.cli.session import session
    from trainwright.store import runs

    with session() as app:
        with app.database.reading() as rows:
            found = runs.newest_runs(rows, app.context.project, lines)
        now = app.context.clock.now()
    if json:
        output.put_json(found)
    elif jsonl:
        output.put_jsonl(found)
    elif not found:
        output.say("no runs yet; start one: tw run FILE")
    else:
        output.table(
            ("run", "#", "pipeline", "state", "started", "took", "reason and parameters"),
            [
                (
                    r.id,
                    str(r.number),
                    r.pipeline,
                    output.marked(r.state),
                    output.when(r.submitted_at, now),
                    output.took(r.submitted_at, r.finished_at, now),
                    _about(r),
                )
                for r in found
            ],
            one_line=("pipeline", "reason and parameters"),
        )


def show(
    name: RunName,
    fingerprint: Annotated[bool, typer.Option("--fingerprint", help="Show all that identifies it.")] = False,
    json: Json = False,
) -> None:
    """Show one run: steps, checks, outputs, fingerprint. Also: tw show fp:3fa9…"""  # noqa: D415
    from trainwright.cli import output
    from trainwright.cli.session import session
    from trainwright.service.lookup import read_run
    from trainwright.service.triggers import story_of
    from trainwright.service.why import story_lines
    from trainwright.store import runs

    with session() as app:
        view, plan = read_run(app.context, of_run(name))
        started_for, started = story_of(app.context, view.run.id)
        with app.database.reading() as rows:
            print_ = runs.fingerprint(rows, app.context.project, view.run.fingerprint)
        if json:
            output.put_json(
                {"run": view.run, "steps": view.steps, "attempts": view.attempts, "outputs": view.outputs}
                | {"fingerprint": print_, "started_for": started_for, "started": started}
            )
            return
        if fingerprint or name.startswith("fp:"):
            _show_fingerprint(print_)
            return
        _show_run(app, view, plan, print_.address)
        for line in story_lines(started_for, started):
            output.put(line)


def why(address: Address, json: Json = False) -> None:
    """Say why a run or step waits, failed, was refused or stopped."""
    from trainwright.cli import output
    from trainwright.cli.session import session
    from trainwright.service.lookup import read_run, split_address
    from trainwright.service.triggers import story_of
    from trainwright.service.why import explain_run, explain_step, story_lines

    name, step, _ = split_address(address)
    with session() as app:
        view, plan = read_run(app.context, name)
        lines = story_lines(*story_of(app.context, view.run.id))
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
    from trainwright.service.lookup import find_attempt, find_step, read_run, split_address

    name, step, number = split_address(address)
    with session() as app:
        view, _ = read_run(app.context, name)
        if follow:
            chosen = find_step(view, step) if step else _current(view)
            follow_log(app.context, lambda: read_run(app.context, view.run.id)[0], chosen, _write)
            return
        names = [find_step(view, step)] if step else [s.name for s in view.steps]
        for each in names:
            attempt = find_attempt(view, each, number)
            if attempt is None:
                continue
            if len(names) > 1:
                output.say(f"--- {attempt.id}")
            path = files.log_file(app.context, attempt)
            if tail is not None:
                _write("".join(f"{line}\n" for line in files.tail(app.context, attempt, tail)).encode())
            elif path.is_file():
                _write(path.read_bytes())


def metrics(
    address: Address,
    series: Annotated[bool, typer.Option("--series", help="Every point instead of the last values.")] = False,
    usage: Annotated[bool, typer.Option("--usage", help="Cores, memory and GPUs in use over time instead.")] = False,
    json: Json = False,
    jsonl: Jsonl = False,
) -> None:
    """Show the metrics of a run or step."""
    from trainwright.cli import output
    from trainwright.cli.session import session
    from trainwright.service import metrics as files
    from trainwright.service.lookup import find_attempt, find_step, read_run, split_address

    name, step, number = split_address(address)
    with session() as app:
        view, _ = read_run(app.context, name)
        names = [find_step(view, step)] if step else [s.name for s in view.steps]
        attempts = [a for a in (find_attempt(view, n, number) for n in names) if a is not None]
        points = [(a, files.series(app.context, a)) for a in attempts]
        samples = [(a, files.usage(app.context, a)) for a in attempts]
    if usage:
        lines: list[dict[str, object]] = [
            {"step": a.step, "attempt": a.number, "at_s": sample.get("t"), "cpu": sample.get("cpu")}
            | {"memory_bytes": sample.get("memory_bytes"), "processes": sample.get("processes")}
            | {"gpus": sample.get("gpus")}
            for a, found in samples
            for sample in found
        ]
    elif series:
        lines = [
            {"step": a.step, "attempt": a.number, "name": p.name, "at_step": p.step, "value": p.value, "at_s": p.at_s}
            for a, found in points
            for p in found
        ]
    else:
        lines = [
            {"step": a.step, "attempt": a.number, "name": key, "last": m.last, "low": m.low, "high": m.high}
            | {"count": m.count, "last_step": m.last_step}
            for a in attempts
            for key, m in sorted(a.metrics.items())
        ]
    if json:
        output.put_json(lines)
    elif jsonl:
        output.put_jsonl(lines)
    elif lines:
        output.table(tuple(lines[0]), [tuple(_cell(v) for v in line.values()) for line in lines])
    else:
        output.say(NO_SAMPLES if usage else "nothing was logged; a step does it with: tw.log(loss=0.1)")


def compare(
    left: Annotated[str, typer.Argument(help="A run.")],
    right: Annotated[str, typer.Argument(help="Another run.")],
    everything: Annotated[bool, typer.Option("--all", help="Equal lines too.")] = False,
    json: Json = False,
) -> None:
    """Show what differs between two runs: parameters, metrics, code, data, environment, hardware."""
    from trainwright.cli import output
    from trainwright.cli.session import session
    from trainwright.service.compare import compare as differences

    with session() as app:
        first, second, lines = differences(app.context, of_run(left), of_run(right))
    shown = [line for line in lines if everything or not line.equal]
    if json:
        output.put_json({"left": first, "right": second, "differences": shown})
        return
    rows = [(line.part, line.name, _cell(line.left), _cell(line.right)) for line in shown]
    sides = [f"#{run.number} {run.id}" for run in (first, second)]
    if rows:
        output.table(("part", "name", *sides), rows)
    else:
        output.put(f"{' and '.join(sides)} differ in nothing")
    equal = sum(line.equal for line in lines)
    if not everything:
        output.say(f"{equal} parts are equal (--all shows them)")


def _show_run(app: "App", view: "RunView", plan: "Plan", address: str) -> None:
    from trainwright.cli import output
    from trainwright.core.quantity import show_bytes
    from trainwright.service.why import gate_line, memory_of_run

    run, now = view.run, app.context.clock.now()
    output.put(f"{output.marked(run.state)}  {run.pipeline} #{run.number}  {run.id}  {address}")
    output.put(f"file {run.source}, submitted {output.when(run.submitted_at, now)} by {run.submitted_by}")
    if run.params:
        output.put("params " + "  ".join(f"{k}={v}" for k, v in run.params.items()))
    for data in plan.data:
        output.put(f"data {data.name} = {data.address}  {data.content.digest[7:19]}")
    rows = []
    for step in view.steps:
        attempt = view.latest(step.name)
        figures = {k: m.last for k, m in attempt.metrics.items()} if attempt else {}
        text = "  ".join(f"{k} {output.figure(v)}" for k, v in list(figures.items())[-4:])
        if step.metadata.get("model_version"):
            text = str(step.metadata["model_version"])
        if step.reason and step.state not in {"succeeded", "running"}:
            text = step.reason.sentence()
        length = output.took(step.started_at, step.finished_at, now)
        rows.append((output.marked(step.state), step.name, str(step.attempts or ""), length, text))
    output.table(("state", "step", "tries", "took", "metrics or reason"), rows)
    for line in memory_of_run(view, plan):
        output.put(line)
    for step in view.steps:
        for gate in step.gates:
            output.put(f"gate {step.name}: {gate_line(gate)}")
    for made in view.outputs:
        size = show_bytes(made.content.size_bytes)
        output.put(
            f"made {made.address}  {made.kind}  {made.content.digest[7:19]}  {made.content.files} file(s), {size}"
        )


def _show_fingerprint(print_: object) -> None:
    from trainwright.cli import output
    from trainwright.core.codec import to_json
    from trainwright.core.fingerprint import Fingerprint
    from trainwright.core.quantity import show_bytes

    if not isinstance(print_, Fingerprint):
        return
    code, hardware = print_.code, print_.hardware
    output.put(f"fingerprint  {print_.address}  {print_.digest}")
    output.put(f"plan         {print_.plan}")
    output.put(f"code         {code.tree}  folder {code.folder}")
    output.put(f"commit       {code.commit or 'none'} {code.branch}{'  dirty' if code.dirty else ''}")
    for what, paths in (("modified", code.modified), ("untracked", code.untracked)):
        for path in paths:
            output.put(f"  {what:10} {path}")
    for name, digest in print_.data.items():
        output.put(f"data         {name} {digest}")
    output.put(f"params       {to_json(print_.params)}")
    output.put(f"seed         {print_.seed}")
    output.put(
        f"hardware     {hardware.cpu}, {hardware.cores} cores, {show_bytes(hardware.memory_bytes)} {hardware.gpus}"
    )
    packages = print_.environment.packages
    kind = "locked" if print_.environment.locked else "inherited, not locked"
    output.put(f"environment  Python {print_.environment.python}, {len(packages)} packages ({kind})")
    output.put("  " + " ".join(f"{name}=={version}" for name, version in packages.items()))


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


def _current(view: "RunView") -> str:
    """Return the step to follow when none was named: the first that runs, else the last that ran."""
    running = [s.name for s in view.steps if s.state == "running"]
    started = [s.name for s in view.steps if s.attempts]
    return (running or started[-1:] or [s.name for s in view.steps])[0]


def _write(data: bytes) -> int:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
    return len(data)


def _about(run: "Run") -> str:
    """Return why a run is not well, in short, and its parameters."""
    words = ""
    if run.reason is not None and run.state != "succeeded":
        step, cause = run.reason.evidence.get("step"), run.reason.evidence.get("cause")
        words = f"{step}: {cause}" if step and cause else run.reason.sentence()
    return "  ".join(filter(None, (words, " ".join(f"{k}={v}" for k, v in run.params.items()))))


def _cell(value: object) -> str:
    from trainwright.cli import output

    if value is None:
        return ""
    if isinstance(value, float):
        return output.figure(value)
    return value[7:19] if isinstance(value, str) and re.fullmatch("sha256:[0-9a-f]{64}", value) else str(value)
