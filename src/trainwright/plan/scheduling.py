"""Gangs and wishes of every step, by path: beside the steps, because nothing that a step makes depends on wishes."""

from collections.abc import Iterator

from trainwright.core.ids import StepName
from trainwright.core.scheduling import Gang, Scheduling
from trainwright.spec.document import Document, StepSpec


def scheduling_by_path(document: Document) -> dict[StepName, Scheduling]:
    """Return what each step asks of the scheduler, beside what its pipeline asks; who asks nothing is absent."""
    found = _walk(document, "", Scheduling())
    return {path: asked for path, _, asked in sorted(found, key=lambda item: item[0]) if asked != Scheduling()}


def gangs_by_path(document: Document) -> dict[StepName, Gang]:
    """Return the gang of each step that is more than one plain replica."""
    found = _walk(document, "", Scheduling())
    return {path: step.gang for path, step, _ in sorted(found, key=lambda item: item[0]) if step.gang != Gang()}


def _walk(document: Document, prefix: str, general: Scheduling) -> Iterator[tuple[StepName, StepSpec, Scheduling]]:
    general = document.spec.scheduling.over(general)
    for name, step in document.spec.steps.items():
        path = f"{prefix}{name}"
        inner = f"{path}.*" if step.fan_out is not None or step.loop is not None else path
        asked = step.scheduling.over(general)
        if step.uses:
            yield from _walk(document.subs[step.uses], f"{inner}.", asked)
        else:
            yield StepName(inner), step, asked
        if step.on_fail is not None:
            yield StepName(f"{path}.on_fail"), step.on_fail, step.on_fail.scheduling.over(general)
