"""Commands about pipeline files: init, validate, plan, schema."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from trainwright.core.cache import CacheMode
    from trainwright.engine.forecast import Foresight
    from trainwright.plan.plan import Plan, PlannedStep
    from trainwright.spec.document import Document

File = Annotated[str, typer.Argument(help="Pipeline file.", show_default=False)]
Params = Annotated[
    list[str] | None, typer.Option("-p", "--param", metavar="K=V", help="Set a parameter; may be repeated.")
]
Steps = Annotated[
    list[str] | None,
    typer.Option("--step", metavar="STEP", help="Only this step and what it needs; may be repeated."),
]
CacheOption = Annotated[
    str,
    typer.Option(
        "--cache",
        metavar="auto|off|refresh",
        help="Reuse what is equal; run all and remember nothing; or run all and remember the new.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(init)
    app.command()(validate)
    app.command()(plan)
    app.command()(schema)


def init(
    folder: Annotated[Path, typer.Argument(help="Folder to write to; made when absent.")] = Path(),
) -> None:
    """Write a small runnable project and print the next command."""
    from trainwright.cli import output
    from trainwright.cli.template import write_project

    for path in write_project(folder):
        output.say(f"wrote {path}")
    output.put(f"next: tw run {folder / 'pipeline.yaml'}")


def validate(file: File, param: Params = None, json: Json = False) -> None:
    """Check a pipeline file and its parameters; runs and stores nothing."""
    from trainwright.cli import output
    from trainwright.service.documents import read_document
    from trainwright.spec.params import resolve

    document = read_document(Path(file), file)
    params = resolve(document, overrides(param or []))
    check_files(document, check_graph(document, params), Path(file).parent.absolute())
    warn(document)
    if json:
        output.put_json({"pipeline": document.spec.pipeline, "params": params, "warnings": document.warnings})
    else:
        count = len(document.spec.steps)
        output.put(f"✓ {file}: pipeline {document.spec.pipeline}, {count} step{'s' if count > 1 else ''}")


def plan(
    file: File,
    param: Params = None,
    *,
    step: Steps = None,
    diff: Annotated[
        str, typer.Option("--diff", metavar="RUN", help="Show what differs from the plan of a run instead.")
    ] = "",
    graph: Annotated[bool, typer.Option("--graph", help="Draw the steps and what they wait for.")] = False,
    svg: Annotated[Path | None, typer.Option("--svg", metavar="FILE", help="Write that drawing as SVG.")] = None,
    cache: CacheOption = "auto",
    json: Json = False,
    as_: Annotated[
        str, typer.Option("--as", metavar="yaml", help="Print the pipeline itself as YAML, whatever it was written in.")
    ] = "",
) -> None:
    """Show what a run would do: the compiled steps in order, and which would run and why."""
    if as_:
        _put_yaml(file, as_, "-p" if param else "--step" if step else "--diff" if diff else "")
        return
    from trainwright.cli import output
    from trainwright.cli.session import session
    from trainwright.service.documents import read_document
    from trainwright.service.submit import prepare

    document = read_document(Path(file), file)
    warn(document)
    with session() as app:
        folder = Path(file).parent.absolute()
        prepared = prepare(app.context, document, overrides(param or []), folder, file, only=step or ())
        if diff:
            from trainwright.service.lookup import read_run

            view, before = read_run(app.context, diff)
            show_differences(view.run.id, before, prepared.plan, json=json)
            return
        drawn = graph or svg is not None
        foresights = {} if drawn and not json else app.foresee(prepared, cache_mode(cache))
    if svg is not None:
        from trainwright.cli.drawing import write_svg

        write_svg(prepared.plan, svg)
    if json:
        output.put_json({"digest": prepared.plan.digest, "plan": prepared.plan, "cache": foresights})
    elif graph and svg is None:
        from trainwright.cli.drawing import draw_plan

        draw_plan(prepared.plan)
    elif svg is None:
        show_plan(prepared.plan, stderr=False, foresights=foresights)


def _put_yaml(file: str, face: str, other: str) -> None:
    """Print a checked pipeline as YAML.

    Raises:
        SpecError: another face is asked for, or there is an ``other`` option, which speaks of a run.
    """
    from trainwright.cli import output
    from trainwright.core.errors import SpecError
    from trainwright.service.documents import read_plain
    from trainwright.spec.write import write

    if face != "yaml":
        raise SpecError("TW2001", f"--as {face} is not possible", where="--as", remedy="write --as yaml")
    if other:
        why = "it prints the pipeline, not what one run of it would do"
        message = f"{other} says nothing to --as yaml"
        raise SpecError("TW2001", message, where=other, why=why, remedy=f"leave {other} out")
    document, written = read_plain(Path(file), file)
    warn(document)
    output.put(write(written if isinstance(written, dict) else {}).removesuffix("\n"))


def schema(
    kind: Annotated[
        str, typer.Argument(help="Pipeline, or a kind of platform document such as AliasPolicy.")
    ] = "Pipeline",
) -> None:
    """Print the JSON Schema of pipeline files, or of a kind of platform document, for editors."""
    from trainwright.cli import output
    from trainwright.core.errors import SpecError
    from trainwright.spec import envelope
    from trainwright.spec.findings import suggest
    from trainwright.spec.kinds.known import KINDS
    from trainwright.spec.schema import json_schema

    if kind == "Pipeline":
        output.put_json(json_schema())
    elif kind in KINDS:
        output.put_json(envelope.json_schema(kind))
    else:
        known = ["Pipeline", *KINDS]
        raise SpecError("TW1014", f"there is no kind {kind}", remedy=suggest(kind, known, "known"))


def overrides(pairs: list[str]) -> dict[str, str]:
    """Return the parameters of ``-p K=V``; values stay text for the one typing rule.

    Raises:
        SpecError: a pair has no ``=``, or a parameter is given twice.
    """
    from trainwright.core.errors import SpecError

    found: dict[str, str] = {}
    for pair in pairs:
        if not pair.isprintable() and "\udc80" <= max(pair) <= "\udcff":  # how Python shows bytes that are no UTF-8
            raise SpecError("TW2002", f"-p {pair!a} is not UTF-8 text", remedy="write it as UTF-8")
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise SpecError("TW2002", f"-p {pair} is not of the form NAME=VALUE", remedy="write -p C=0.5")
        if name in found:
            raise SpecError("TW2003", f"parameter {name} is given twice", remedy="give it once")
        found[name] = value
    return found


def cache_mode(text: str) -> "CacheMode":
    """Return the mode of ``--cache``.

    Raises:
        SpecError: it is none.
    """
    from trainwright.core.cache import CacheMode
    from trainwright.core.errors import SpecError

    if text not in set(CacheMode):
        raise SpecError("TW2007", f"--cache {text} is not possible", remedy=f"possible: {', '.join(CacheMode)}")
    return CacheMode(text)


def check_graph(document: "Document", params: dict) -> "Plan":  # type: ignore[type-arg]
    """Compile with stand-ins for the data, so that references, cycles and registration are checked too."""
    from trainwright.core.artifact import Content, PinnedData
    from trainwright.core.ids import Digest
    from trainwright.plan.compile import compile_plan, data_requests

    nothing = Content(Digest("sha256:" + "0" * 64), 0, 0)
    stand_ins = tuple(PinnedData(n, asked, asked, nothing) for n, asked in sorted(data_requests(document).items()))
    return compile_plan(document, params, stand_ins)


def check_files(document: "Document", plan: "Plan", folder: Path) -> None:
    """Look whether the files are there from which environments are made.

    Raises:
        SpecError: one is not.
    """
    from trainwright.plan.environments import asked_environments

    if asked_environments(plan):
        from trainwright.service.locking import refuse_missing

        refuse_missing(document, plan, folder)


def show_plan(plan: "Plan", *, stderr: bool, foresights: "Mapping[str, Foresight] | None" = None) -> None:
    """Print a plan as a table, and below it what each step would do when that was foreseen."""
    from trainwright.cli import output

    print_ = output.say if stderr else output.put
    settings = "  ".join(f"{k}={v}" for k, v in plan.params.items())
    print_(f"plan {plan.pipeline}  {plan.digest[7:19]}  {settings}")
    for data in plan.data:
        print_(f"data {data.name} = {data.address}  {data.content.digest[7:19]}")
    rows = [row for step in plan.steps for row in _rows(step, 0)]
    output.table(("step", "stage", "after", "resources", "makes", "checks"), rows, stderr=stderr)
    for name, foreseen in (foresights or {}).items():
        print_(f"cache {name}: {foreseen.verdict}: {foreseen.sentence}")


def _rows(step: "PlannedStep", depth: int) -> "Iterator[tuple[str, ...]]":
    """Yield the lines of a step in the table of a plan, and of the steps of a pipeline file that it stands for."""
    made_by = step.group.body[0] if step.group is not None and step.group.kind != "once" else step
    checks = [c.expression for c in made_by.checks if not c.default]
    checks += [f"until {step.group.until}"] if step.group is not None and step.group.until else []
    checks += [f"when {text}" for text in dict.fromkeys([*_rule(step), *step.when, *made_by.when])]
    makes = ", ".join(f"{name}: {kind}" for name, kind in step.outputs.items())
    if step.registration:
        alias = f"@{step.registration.alias}" if step.registration.alias else ""
        makes = f"models/{step.registration.model}{alias}"
    room = str(made_by.resources) if made_by.command else ""
    name = step.name.removeprefix(step.name[: step.name.rfind(".") + 1] if depth else "")
    if step.name.endswith(".on_fail"):
        name = f"{step.name.split('.')[-2]}.on_fail"
    needs = ", ".join(need.rpartition(".")[2] for need in step.needs)
    yield "  " * depth + name + _times(step), str(step.stage or ""), needs, room, makes, "\n".join(checks)
    inner = made_by if made_by.group is not None else step
    for part in inner.group.body if inner.group is not None and inner.group.kind == "once" else ():
        yield from _rows(part, depth + 1)


def _rule(step: "PlannedStep") -> list[str]:
    return [] if step.join in {"all_success", "one_failed"} else [step.join.value]


def _times(step: "PlannedStep") -> str:
    """Return how often a step is made, for its name: `` ×3``, `` ×list.shards``, `` ↻ ≤6``."""
    group = step.group
    if group is None or group.kind == "once":
        return ""
    if group.kind == "loop":
        return f" ↻ ≤{group.max_rounds}"
    return f" ×{group.over.name}" if group.over is not None else f" ×{len(group.items or ())}"


def show_differences(run: str, before: "Plan", after: "Plan", *, json: bool) -> None:
    """Print what differs between the plan of a run and another one."""
    from trainwright.cli import output
    from trainwright.plan.difference import differences

    found = differences(before, after)
    if json:
        output.put_json({"run": run, "before": before.digest, "after": after.digest, "differences": found})
    elif not found:
        output.put(f"the same plan as {run}: {after.digest[7:19]}")
    else:
        for difference in found:
            output.put(difference.path)
            output.put(f"  - {difference.before}")
            output.put(f"  + {difference.after}")


def warn(document: "Document") -> None:
    """Say what is doubtful in a pipeline."""
    from trainwright.cli import output

    for warning in document.warnings:
        output.say(f"warning: {warning}")
