"""How a run that makes another one again compares with it, as people and programs read it."""

from typing import TYPE_CHECKING

from trainwright.cli import output
from trainwright.cli.errors import GATE, OK
from trainwright.cli.verdict import exit_code_of
from trainwright.core.codec import to_json
from trainwright.service.reproduce import outcome

if TYPE_CHECKING:
    from trainwright.core.run import RunView
    from trainwright.plan.plan import Plan
    from trainwright.service.context import Context
    from trainwright.service.sameness import Sameness


MOST = 40
"""Metrics that are all listed; of more than these only those that are not equal."""


def show_outcome(original: "RunView", same: "Sameness") -> None:
    """Print how a run that makes another one again compares with it."""
    run = original.run
    output.put(f"compared with {run.pipeline} #{run.number} ({run.id})")
    shown = same.metrics if len(same.metrics) <= MOST else [m for m in same.metrics if m.verdict != "equal"]
    if shown:
        columns = ("metric", "original", "now", "difference", "tolerance", "verdict")
        figures = [tuple(map(_figure, (m.original, m.now, m.difference))) for m in shown]
        output.table(columns, [(m.name, *f, m.tolerance, m.verdict) for m, f in zip(shown, figures, strict=True)])
    if len(shown) < len(same.metrics):
        output.put(f"{len(same.metrics) - len(shown):,} more metrics are equal")
    for name in same.unused:
        output.put(f"no metric is called {name}, which has a tolerance")
    for made in same.outputs:
        if not made.equal:
            sides = [digest[7:19] if digest else "none" for digest in (made.original, made.now)]
            output.put(f"output {made.name}: {sides[0]} → {sides[1]}")
    equal = sum(made.equal for made in same.outputs)
    if same.outputs:
        output.put(f"{equal} of {len(same.outputs)} outputs have the same bytes")
    if not same.metrics and not same.outputs:
        output.put("neither run has metrics or outputs; only how they ended can be compared")
    if same.original_state != same.state:
        output.put(f"the original {same.original_state}, this run {same.state}")
    output.put("✓ reproduced" if same.reproduced else "✗ not reproduced")


def conclude(context: "Context", view: "RunView", plan: "Plan", *, json: bool) -> int | None:
    """Compare a finished run with the one that it makes again, and print it.

    Returns:
        The exit code; None when the records of the original are gone.
    """
    compared = outcome(context, view, plan)
    if compared is None:
        output.say("the records of the original are gone, and there is nothing to compare with")
        return None
    original, same = compared
    if json:
        output.put_json({**to_json(view.run), "original": original.run, "comparison": same})
    else:
        show_outcome(original, same)
    if same.reproduced:
        return OK
    return GATE if view.run.state == "succeeded" or same.original_state == same.state else exit_code_of(view)


def _figure(value: float | None) -> str:

    return "" if value is None else output.figure(value)
