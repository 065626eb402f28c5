"""What several attempts at a step logged, as one series."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from build import NOW, context
from trainwright.core.ids import AttemptId, RunId, StepName
from trainwright.core.run import Attempt
from trainwright.core.states import AttemptState
from trainwright.service.context import Context
from trainwright.service.metrics import EVENTS, merged

Logged = list[tuple[str, int | None]]


def attempts(at: Context, *logged: Logged) -> list[Attempt]:
    """One attempt for each list of names and steps; the value is the number of the attempt."""
    found = []
    for number, points in enumerate(logged, start=1):
        identity = AttemptId(f"r/a/{number}")
        folder = at.backend.folder(identity)
        folder.mkdir(parents=True, exist_ok=True)
        lines = [
            {"k": "metric", "t": 0.0, "v": {name: number}, **({"s": s} if s is not None else {})} for name, s in points
        ]
        (folder / EVENTS).write_text("".join(json.dumps(line) + "\n" for line in lines))
        found.append(Attempt(identity, RunId("r"), StepName("a"), number, AttemptState.FAILED, "t", NOW))
    return found


def series(at: Context, *logged: Logged) -> list[tuple[str, int | None, int]]:
    return [(p.name, p.step, int(p.value)) for _, p in merged(at, attempts(at, *logged))]


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Context:
    return context(tmp_path_factory.mktemp("series"))


def test_an_attempt_that_goes_on_takes_the_place_of_what_comes_after_its_beginning(at: Context) -> None:
    assert series(at, [("l", 0), ("l", 1), ("l", 2), ("l", 3)], [("l", 2), ("l", 3), ("l", 4)]) == [
        ("l", 0, 1), ("l", 1, 1), ("l", 2, 2), ("l", 3, 2), ("l", 4, 2),
    ]  # fmt: skip


def test_an_attempt_that_begins_anew_takes_the_place_of_all(at: Context) -> None:
    assert series(at, [("l", 0), ("l", 1), ("v", 7)], [("l", 0)]) == [("v", 7, 1), ("l", 0, 2)]


def test_points_without_a_step_stand_for_the_last_attempt_that_logged_any(at: Context) -> None:
    assert series(at, [("auc", None), ("l", 0)], [("auc", None)], [("l", 1)]) == [
        ("l", 0, 1), ("auc", None, 2), ("l", 1, 3),
    ]  # fmt: skip


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=4))
def test_no_name_has_a_step_twice(at: Context, spans: list[tuple[int, int]]) -> None:
    logged: list[Logged] = [[("l", step) for step in range(begin, begin + length)] for begin, length in spans]
    steps = [step for _, step, _ in series(at, *logged)]
    assert len(steps) == len(set(steps))
    assert steps == sorted(steps)  # type: ignore[type-var]
