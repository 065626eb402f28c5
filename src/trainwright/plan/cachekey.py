"""The key under which what a step makes is remembered: equal key, equal result. Pure.

A key is made of parts that are kept one by one, so that two can be compared in words.
"""

from collections.abc import Iterable, Mapping, Sequence

from trainwright.core.cache import CacheEntry, Closure
from trainwright.core.codec import canonical_json, digest_of
from trainwright.core.environment import StepEnvironment
from trainwright.core.fingerprint import Environment
from trainwright.core.ids import Digest
from trainwright.core.job import JobSpec
from trainwright.core.scalar import Plain, render_scalar
from trainwright.plan.closure import parts_of
from trainwright.plan.plan import PlannedStep

FORMAT = "1"
"""Of the parts; another one never equals what was remembered under this."""

_MOST_NAMED = 3  # files or packages named in one sentence
_PLAINLY = ("platform", "item", "output", "stage", "step", "folder", "format")
_ORIGINS = {"inherited": "inherited", "lock": "locked", "image": "an image"}


def is_reusable(step: PlannedStep) -> bool:
    """Tell whether a step can be answered from memory at all: it makes something, and by a command."""
    return bool(step.outputs) and step.command is not None


def parts(
    job: JobSpec,
    step: PlannedStep,
    closure: Closure,
    environment: Mapping[str, str],
    items: Sequence[Plain] = (),
) -> Mapping[str, str]:
    """Return what decides what a step makes, by name; resources, retries, time limits and checks do not.

    Args:
        job: of the attempt, resolved.
        step: behind it.
        closure: the code that counts for its command.
        environment: as :func:`environment_parts` returns it, for a step that has none of its own.
        items: what a member stands for, also one whose command does not say: rounds of a loop are not the same, and
            neither are the members of a fan-out that is meant to try something several times.
    """
    command = job.command
    found = {
        "format": FORMAT,
        "step": str(step.name),
        **(environment if job.environment is None else _of_lock(job.environment)),
        **parts_of(closure, job.code.folder if job.code else ""),
    }
    found["command"] = command.shell if command.shell is not None else canonical_json(command.argv)
    if command.call is not None:
        found["command"] = f"call {command.call.target}"
        found |= {f"value {name}": canonical_json(given) for name, given in command.call.arguments.items()}
    found |= {f"value {name}": canonical_json(template) for name, template in command.refs.items()}
    found |= {f"env {name}": canonical_json(template) for name, template in job.env.items()}
    found |= {f"param {name}": render_scalar(job.params[name]) for name in step.param_names if name in job.params}
    found |= {f"input {given.name}": str(given.content.digest) for given in job.inputs}
    found |= {f"output {name}": str(kind) for name, kind in job.outputs.items()}
    found |= {f"item {depth}": canonical_json(item) for depth, item in enumerate(items)}
    if step.stage is not None:
        found["stage"] = str(step.stage)
    return found


def environment_parts(environment: Environment) -> Mapping[str, str]:
    """Return what an interpreter and its packages add to a key."""
    records = {"records": environment.records} if environment.records else {}
    return {"python": environment.python, "packages": digest_of(environment.packages), **records}


def _of_lock(environment: StepEnvironment) -> Mapping[str, str]:
    """Return what an environment of a step's own adds to its key."""
    asked = environment.asked
    if environment.is_image:
        return {"image": f"{asked.image}@sha256:{asked.image_sha256}"}
    return {"python": environment.python, "platform": environment.platform, "environment": str(environment.lock)}


def key(found: Mapping[str, str]) -> Digest:
    """Return the key that parts make."""
    return Digest(digest_of(found))


def nearest(mine: Mapping[str, str], entries: Iterable[CacheEntry]) -> CacheEntry | None:
    """Return the entry that differs in the fewest parts, the first of several; None when there is none."""
    return min(entries, key=lambda entry: len(_changed(mine, entry.parts)), default=None)


def differences(
    mine: Mapping[str, str], other: Mapping[str, str], files: Sequence[str] = (), packages: Sequence[str] = ()
) -> list[str]:
    """Return in words how parts differ from others, the likeliest causes first; empty when they are equal.

    Args:
        mine: parts of one key.
        other: parts of another.
        files: how the two code trees differ, where both keys have a whole one: ``a.py differs``.
        packages: how the two locks differ, where both keys have one: ``numpy 1.26.4 → 2.0.1``.
    """
    changed = _changed(mine, other)
    kinds = {name.partition(" ")[0] for name in changed}
    found = [*_environment(mine, other, kinds, packages), _code(mine, other, changed, files)]
    found += [_value(name, mine, other) for name in changed if name.startswith("param ")]
    explained = any(name.startswith("param ") for name in changed)
    if "command" in kinds or ("value" in kinds and not explained):
        found.append("command changed")
    found += [f"{name} changed" for name in changed if name.startswith("env ")] if not explained else []
    found += [f"{name} has other content" for name in changed if name.startswith("input ")]
    kinds -= {"python", "platform"} - (mine.keys() & other.keys())  # which an image has none of
    if "python" in kinds:
        found.append(f"Python changed: {_value('python', mine, other).partition(' ')[2]}")
    found += [f"{kind} changed" for kind in _PLAINLY if kind in kinds]
    return [sentence for sentence in found if sentence]


def _changed(mine: Mapping[str, str], other: Mapping[str, str]) -> list[str]:
    return sorted(name for name in {*mine, *other} if mine.get(name) != other.get(name))


def _code(mine: Mapping[str, str], other: Mapping[str, str], changed: list[str], files: Sequence[str]) -> str:
    """Return how code differs; files are named when both sides know theirs."""
    parts_ = [name for name in changed if name.partition(" ")[0] == "code"]
    if not parts_:
        return ""
    if "code" in parts_ and not ("code" in mine and "code" in other):
        return "code changed"  # the whole tree on one side only
    said = [f"{name.removeprefix('code ')} {_how(name, mine, other)}" for name in parts_]
    if "code" in parts_:
        said = list(files) or ["a file of the tree differs"]
    more = len(said) - _MOST_NAMED
    return "code changed: " + ", ".join(said[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _environment(
    mine: Mapping[str, str], other: Mapping[str, str], kinds: set[str], packages: Sequence[str]
) -> list[str]:
    """Return how the packages differ: of two locks by name."""
    here, there = ("image" if "image" in of else "lock" if "environment" in of else "inherited" for of in (mine, other))
    if here != there:
        return [f"environment changed: {_ORIGINS[there]} before, {_ORIGINS[here]} now"]
    if "image" in kinds:
        return ["environment changed: another image"]
    if "environment" in kinds:
        more = len(packages) - _MOST_NAMED
        said = ", ".join(packages[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
        return [f"environment changed: {said}" if said else "environment changed"]
    if "packages" in kinds:
        return ["installed packages changed"]
    return ["an installed package has other files under the same version"] if "records" in kinds else []


def _how(name: str, mine: Mapping[str, str], other: Mapping[str, str]) -> str:
    if name == "code other files":
        return "differ"
    return "differs" if name in mine and name in other else "is new" if name in mine else "is not used any more"


def _value(name: str, mine: Mapping[str, str], other: Mapping[str, str]) -> str:
    return f"{name} {other.get(name, 'not set')} → {mine.get(name, 'not set')}"
