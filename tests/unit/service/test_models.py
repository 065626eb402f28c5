"""The registry: finding, promoting by evidence, going back."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from build import PROJECT, context, insert, plan, step, version_of
from trainwright.core.artifact import AliasMove, ModelVersion
from trainwright.core.errors import ConflictError, GateError, TrainwrightError
from trainwright.service import models, promotion
from trainwright.service.context import Context
from trainwright.store import registry
from trainwright.store.database import Database, Rows


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Context]:
    """Model ``m`` with versions 1 to 4, each of a run of its own; no check on the fourth has passed."""
    made = context(tmp_path)
    for number in (1, 2, 3, 4):
        record = insert(made.database, plan(step("train", out={"model": "model"})), f"r{number}")
        with made.database.writing() as rows:
            asked = version_of(record, number, alias="candidate", passed=number < 4)
            registry.insert_version(rows, PROJECT, asked, made.clock.now(), "ada")
    yield made
    made.database.close()


def promote(world: Context, number: int) -> None:
    promotion.promote(world, f"m/{number}", "production", "")


def promoted(world: Context, address: str, reason: str) -> tuple[ModelVersion, AliasMove]:
    done = promotion.promote(world, address, "production", reason)
    assert done.move is not None
    return done.version, done.move


def holder(world: Context) -> int | None:
    with world.database.reading() as rows:
        return registry.alias_state(rows, PROJECT, "m", "production")[0]


def code(call: object) -> str:
    with pytest.raises(TrainwrightError) as caught:
        call()  # type: ignore[operator]
    return caught.value.problem.code


@pytest.mark.parametrize("head", ["", "models/", "models:/"])
@pytest.mark.parametrize(("name", "number"), [("m", 4), ("m/2", 2), ("m@candidate", 4)])
def test_a_version_has_several_addresses(world: Context, head: str, name: str, number: int) -> None:
    version, alias = models.find(world, head + name)
    assert (version.version, alias) == (number, "candidate" if "@" in name else "")


@pytest.mark.parametrize(
    ("address", "expected"),
    [("n", "TW4102"), ("m/5", "TW4103"), ("m/x", "TW4103"), ("m@prod", "TW4103"), ("m/1@candidate", "TW2105")],
)
def test_an_address_that_leads_nowhere_is_refused(world: Context, address: str, expected: str) -> None:
    assert code(lambda: models.find(world, address)) == expected


def test_the_first_promotion_and_the_second(world: Context) -> None:
    version, first = promoted(world, "m/1", "")
    assert (version.version, first.before, first.after, first.revision, first.reason) == (1, None, 1, 1, "promoted m/1")
    _, second = promoted(world, "m/2", "better")
    assert (second.before, second.after, second.revision, second.reason) == (1, 2, 2, "better")
    assert models.history(world, "m@production") == [first, second]
    found = models.versions(world, "m")
    assert {v.version: v.aliases for v in found} == {1: (), 2: ("production",), 3: (), 4: ("candidate",)}


def test_what_no_check_has_passed_is_not_promoted(world: Context) -> None:
    with pytest.raises(GateError) as caught:
        promote(world, 4)
    assert caught.value.problem.code == "TW3203"
    assert holder(world) is None


def test_a_promotion_to_where_the_alias_is_is_a_conflict(world: Context) -> None:
    promote(world, 1)
    assert code(lambda: promote(world, 1)) == "TW5101"
    assert len(models.history(world, "m@production")) == 1


def test_going_back_twice_goes_back_two_versions(world: Context) -> None:
    for number in (1, 2, 3):
        promote(world, number)
    went = [promotion.rollback(world, "m", "production", "")[1] for _ in range(2)]
    assert [(m.before, m.after, m.reason) for m in went] == [(3, 2, "rolled back"), (2, 1, "rolled back")]
    assert code(lambda: promotion.rollback(world, "m", "production", "")) == "TW4104"
    promote(world, 3)
    assert promotion.rollback(world, "models/m@production", "production", "bad")[0].version == 1


@pytest.mark.parametrize(("name", "expected"), [("n", "TW4102"), ("m", "TW4104")])
def test_there_may_be_nothing_to_go_back_to(world: Context, name: str, expected: str) -> None:
    assert code(lambda: promotion.rollback(world, name, "production", "")) == expected
    promote(world, 1)
    assert code(lambda: promotion.rollback(world, name, "production", "")) == expected


def test_g26_replaying_the_history_gives_the_final_alias(world: Context) -> None:
    for number in (1, 3, 2):
        promote(world, number)
    promotion.rollback(world, "m", "production", "")
    at: int | None = None
    for number, move in enumerate(models.history(world, "m@production"), 1):
        assert (move.revision, move.before) == (number, at)
        at = move.after
    assert at == holder(world) == 3
    with world.database.reading() as rows:
        assert rows.number("SELECT count(*) FROM audit WHERE action = 'model.alias-moved'") == 4


class Racing(Database):
    """Lets somebody else act between our reading and our writing."""

    act: object = None

    @contextmanager
    def writing(self) -> Iterator[Rows]:
        act, self.act = self.act, None
        if act is not None:
            act()  # type: ignore[operator]
        with super().writing() as rows:
            yield rows


def test_g26_a_rollback_that_was_overtaken_is_a_conflict(world: Context) -> None:
    promote(world, 1)
    promote(world, 2)
    racing = Racing(world.database.path)
    racing.act = lambda: promote(world, 3)
    late = replace(world, database=racing)
    try:
        with pytest.raises(ConflictError):
            promotion.rollback(late, "m", "production", "")
    finally:
        racing.close()
