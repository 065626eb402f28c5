"""``tw ps`` and what looks at many runs at once: conditions, rankings, tables of metrics, runs side by side."""

from typing import TYPE_CHECKING, Annotated

import typer

from trainwright.cli.pipeline import Json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trainwright.core.ids import RunId
    from trainwright.core.run import Run
    from trainwright.service.search import Found

Jsonl = Annotated[bool, typer.Option("--jsonl", help="Print one JSON document a line.")]
Where = Annotated[str, typer.Option("--where", help='A condition: evaluate.auc > 0.8 and state == "succeeded".')]
Since = Annotated[str, typer.Option("--since", help="Submitted since then: 2d, 2026-03-01.")]
Sort = Annotated[str, typer.Option("--sort", help="Smallest first by a name, or largest first: -evaluate.auc.")]
NO_RUNS = "no runs yet; start one: tw run FILE"


def ps(
    lines: Annotated[int, typer.Option("-n", "--lines", min=1, help="How many.")] = 20,
    *,
    where: Where = "",
    since: Since = "",
    until: Annotated[str, typer.Option("--until", help="Submitted before then: 12h, 2026-03-01.")] = "",
    pipeline: Annotated[str, typer.Option("--pipeline", help="Of this pipeline.")] = "",
    by: Annotated[str, typer.Option("--by", help="Submitted by this person; me is you.")] = "",
    sort: Sort = "",
    json: Json = False,
    jsonl: Jsonl = False,
) -> None:
    """List runs, the latest first: all of them, or those that a condition chooses."""
    from trainwright.cli import output
    from trainwright.cli.session import session
    from trainwright.service.search import Query, find_runs
    from trainwright.store import runs

    query = Query(where, since, until, pipeline, by, sort, limit=lines)
    with session() as app:
        found = find_runs(app.context, query)
        chosen = [run for run, _ in found.lines]
        with app.database.reading() as rows:
            reused = runs.cached_steps(rows, app.context.project, min((r.number for r in chosen), default=0))
        now = app.context.clock.now()
    if json or jsonl:
        (output.put_json if json else output.put_jsonl)(_records(found, reused))
    elif not chosen:
        asked = where or since or until or pipeline or by
        output.say("no run fits; all of them: tw ps" if asked else NO_RUNS)
    else:
        columns = ("run", "#", "pipeline", "state", "started", "took", *found.names, "reason and parameters")
        table = [
            (
                r.id,
                str(r.number),
                r.pipeline,
                output.marked(r.state),
                output.when(r.submitted_at, now),
                output.took(r.submitted_at, r.finished_at, now),
                *map(output.cell, values),
                _about(r, reused.get(r.id, 0)),
            )
            for r, values in found.lines
        ]
        output.table(columns, table, one_line=("pipeline", "reason and parameters"))


def table_of_metrics(
    address: str, names: "Sequence[str]", asked: tuple[str, str, str, int], *, json: bool, jsonl: bool
) -> None:
    """Print metrics of many runs, one line a run.

    Args:
        address: must be empty: many runs are chosen by a condition.
        names: of the metrics.
        asked: condition, since when, ranking, and how many runs at most.
        json: one document; ``jsonl`` one a line.
        jsonl: see ``json``.

    Raises:
        SpecError: no metric is named, or a run is named too.
    """
    from trainwright.cli import output
    from trainwright.cli.session import session
    from trainwright.core.errors import SpecError
    from trainwright.service.search import Query, find_runs

    if address or not names:
        remedy = "of one run: tw metrics RUN; of many: tw metrics --name auc --where 'state == \"succeeded\"'"
        raise SpecError("TW2001", "tw metrics takes either a run or --name of a metric", remedy=remedy)
    where, since, sort, most = asked
    with session() as app:
        found = find_runs(app.context, Query(where, since, sort=sort, show=tuple(names), limit=most))
    if json or jsonl:
        (output.put_json if json else output.put_jsonl)(
            [{"run": r.id, "number": r.number, "pipeline": r.pipeline, "state": r.state}
             | {"values": dict(zip(found.names, values, strict=True))} for r, values in found.lines]
        )  # fmt: skip
    elif found.lines:
        rows = [
            (r.id, str(r.number), r.pipeline, output.marked(r.state), *map(output.cell, values))
            for r, values in found.lines
        ]
        output.table(("run", "#", "pipeline", "state", *found.names), rows, one_line=("pipeline",))
    else:
        output.say("no run fits; all of them: tw ps")


def table_of_runs(names: "Sequence[str]", metrics: str, *, everything: bool, json: bool) -> None:
    """Print runs side by side: parameters and metrics that differ, the best of each metric marked."""
    from trainwright.cli import output
    from trainwright.cli.session import session
    from trainwright.service.ranking import side_by_side

    with session() as app:
        found, lines = side_by_side(app.context, names, metrics)
    shown = [line for line in lines if everything or not line.equal]
    if json:
        output.put_json({"runs": found, "lines": shown})
        return
    rows = [
        (
            line.part,
            line.name,
            *(f"{output.cell(v)}{' *' if i in line.best else ''}" for i, v in enumerate(line.values)),
        )
        for line in shown
    ]
    if rows:
        output.table(("part", "name", *(f"#{run.number} {run.id}" for run in found)), rows)
    else:
        output.put("these runs differ in no parameter and no metric")
    if any(line.best for line in shown):
        output.say("* the best: the largest, but the smallest loss, error or time")
    equal = sum(line.equal for line in lines)
    if equal and not everything:
        output.say(f"equal lines: {equal} (--all shows them)")


def _records(found: "Found", reused: "dict[RunId, int]") -> list[dict[str, object]]:
    """Return runs as JSON documents, with what the condition and the ranking speak of."""
    from trainwright.core.codec import to_json

    return [
        {**to_json(run), "cached": reused.get(run.id, 0)}
        | ({"values": dict(zip(found.names, values, strict=True))} if found.names else {})
        for run, values in found.lines
    ]


def _about(run: "Run", reused: int) -> str:
    """Return why a run is not well, in short, how many of its steps were reused, and its parameters."""
    words = ""
    if run.reason is not None and run.state != "succeeded":
        step, cause = run.reason.evidence.get("step"), run.reason.evidence.get("cause")
        words = f"{step}: {cause}" if step and cause else run.reason.sentence()
    cached = f"{reused} cached" if reused else ""
    return "  ".join(filter(None, (words, cached, " ".join(f"{k}={v}" for k, v in run.params.items()))))
