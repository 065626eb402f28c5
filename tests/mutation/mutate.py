"""Changes one thing at a time in the scheduler and looks whether a test notices.

    python tests/mutation/mutate.py quota order            every change of these modules of sched
    python tests/mutation/mutate.py --most 50 --seed 7     fifty of all changes, drawn

A mutant is the package with one comparison turned or shifted, one constant off by one, one condition negated, one
``and`` made ``or``, one ``+`` made ``-``, one ``min`` made ``max``, or one statement left out. The tests of the
scheduler run against it in a process of their own, which may take a minute; a mutant that passes them all survives:
either the tests miss something, or the change makes no difference. Survivors are told as they are found; prints one
JSON object last, and exits with 1 when somebody survived who is not in ``equal.txt``.
"""

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "trainwright"
EQUAL = Path(__file__).with_name("equal.txt")
MODULES = (
    "order", "buckets", "quota", "limits", "amounts", "permitted", "fairshare", "machines", "holders", "last",
    "invariants", "report", "room", "draft", "round",
)  # fmt: skip
TESTS = ("tests/unit/sched", "tests/property/test_sched_sequences.py", "tests/property/test_sched_invariants.py")
LIMIT_S = 120
COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
COUNTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
}  # fmt: skip
NAMED = {"min": "max", "max": "min", "any": "all", "all": "any"}
NO_MATTER = frozenset({"slots", "frozen", "maxsize", "strict"})
"""Arguments that say how a value is kept, not what it is."""

Change = tuple[str, Callable[[], None]]


@dataclass(frozen=True)
class Mutant:
    """One change; ``text`` is the whole module with it."""

    module: str
    line: int
    change: str
    text: str

    def __str__(self) -> str:
        return f"{self.module}: {self.change}"


def main() -> int:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="*", default=list(MODULES), help="modules of sched")
    parser.add_argument("--most", type=int, default=None, help="draw so many")
    parser.add_argument("--seed", type=int, default=0, help="of the draw")
    parser.add_argument("--jobs", type=int, default=2, help="at once")
    chosen = parser.parse_args()
    found = [mutant for module in chosen.modules for mutant in mutants(module)]
    if chosen.most is not None and chosen.most < len(found):
        found = random.Random(chosen.seed).sample(found, chosen.most)
    known = EQUAL.read_text(encoding="utf-8").splitlines() if EQUAL.exists() else []
    with tempfile.TemporaryDirectory() as folder:
        trees: SimpleQueue[Path] = SimpleQueue()
        for number in range(chosen.jobs):
            trees.put(_tree(Path(folder) / str(number)))
        if not _passes(Path(folder) / "0"):
            print("the tests fail without any change", file=sys.stderr)
            return 2
        with ThreadPoolExecutor(chosen.jobs) as pool:
            survived = [mutant for mutant in pool.map(lambda one: _outcome(one, trees), found) if mutant is not None]
    new = [mutant for mutant in survived if str(mutant) not in known]
    figures = {"mutants": len(found), "killed": len(found) - len(survived), "equal": len(survived) - len(new)}
    print(json.dumps({"mutation": figures, "survivors": [f"{m.module}.py:{m.line}: {m.change}" for m in new]}))
    return 1 if new else 0


def mutants(module: str) -> Iterator[Mutant]:
    """Yield every change of a module of ``sched``."""
    tree = ast.parse((PACKAGE / "sched" / f"{module}.py").read_text(encoding="utf-8"))
    for index, node in enumerate(ast.walk(tree)):
        before = ast.unparse(node).splitlines()[:1] if not isinstance(node, ast.Module) else [""]
        for number, (change, _) in enumerate(_changes(node)):
            copy = deepcopy(tree)
            same = next(n for i, n in enumerate(ast.walk(copy)) if i == index)
            list(_changes(same))[number][1]()
            yield Mutant(module, getattr(node, "lineno", 0), f"{change} in {before[0]}", ast.unparse(copy))


