"""What differs between two runs."""

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from build import CHANCE, NOW, after, context, insert, plan, running, step, summary
from trainwright.core.errors import NotFoundError
from trainwright.core.ids import RunId
from trainwright.lifecycle.advance import advance
from trainwright.service.compare import compare
from trainwright.service.context import Context
from trainwright.store import runs


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Context]:
    made = context(tmp_path)
    yield made
    made.database.close()


def ran(world: Context, name: str, params: dict[str, object], metrics: dict[str, float], tree: str = "code") -> None:
    """A run that has logged something."""
    of = plan(step("a"), params=params)  # type: ignore[arg-type]
    record = insert(world.database, of, name, tree=tree)
    with world.database.writing() as rows:
        runs.take_lease(rows, RunId(name), "e", None, after(9))
        changes = advance(of, runs.view(rows, RunId(name)), [running(f"{name}/a/1")], NOW, CHANCE)
        told = replace(changes.attempts[0], metrics={n: summary(v) for n, v in metrics.items()})
        runs.apply(rows, record, replace(changes, attempts=(told,)), NOW, "e")


def test_what_differs_is_found_and_what_is_equal_is_said_to_be(world: Context) -> None:
    ran(world, "ra", {"lr": 0.1, "same": 1}, {"loss": 0.5, "bad": math.nan})
    ran(world, "rb", {"lr": 0.2, "same": 1, "new": "x"}, {"loss": 0.5, "auc": math.inf}, tree="other")
    first, second, lines = compare(world, "ra", "2")
    assert (first.id, second.id) == ("ra", "rb")
    found = {(line.part, line.name): (line.left, line.right) for line in lines if not line.equal}
    tree = found.pop(("code", "tree"))
    assert tree[0] != tree[1]
    assert found == {
        ("param", "lr"): (0.1, 0.2),
        ("param", "new"): (None, "x"),
        ("metric", "a.bad"): ("NaN", None),
        ("metric", "a.auc"): (None, "Infinity"),
    }
    equal = {(line.part, line.name) for line in lines if line.equal}
    assert {("param", "same"), ("metric", "a.loss"), ("environment", "python"), ("hardware", "cores")} <= equal


def test_a_run_equals_itself(world: Context) -> None:
    ran(world, "ra", {"lr": 0.1}, {"bad": math.nan})
    assert all(line.equal for line in compare(world, "ra", "ra")[2])


def test_both_have_to_exist(world: Context) -> None:
    ran(world, "ra", {}, {})
    with pytest.raises(NotFoundError):
        compare(world, "ra", "rb")
