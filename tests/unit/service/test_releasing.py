"""Releases: a row before the act, its end after; killed at any line, repeated or ended by the next."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from build import NOW, PROJECT, context, insert, plan, step, version_of
from trainwright.core.errors import BackendError, DeniedError, TrainwrightError
from trainwright.core.governance import AppliedDocument
from trainwright.core.ids import Digest
from trainwright.core.release import Release, ReleaseState, before, serving, wanted
from trainwright.core.scalar import Plain
from trainwright.ports.release import Export, ReleaseOrder
from trainwright.service import promotion, releasing, removal
from trainwright.service.context import Context
from trainwright.store import documents, registry, releases
from trainwright.store.database import Database, Rows


class Killed(BaseException):
    """The process dies here."""


class FakeTarget:
    """Serves the last order that it carried out; fails or dies where it is told to."""

    type = "fake"

    def __init__(self) -> None:
        self.orders: list[ReleaseOrder] = []
        self.fails: BaseException | None = None
        self.dies_after = False

    def check(self, settings: Mapping[str, Plain], base: Path) -> Mapping[str, Plain]:
        return settings

    def release(self, order: ReleaseOrder, export: Export) -> str:
        if self.fails is not None:
            raise self.fails
        self.orders.append(order)
        if self.dies_after:
            raise Killed
        return f"place/{order.version}"

    @property
    def serves(self) -> int | None:
        return self.orders[-1].version if self.orders else None


@pytest.fixture
def target() -> FakeTarget:
    return FakeTarget()


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Context]:
    """Model ``m`` with versions 1 to 3 and the targets ``t``, and ``strict``, which requires production."""
    made = context(tmp_path)
    for number in (1, 2, 3):
        record = insert(made.database, plan(step("train", out={"model": "model"})), f"r{number}")
        with made.database.writing() as rows:
            registry.insert_version(rows, PROJECT, version_of(record, number), made.clock.now(), "ada")
    with made.database.writing() as rows:
        for name, alias in (("t", ""), ("strict", "production")):
            value: Mapping[str, Plain] = {"type": "fake", "settings": {"a": 1}, "require_alias": alias}
            documents.add(rows, PROJECT, AppliedDocument("ReleaseTarget", name, 1, value, value, "", NOW, "ada"))
    yield made
    made.database.close()


def release(world: Context, target: FakeTarget, number: int, to: str = "t") -> Release:
    return releasing.release(world, {"fake": target}, f"m/{number}", to, "")


def back(world: Context, target: FakeTarget, model: str = "") -> Release:
    return releasing.roll_back(world, {"fake": target}, "t", model, "")


def rows_of(world: Context) -> list[tuple[int, int, str]]:
    with world.database.reading() as rows:
        return [(r.number, r.version, str(r.state)) for r in releases.of_target(rows, PROJECT, "t")]


def code(call: object) -> str:
    with pytest.raises(TrainwrightError) as caught:
        call()  # type: ignore[operator]
    return caught.value.problem.code


def test_a_release_is_recorded_with_its_place(world: Context, target: FakeTarget) -> None:
    done = release(world, target, 1)
    assert (done.state, done.place, done.id) == (ReleaseState.RELEASED, "place/1", "t-1")
    assert rows_of(world) == [(1, 1, "released")]
    assert target.orders[0].settings == {"a": 1}
    with world.database.reading() as rows:
        actions = [r["action"] for r in rows.all("SELECT action FROM audit ORDER BY seq")]
        assert [r.id for r in releases.of_model(rows, PROJECT, "m", 1)] == ["t-1"]
    assert actions[-2:] == ["model.release-asked", "model.released"]


def test_going_back_goes_one_version_back_each_time(world: Context, target: FakeTarget) -> None:
    for number in (1, 2, 3):
        release(world, target, number)
    assert back(world, target).version == 2
    assert back(world, target).version == 1
    assert target.serves == 1
    assert code(lambda: back(world, target)) == "TW4702"
    assert rows_of(world) == [
        (1, 1, "released"), (2, 2, "released"), (3, 3, "rolled-back"), (4, 2, "rolled-back"), (5, 1, "released"),
    ]  # fmt: skip
    assert [(one.release.number, one.serves) for one in releasing.listed(world, "t")][:2] == [(5, True), (4, False)]


def test_what_was_never_released_cannot_be_taken_back(world: Context, target: FakeTarget) -> None:
    assert code(lambda: back(world, target)) == "TW4702"
    release(world, target, 1)
    assert code(lambda: back(world, target)) == "TW4702"
    assert code(lambda: back(world, target, "other")) == "TW4702"


def test_a_failed_release_is_recorded_and_the_one_before_serves(world: Context, target: FakeTarget) -> None:
    release(world, target, 1)
    target.fails = BackendError("TW6901", "no room")
    with pytest.raises(BackendError, match="no room"):
        release(world, target, 2)
    target.fails = ValueError("a mistake of the plugin")
    with pytest.raises(BackendError, match="the release plugin fake broke"):
        release(world, target, 2)
    assert rows_of(world) == [(1, 1, "released"), (2, 2, "failed"), (3, 2, "failed")]
    listed = releasing.listed(world)
    assert [(one.release.error, one.serves) for one in listed] == [
        ("ValueError: a mistake of the plugin", False), ("no room", False), ("", True),
    ]  # fmt: skip


def kill(world: Context, target: FakeTarget, number: int) -> None:
    target.dies_after = True
    with pytest.raises(Killed):
        release(world, target, number)
    target.dies_after = False


def test_a_release_that_was_killed_is_repeated_under_the_same_id(world: Context, target: FakeTarget) -> None:
    kill(world, target, 1)
    assert rows_of(world) == [(1, 1, "pending")]
    assert release(world, target, 1).id == "t-1"
    assert [order.id for order in target.orders] == ["t-1", "t-1"]
    assert target.orders[0] == target.orders[1]
    assert rows_of(world) == [(1, 1, "released")]


def test_a_killed_release_of_another_version_is_ended(world: Context, target: FakeTarget) -> None:
    kill(world, target, 1)
    release(world, target, 2)
    assert rows_of(world) == [(1, 1, "failed"), (2, 2, "released")]
    assert releasing.listed(world)[1].release.error == "interrupted"


def test_a_killed_release_is_rolled_back_to_what_served_before_it(world: Context, target: FakeTarget) -> None:
    release(world, target, 1)
    release(world, target, 2)
    kill(world, target, 3)
    assert target.serves == 3
    assert back(world, target).version == 2
    assert target.serves == 2
    assert back(world, target).version == 1
    assert code(lambda: back(world, target)) == "TW4702"


def test_a_rollback_that_was_killed_is_repeated_and_goes_no_further(world: Context, target: FakeTarget) -> None:
    for number in (1, 2, 3):
        release(world, target, number)
    target.dies_after = True
    with pytest.raises(Killed):
        back(world, target)
    target.dies_after = False
    assert back(world, target).version == 2
    assert [order.id for order in target.orders[-2:]] == ["t-4", "t-4"]


class Mortal(Database):
    """Dies before or after its n-th commit."""

    def __init__(self, path: Path, at: int) -> None:
        super().__init__(path)
        self.at, self.count = at, 0

    @contextmanager
    def writing(self) -> Iterator[Rows]:
        with super().writing() as rows:
            yield rows
            self._here()
        self._here()

    def _here(self) -> None:
        self.count += 1
        if self.count == self.at:
            raise Killed


@pytest.mark.parametrize("at", [1, 2, 3, 4])
def test_killed_around_any_commit_the_next_release_sets_it_right(world: Context, target: FakeTarget, at: int) -> None:
    release(world, target, 1)
    mortal = Mortal(world.database.path, at)
    with pytest.raises(Killed):
        release(replace(world, database=mortal), target, 2)
    mortal.close()
    again = release(world, target, 2)
    assert again.state is ReleaseState.RELEASED
    assert target.serves == 2
    assert "pending" not in {state for _, _, state in rows_of(world)}
    if at < 4:
        assert len(rows_of(world)) == 2


def test_a_target_may_require_an_alias(world: Context, target: FakeTarget) -> None:
    with pytest.raises(DeniedError) as caught:
        release(world, target, 1, "strict")
    assert caught.value.problem.code == "TW3208"
    promotion.promote(world, "m/1", "production", "")
    assert release(world, target, 1, "strict").state is ReleaseState.RELEASED
    done = releasing.release(world, {"fake": target}, "m@production", "strict", "")
    assert (done.asked, target.orders[-1].alias) == ("m@production", "production")


def test_what_is_not_there_is_told(world: Context, target: FakeTarget) -> None:
    assert code(lambda: release(world, target, 1, "nowhere")) == "TW4701"
    assert code(lambda: releasing.release(world, {}, "m/1", "t", "")) == "TW2903"
    assert code(lambda: release(world, target, 9)) == "TW4103"


def test_a_version_that_serves_is_not_removed(world: Context, target: FakeTarget) -> None:
    for number in (1, 2, 3):
        release(world, target, number)
    for number in (2, 3):
        with pytest.raises(DeniedError) as caught:
            removal.remove(world, f"m/{number}", "")
        assert f"release t-{number} (released)" in caught.value.problem.why
    removal.remove(world, "m/1", "")


@given(st.lists(st.sampled_from(["v1", "v2", "v3", "back"]), max_size=12))
def test_going_back_is_an_undo(acts: list[str]) -> None:
    """A model of a few lines: a stack of what served."""
    stack: list[int] = []
    record: list[Release] = []
    for act in acts:
        now, to = serving(record).get("m"), before(record, "m")
        assert (now.version if now else None) == (stack[-1] if stack else None)
        assert (to.version if to else None) == (stack[-2] if len(stack) > 1 else None)
        if act == "back":
            if to is None or now is None:
                continue
            stack.pop()
            record = [replace(r, state=ReleaseState.ROLLED_BACK) if r == now else r for r in record]
            record.append(_row(len(record) + 1, to.version, now.number))
        else:
            version = int(act[1])
            if not stack or stack[-1] != version:
                stack.append(version)
            record.append(_row(len(record) + 1, version, None))
        assert serving(record)["m"] in wanted(record, "m")


def _row(number: int, version: int, rolls_back: int | None) -> Release:
    return Release(
        "t", number, "m", version, Digest(""), "", ReleaseState.RELEASED, rolls_back, "", "", "", NOW, "ada", NOW
    )
