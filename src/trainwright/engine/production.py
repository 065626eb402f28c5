"""What the registry says at this moment, for decisions that compare with production or register."""

from dataclasses import replace

from trainwright.core.ids import ProjectName
from trainwright.core.run import RunView
from trainwright.plan.plan import Plan
from trainwright.store import registry
from trainwright.store.database import Rows


def with_registry(rows: Rows, project: ProjectName, plan: Plan, view: RunView) -> RunView:
    """Return the view with the present baselines and next versions of the models that the plan speaks of."""
    found = {name: registry.baseline(rows, project, name, "production") for name in plan.models}
    numbers = {name: registry.next_version(rows, project, name) for name in plan.models}
    baselines = {name: value for name, value in found.items() if value is not None}
    return replace(view, baselines=baselines, next_versions=numbers)
