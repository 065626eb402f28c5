"""What the registry says at this moment, for decisions that compare with production or register.

A run that makes another one again is compared with what was in production then.
"""

from dataclasses import replace

from trainwright.core.ids import ProjectName, RunId
from trainwright.core.run import RunView
from trainwright.plan.plan import Plan
from trainwright.store import documents, registry, runs
from trainwright.store.database import Rows


def with_registry(rows: Rows, project: ProjectName, plan: Plan, view: RunView) -> RunView:
    """Return the view with the present baselines and next versions of the models that the plan speaks of."""
    found = {name: registry.baseline(rows, project, name, "production") for name in plan.models}
    if view.run.reproduces is not None:
        found |= _as_then(rows, project, plan, view.run.reproduces.run)
    numbers = {name: registry.next_version(rows, project, name) for name in plan.models}
    moves = bool(plan.models) and any(s.registration and s.registration.alias for s in plan.by_path.values())
    policies = documents.alias_policies(rows, project) if moves else ()
    baselines = {name: value for name, value in found.items() if value is not None}
    return replace(view, baselines=baselines, next_versions=numbers, policies=policies)


def _as_then(
    rows: Rows, project: ProjectName, plan: Plan, original: RunId
) -> dict[str, tuple[str, dict[str, float]] | None]:
    """Return what the checks of a finished run were compared with, by model; without those that exist no more."""
    if runs.run(rows, original) is None:
        return {}
    found: dict[str, tuple[str, dict[str, float]] | None] = {}
    for step in runs.view(rows, original).steps:
        model = plan.step(step.name).baseline_model
        for gate in step.gates:
            version = registry.version_at(rows, project, gate.baseline) if gate.baseline else None
            if version is not None:
                found[model] = version.address, dict(version.metrics)
            elif gate.verdict == "no-baseline":
                found[model] = None
    return found
