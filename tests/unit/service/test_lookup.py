"""How people name runs, steps and attempts."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from build import context, insert, plan, register, step, tell, train_and_register, view, well
from trainwright.core.errors import NotFoundError, SpecError, TrainwrightError
from trainwright.core.ids import StepName
from trainwright.service.context import Context
from trainwright.service.lookup import find_attempt, find_run, find_step, read_run, split_address

OF = plan(step("a"))


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Context]:
    """Three runs: of ``pipe``, of ``pipe`` with other code, and of ``other``."""
    made = context(tmp_path)
    insert(made.database, OF, "rabc1")
    insert(made.database, OF, "rabd2", tree="changed")
    insert(made.database, train_and_register(), "rxyz3")
    with made.database.writing() as rows:
        rows.write("UPDATE run SET pipeline = 'other' WHERE number = 3", {})
    yield made
    made.database.close()


def named(world: Context, name: str) -> str:
    """Id of the run that a name stands for, or the code of the refusal."""
    try:
        with world.database.reading() as rows:
            return str(find_run(rows, world.project, name).id)
    except TrainwrightError as error:
        return error.problem.code


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("rabc1", "rabc1"),
        ("rx", "rxyz3"),
        ("rabc", "rabc1"),
        ("rab", "TW2103"),
        ("1", "rabc1"),
        ("pipe#2", "rabd2"),
        ("#3", "rxyz3"),
        ("-1", "rxyz3"),
        ("-3", "rabc1"),
        ("-4", "TW4001"),
        ("-0", "TW4001"),
        ("4", "TW4001"),
        ("0", "TW4001"),
        (str(10**30), "TW4001"),
        (f"-{10**30}", "TW4001"),
        ("pipe", "rabd2"),
        ("other", "rxyz3"),
        ("othe", "TW4001"),
        ("", "TW4001"),
        ("%", "TW4001"),
        ("r_bc1", "TW4001"),
        ("fp:%", "TW4001"),
        ("fp:0000", "TW4001"),
    ],
)
def test_a_name_stands_for_one_run(world: Context, name: str, expected: str) -> None:
    assert named(world, name) == expected


def test_a_fingerprint_is_an_address_and_so_is_its_beginning(world: Context) -> None:
    with world.database.reading() as rows:
        second = find_run(rows, world.project, "2")
    digits = str(second.fingerprint).removeprefix("sha256:")
    assert [named(world, f"fp:{digits[:n]}") for n in (12, 64)] == ["rabd2", "rabd2"]
    insert(world.database, OF, "rnew4", tree="changed")
    assert named(world, f"fp:{digits[:12]}") == "rnew4"


@pytest.mark.parametrize(
    ("name", "remedy"), [("othr", "did you mean other?"), ("zzzz", "see them: tw ps")]
)  # fmt: skip
def test_an_unknown_name_is_told_the_nearest(world: Context, name: str, remedy: str) -> None:
    with world.database.reading() as rows, pytest.raises(NotFoundError) as caught:
        find_run(rows, world.project, name)
    assert caught.value.problem.remedy == remedy


def test_a_name_of_several_runs_lists_them(world: Context) -> None:
    with world.database.reading() as rows, pytest.raises(SpecError) as caught:
        find_run(rows, world.project, "rab")
    assert "rabd2, rabc1" in caught.value.problem.message


def test_other_projects_are_not_seen(world: Context) -> None:
    with world.database.writing() as rows:
        rows.write("INSERT INTO project VALUES ('q', '')", {})
        rows.write("UPDATE run SET project = 'q' WHERE number = 3", {})
    assert [named(world, name) for name in ("-1", "3", "rxyz3", "other")] == ["rabd2", "TW4001", "TW4001", "TW4001"]


def test_a_run_is_read_with_its_plan(world: Context) -> None:
    now_is, of = read_run(world, "pipe#1")
    assert (now_is.run.id, of) == ("rabc1", OF)


def test_steps_and_attempts_are_found_or_told() -> None:
    twice = plan(step("a", retry=1), step("later", needs=["a"]))
    now_is = tell(twice, view(twice), *well("r/a/1", exit_code=1), *well("r/a/2"))
    assert find_step(now_is, "a") == "a"
    newest, first = find_attempt(now_is, StepName("a"), None), find_attempt(now_is, StepName("a"), 1)
    assert newest is not None
    assert first is not None
    assert (newest.number, first.number) == (2, 1)
    assert find_attempt(view(twice), StepName("a"), None) is None
    with pytest.raises(NotFoundError, match="did you mean later"):
        find_step(now_is, "lter")
    with pytest.raises(NotFoundError, match="has no attempt 3"):
        find_attempt(now_is, StepName("a"), 3)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("r", ("r", None, None)),
        ("runs/r/a", ("r", "a", None)),
        ("runs:/r/a/2", ("r", "a", 2)),
        ("-1/a", ("-1", "a", None)),
    ],
)
def test_an_address_has_up_to_three_parts(text: str, parts: tuple[str, str | None, int | None]) -> None:
    assert split_address(text) == parts


@pytest.mark.parametrize("text", ["r/a/x", "r/a/1/2"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(SpecError) as caught:
        split_address(text)
    assert caught.value.problem.code == "TW2104"


def test_a_registration_has_a_step_and_no_attempt() -> None:
    of = plan(step("train", out={"model": "model"}), step("judge"), register("register"))
    assert find_attempt(view(of), StepName("register"), None) is None
