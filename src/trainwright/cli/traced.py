"""The hidden command behind ``digits.run()`` and ``digits.plan()``: an order from a traced pipeline, and its answer."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from trainwright.app import App
    from trainwright.core.run import RunView


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command(hidden=True)(traced)


def traced(folder: Annotated[Path, typer.Argument(show_default=False)]) -> int:
    """Carry out ``order.json`` in a folder and write ``answer.json`` beside it; for trainwright.dsl."""
    from trainwright.cli.errors import exit_code
    from trainwright.core.errors import TrainwrightError

    order = json.loads((folder / "order.json").read_text(encoding="utf-8"))
    try:
        answer, code = _plan(order) if order["verb"] == "plan" else _run(order)
    except TrainwrightError as error:
        found = error.problem
        told = {"code": found.code, "message": found.message, "where": found.where}
        answer, code = {"problem": {**told, "why": found.why, "remedy": found.remedy}}, exit_code(error)
    if answer:
        (folder / "answer.json").write_text(json.dumps(answer), encoding="utf-8")
    return code


def _plan(order: dict[str, Any]) -> tuple[dict[str, Any], int]:
    from trainwright.cli.pipeline import show_plan, warn
    from trainwright.cli.session import session
    from trainwright.core.codec import to_json
    from trainwright.service.documents import drawn_document
    from trainwright.service.submit import prepare

    drawn = order["traced"]
    document = drawn_document(drawn, Path(drawn["file"]))
    warn(document)
    with session() as app:
        prepared = prepare(app.context, document, order["params"], Path(drawn["root"]), drawn["file"])
    show_plan(prepared.plan, stderr=False)
    return {"digest": prepared.plan.digest, "plan": to_json(prepared.plan)}, 0


def _run(order: dict[str, Any]) -> tuple[dict[str, Any], int]:
    from trainwright.cli.pipeline import warn
    from trainwright.cli.running import submit_and_follow
    from trainwright.cli.session import session
    from trainwright.service.documents import drawn_document
    from trainwright.service.lookup import read_run
    from trainwright.service.submit import prepare

    drawn = order["traced"]
    with session() as app:
        app.context.backend.warm_up()
        document = drawn_document(drawn, Path(drawn["file"]))
        warn(document)
        prepared = prepare(app.context, document, order["params"], Path(drawn["root"]), drawn["file"])
        run_id, code = submit_and_follow(app, prepared, detach=False, json=False)
        view = read_run(app.context, run_id)[0]
        return (_answer(app, view), code) if view.run.state.is_final else ({}, code)


def _answer(app: "App", view: "RunView") -> dict[str, Any]:
    """Return what ``dsl.running.Result`` is made of."""
    from trainwright.core.states import StepState

    run = view.run
    metrics = {}
    for step in view.steps:
        attempt = view.latest(step.name)
        for name, metric in attempt.metrics.items() if attempt else ():
            metrics[f"{step.name}.{name}"] = metric.last
    outputs = {
        f"{made.step}.{made.name}": {"digest": made.content.digest, "kind": made.kind.value} for made in view.outputs
    }
    failed = next((s for s in view.steps if s.state is StepState.FAILED and s.reason), None)
    why = f": step {failed.name}: {failed.reason.sentence()}" if failed and failed.reason else ""
    return {
        "id": run.id,
        "state": run.state.value,
        "verdict": f"{run.pipeline} #{run.number} ({run.id}) {run.state.value}{why}; more: tw why {run.id}",
        "metrics": metrics,
        "outputs": outputs,
        "store": str(app.settings.home / "content"),
        "project": app.context.project,
    }
