"""What stands beside restored code and data: what to install, and how to run it by hand."""

import shlex
from collections.abc import Iterator, Mapping

from trainwright.core.fingerprint import Environment
from trainwright.core.scalar import render_scalar
from trainwright.service.metrics import final
from trainwright.service.reproduce import Reproduction


def requirements(environment: Environment) -> str:
    """Return the packages of a run as a requirements file."""
    kind = "a lock file" if environment.locked else "what was installed, without a lock file"
    lines = [f"# Python {environment.python}; from {kind}"]
    lines += [
        f"{name}=={version}" if version else f"# {name}: version unknown"
        for name, version in environment.packages.items()
    ]
    return "\n".join(lines) + "\n"


def readme(found: Reproduction, data: Mapping[str, str]) -> str:
    """Return a page about a restored run.

    Args:
        found: the run.
        data: name → path in the folder.
    """
    return "\n".join(_page(found, data)) + "\n"


def _page(found: Reproduction, data: Mapping[str, str]) -> Iterator[str]:
    original = found.original
    run, known = original.view.run, original.fingerprint
    code = known.code
    yield f"# {run.pipeline} #{run.number} ({run.id})"
    yield ""
    yield f"Restored from the records of the run, {known.address}. Grade: {found.grade}."
    yield from (f"* {gap.part}: {gap.sentence}" for gap in found.gaps)
    yield ""
    commit = f", commit {code.commit}{' with changes' if code.dirty or code.untracked else ''}" if code.commit else ""
    yield f"* `code/`: {code.tree}{commit}"
    for entry in original.plan.data:
        yield f"* `{data[entry.name]}`: data `{entry.name}`, {entry.address}, {entry.content.digest}"
    yield f"* `requirements.txt`: Python {known.environment.python}, {len(known.environment.packages)} packages"
    yield "* `record.json`: everything that is known of the run"
    yield ""
    yield "Make it again, anywhere, and compare it with the original; call it beside this folder:"
    yield ""
    yield "    tw reproduce FOLDER"
    yield ""
    yield "Run its pipeline by hand, as a run of its own:"
    yield ""
    yield from (f"    {line}" for line in _by_hand(found, data))
    metrics = final(original.view)
    if metrics:
        yield ""
        yield "What it came to:"
        yield ""
        yield from (
            f"    {step}.{name} = {value!r}" for step, values in metrics.items() for name, value in values.items()
        )


def _by_hand(found: Reproduction, data: Mapping[str, str]) -> Iterator[str]:
    original = found.original
    code, run = original.fingerprint.code, original.view.run
    yield "python -m venv environment && environment/bin/pip install -r requirements.txt"
    for entry in original.plan.data:
        if entry.asked.startswith("datasets/"):
            name = entry.asked.removeprefix("datasets/").partition("@")[0]
            yield f"tw dataset add {shlex.quote(name)} {shlex.quote(data[entry.name])}"
        else:
            yield f"# the pipeline reads {entry.asked}: put {data[entry.name]} there"
    params = [f"-p {shlex.quote(f'{name}={render_scalar(value)}')}" for name, value in run.params.items()]
    yield f"cd {shlex.quote(f'code/{code.folder}'.removesuffix('/.'))}"
    yield " ".join(["tw run", shlex.quote(run.source.rpartition("/")[2]), *params, "--cache off"])
