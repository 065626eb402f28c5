"""``tw show --fingerprint``: all that identifies a run, in groups, and how what is here now differs from it."""

from collections.abc import Iterator

from trainwright.cli import output
from trainwright.cli.environment_text import at_length
from trainwright.core.fingerprint import CodeState, Environment, Fingerprint, Hardware
from trainwright.core.quantity import show_bytes
from trainwright.core.scalar import render_scalar
from trainwright.plan.plan import Plan
from trainwright.service.capture.environment import capture_environment
from trainwright.service.capture.hardware import capture_hardware
from trainwright.service.context import Context
from trainwright.service.gaps import hardware_gaps, package_changes

MOST_CHANGES = 10
"""Packages that have changed, of those that are shown one by one."""


def show_fingerprint(context: Context, print_: Fingerprint, plan: Plan, *, json: bool) -> None:
    """Print a fingerprint on stdout.

    Args:
        context: of the project.
        print_: of a run.
        plan: of that run.
        json: print facts for programs: the fingerprint, its address, and what differs now.
    """
    now = capture_environment()
    hardware = capture_hardware(context.backend.nodes())
    if json:
        changed, gone, new = package_changes(print_.environment, now)
        differs = {"python": now.python, "changed": changed, "gone": gone, "new": new, "hardware": hardware}
        facts = {"address": print_.address, "digest": print_.digest, "fingerprint": print_}
        output.put_json({**facts, "pipeline": plan.pipeline, "now": differs})
        return
    output.put(f"fingerprint  {print_.address}  {print_.digest}")
    for line in _lines(print_, plan, now, hardware):
        output.put(line)


def _lines(print_: Fingerprint, plan: Plan, now: Environment, hardware: Hardware) -> Iterator[str]:
    yield f"plan         {print_.plan}  {plan.pipeline}, {len(plan.by_path)} steps"
    yield from _code(print_.code)
    addresses = {data.name: data.address for data in plan.data}
    for name, digest in print_.data.items():
        yield f"data         {name} {digest}  {addresses.get(name, '')}".rstrip()
    yield f"params       {len(print_.params) or 'none'}"
    yield from (f"  param      {name}={render_scalar(value)}" for name, value in print_.params.items())
    yield f"seed         {'none' if print_.seed is None else print_.seed}"
    for step, attempt in print_.taken_over.items():
        yield f"taken over   {step} from {attempt}"
    yield from _environment(print_.environment, now)
    there = print_.hardware
    memory = show_bytes(there.memory_bytes)
    gpus = f", {', '.join(there.gpus)}" if there.gpus else ", no GPU"
    yield f"hardware     {there.system} {there.machine}, {there.cpu}, {there.cores} cores, {memory}{gpus}"
    yield from (f"  now        {gap.sentence}" for gap in hardware_gaps(there, hardware))


def _code(code: CodeState) -> Iterator[str]:
    yield f"code         {code.tree}  folder {code.folder}"
    marks = "".join(f"  {word}" for word, holds in (("dirty", code.dirty), ("shallow", code.shallow)) if holds)
    yield f"commit       {code.commit or 'none'} {code.branch}{marks}".rstrip()
    for what, paths in (
        ("modified", code.modified),
        ("untracked", code.untracked),
        ("pointer", code.pointers),
        ("dangling", code.dangling),
    ):
        yield from (f"  {what:10} {path}" for path in paths)
    for path, submodule in code.submodules.items():
        state = "  not checked out" if submodule.absent else "  dirty" if submodule.dirty else ""
        yield f"  submodule  {path} {submodule.commit}{state}"


def _environment(known: Environment, now: Environment) -> Iterator[str]:
    yield from at_length(known)
    if known.locked:
        return
    changed, gone, new = package_changes(known, now)
    lines = [f"Python {known.python} → {now.python}"] if known.python != now.python else []
    lines += [f"{name} {before} → {after}" for name, (before, after) in changed.items()]
    lines += [f"{name} {before} → none" for name, before in gone.items()]
    lines += [f"{name} none → {after}" for name, after in new.items()]
    for line in lines[:MOST_CHANGES] or ["equal"]:
        yield f"  now        {line}"
    if len(lines) > MOST_CHANGES:
        yield f"  now        and {len(lines) - MOST_CHANGES} more"