def _changes(node: ast.AST) -> Iterator[Change]:
    """Yield what can be changed at a place of the tree, and what changes it."""
    match node:
        case ast.Compare():
            for at, operator in enumerate(node.ops):
                turned = COMPARED[type(operator)]
                yield f"{type(operator).__name__} → {turned.__name__}", _put(node.ops, at, turned())
        case ast.BoolOp():
            either = ast.Or() if isinstance(node.op, ast.And) else ast.And()
            yield f"→ {type(either).__name__.lower()}", _set(node, "op", either)
        case ast.BinOp() if type(node.op) in COUNTED:
            yield f"→ {COUNTED[type(node.op)].__name__}", _set(node, "op", COUNTED[type(node.op)]())
        case ast.UnaryOp(op=ast.Not()):
            yield "not left out", _set(node, "operand", ast.UnaryOp(ast.Not(), node.operand))
        case ast.UnaryOp(op=ast.USub()):
            yield "sign left out", _set(node, "op", ast.UAdd())
        case _:
            yield from _changes_of_values(node)
    yield from _left_out(node)


def _changes_of_values(node: ast.AST) -> Iterator[Change]:
    match node:
        case ast.keyword(arg=str() as name, value=ast.Constant(value=bool() as value)) if name not in NO_MATTER:
            yield "negated", _set(node, "value", ast.Constant(not value))
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            yield "+ 1", _set(node, "value", value + 1)
        case ast.Name() if node.id in NAMED:
            yield f"→ {NAMED[node.id]}", _set(node, "id", NAMED[node.id])
        case ast.If() | ast.While() | ast.IfExp():
            yield "condition negated", _set(node, "test", ast.UnaryOp(ast.Not(), node.test))
        case _:
            pass


def _left_out(node: ast.AST) -> Iterator[Change]:
    """Yield the statements of a block that can be left out, one at a time."""
    for name in ("body", "orelse"):
        block = getattr(node, name, None)
        if not isinstance(block, list):  # of a condition within an expression
            continue
        for at, one in enumerate(block):
            called = isinstance(one, ast.Expr) and isinstance(one.value, ast.Call | ast.YieldFrom | ast.Yield)
            if called or isinstance(one, ast.AugAssign | ast.Delete):
                yield f"left out {ast.unparse(one)!r}", _put(block, at, ast.Pass())


def _set(node: ast.AST, name: str, value: object) -> Callable[[], None]:
    return lambda: setattr(node, name, value)


def _put(block: list, at: int, value: ast.AST) -> Callable[[], None]:
    return lambda: block.__setitem__(at, value)


def _tree(folder: Path) -> Path:
    """Return a folder with the package in it, all by links but ``sched``, which is a copy."""
    package = folder / "trainwright"
    package.mkdir(parents=True)
    for part in PACKAGE.iterdir():
        if part.name not in {"sched", "__pycache__"}:
            (package / part.name).symlink_to(part)
    shutil.copytree(PACKAGE / "sched", package / "sched", ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def _outcome(mutant: Mutant, trees: "SimpleQueue[Path]") -> Mutant | None:
    """Return the mutant when it survives."""
    tree = trees.get()
    path = tree / "trainwright" / "sched" / f"{mutant.module}.py"
    whole = path.read_text(encoding="utf-8")
    try:
        path.write_text(mutant.text, encoding="utf-8")
        if not _passes(tree):
            return None
    finally:
        path.write_text(whole, encoding="utf-8")
        trees.put(tree)
    print(f"survived: {mutant.module}.py:{mutant.line}: {mutant.change}", file=sys.stderr, flush=True)
    return mutant


def _passes(tree: Path) -> bool:
    env = {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
    plugins = ("-p", "no:cacheprovider", "-p", "no:xdist", "-o", "addopts=")
    command = [sys.executable, "-m", "pytest", "-q", "-x", *plugins, "--hypothesis-seed=1", *TESTS]
    with subprocess.Popen(
        command, cwd=ROOT, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    ) as process:
        try:
            return process.wait(LIMIT_S) == 0
        except subprocess.TimeoutExpired:  # a loop without an end is noticed too
            process.kill()
            return False


if __name__ == "__main__":
    sys.exit(main())
