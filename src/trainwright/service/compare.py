"""What differs between two runs."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from trainwright.core.codec import to_json
from trainwright.core.fingerprint import CodeState, Fingerprint
from trainwright.core.run import Run
from trainwright.core.scalar import Plain
from trainwright.plan.difference import differences
from trainwright.plan.plan import Plan
from trainwright.service.code_diff import changed_files, unified
from trainwright.service.context import Context
from trainwright.service.lookup import find_run
from trainwright.service.metrics import final
from trainwright.store import runs


@dataclass(frozen=True, slots=True)
class Difference:
    """One line of a comparison.

    Attributes:
        part: ``param``, ``metric``, ``plan``, ``code``, ``file`` of the code, ``data``, ``environment``, ``hardware``.
        left, right: JSON values; None where one side has none.
    """

    part: str
    name: str
    left: Plain
    right: Plain

    @property
    def equal(self) -> bool:
        """Tell whether both sides agree."""
        return self.left == self.right


def compare(context: Context, left: str, right: str) -> tuple[Run, Run, list[Difference]]:
    """Return both runs and every parameter, metric and part of the fingerprint, equal ones included.

    Of the plan and of the files of the code only what differs is listed.

    Raises:
        NotFoundError: one of them does not exist.
    """
    with context.database.reading() as rows:
        views = [runs.view(rows, find_run(rows, context.project, name).id) for name in (left, right)]
        prints = [runs.fingerprint(rows, context.project, v.run.fingerprint) for v in views]
        plans = [runs.plan(rows, context.project, v.run.plan_digest) for v in views]
    first, second = views
    lines = _pairs("param", first.run.params, second.run.params)
    lines += _pairs("metric", _flat(final(first)), _flat(final(second)))
    lines += _plans(*plans)
    lines += [line for part, *pair in _parts(*prints) for line in _pairs(part, *pair)]
    trees = [print_.code.tree for print_ in prints]
    lines += [
        Difference("file", path, *map(_digest, pair)) for path, pair in changed_files(context.content, *trees).items()
    ]
    return first.run, second.run, lines


def code_diff(context: Context, left: str, right: str) -> Iterator[str]:
    """Yield the lines of a unified diff of the code of two runs.

    Raises:
        NotFoundError: one of them does not exist, or its code is gone.
    """
    with context.database.reading() as rows:
        found = [find_run(rows, context.project, name) for name in (left, right)]
        trees = [runs.fingerprint(rows, context.project, run.fingerprint).code.tree for run in found]
    return unified(context.content, *trees)


def _plans(before: Plan, after: Plan) -> list[Difference]:
    """Return what differs between two plans, but for parameters and data, which have lines of their own."""
    found = []
    for line in differences(before, after):
        if not line.path.startswith(("params.", "data.")):
            whole = line.path.startswith("steps.") and line.path.count(".") == 1
            sides = ("step" if side else None for side in (line.before, line.after)) if whole else ()
            found.append(
                Difference("plan", line.path, *(sides if whole else (line.before or None, line.after or None)))
            )
    return found


def _digest(sha256: str | None) -> str | None:
    return None if sha256 is None else f"sha256:{sha256}"


def _parts(left: Fingerprint, right: Fingerprint) -> list[tuple[str, Mapping[str, Plain], Mapping[str, Plain]]]:
    return [
        ("code", _code(left), _code(right)),
        ("data", to_json(left.data), to_json(right.data)),
        ("environment", _environment(left, right), _environment(right, left)),
        ("hardware", to_json(left.hardware), to_json(right.hardware)),
    ]


def _code(print_: Fingerprint) -> dict[str, Plain]:
    code = print_.code
    return {
        "tree": code.tree,
        "commit": code.commit,
        "dirty": code.dirty,
        "modified": ", ".join(code.modified),
        "untracked": ", ".join(code.untracked),
        **({"submodules": ", ".join(_submodules(code))} if code.submodules else {}),
        **({"shallow": True} if code.shallow else {}),
        **({"pointers": ", ".join(code.pointers)} if code.pointers else {}),
        **({"dangling": ", ".join(code.dangling)} if code.dangling else {}),
    }


def _submodules(code: CodeState) -> Iterator[str]:
    for path, submodule in code.submodules.items():
        yield f"{path} {submodule.commit[:12]}" + (" dirty" if submodule.dirty else "")


def _environment(print_: Fingerprint, other: Fingerprint) -> dict[str, Plain]:
    """Return environments: locks by what they are made from, inherited packages by name, else by their files."""
    found = print_.environment
    locks = {lock.asked.path or lock.asked.image: lock.name for lock in found.locks.values()}
    alike = found.packages == other.environment.packages
    files = {"files of packages": found.records[:12]} if found.records and alike else {}
    return {"python": found.python, **found.packages, **files, **locks}


def _pairs(part: str, left: Mapping[str, Plain], right: Mapping[str, Plain]) -> list[Difference]:
    names = [*left, *(name for name in right if name not in left)]
    return [Difference(part, name, left.get(name), right.get(name)) for name in names]


def _flat(metrics: Mapping[str, Mapping[str, float]]) -> dict[str, Plain]:
    return {f"{step}.{name}": to_json(value) for step, values in metrics.items() for name, value in values.items()}
