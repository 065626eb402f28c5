"""Platform documents applied, and promotions under the policies that they make."""

import json
import textwrap
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from build import PROJECT, after, context, insert, plan, step, version_of
from trainwright.core.errors import ConflictError, DeniedError, NotFoundError, SpecError, TrainwrightError
from trainwright.core.fingerprint import CodeState
from trainwright.core.ids import Digest, RunId
from trainwright.core.scalar import Plain
from trainwright.ports.testing.clock import VirtualClock
from trainwright.service import dossier, governing, loading, models, promotion, removal
from trainwright.service.context import Context
from trainwright.service.namespaces import refuse_unclean
from trainwright.store import documents, registry, runs
from trainwright.store.database import Database, Rows, Stale

POLICY = """
    apiVersion: trainwright/v1
    kind: AliasPolicy
    metadata: {name: production}
    spec:
      alias: production
      require: ["auc >= 0.9", "auc >= production.auc"]
      from: candidate
    """


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Context]:
    """Model ``m`` with versions 1 to 3 of auc 0.85, 0.9, 0.95; all but the last were candidates."""
    made = context(tmp_path)
    for number in (1, 2, 3):
        record = insert(made.database, plan(step("train", out={"model": "model"})), f"r{number}")
        with made.database.writing() as rows:
            asked = version_of(record, number, alias="candidate" if number < 3 else "")
            asked = replace(asked, metrics={"auc": 0.8 + number / 20})
            registry.insert_version(rows, PROJECT, asked, made.clock.now(), "ada")
    yield made
    made.database.close()


def apply(world: Context, text: str, **more: object) -> governing.Application:
    path = world.here / "document.yaml"
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    return governing.apply(world, path, "document.yaml", "", {}, **{"dry_run": False, **more})  # type: ignore[arg-type]


def code(call: object) -> str:
    with pytest.raises(TrainwrightError) as caught:
        call()  # type: ignore[operator]
    return caught.value.problem.code


def at(world: Context, when: datetime) -> Context:
    clock = VirtualClock()
    clock.sleep((when - clock.now()).total_seconds())
    return replace(world, clock=clock)


def audits(world: Context, action: str) -> list[Mapping[str, Plain]]:
    with world.database.reading() as rows:
        found = rows.all("SELECT details FROM audit WHERE action = :action ORDER BY seq", {"action": action})
    return [json.loads(row["details"]) for row in found]


# documents


def test_applying_twice_is_applying_once(world: Context) -> None:
    first, again = apply(world, POLICY), apply(world, POLICY)
    assert (first.is_new, first.document.revision) == (True, 1)
    assert (again.is_new, again.changes, again.document.revision) == (False, (), 1)
    assert len(audits(world, "document.applied")) == 1


def test_a_change_is_a_revision_that_says_what_changed(world: Context) -> None:
    apply(world, POLICY)
    changed = apply(world, POLICY.replace("auc >= 0.9", "auc >= 0.8"))
    assert [(c.key, c.before, c.after) for c in changed.changes] == [
        ("require", ["auc >= 0.9", "auc >= production.auc"], ["auc >= 0.8", "auc >= production.auc"])
    ]
    assert [d.revision for d in governing.log(world, "AliasPolicy/production")] == [1, 2]
    assert audits(world, "document.applied")[1]["changes"] == ["require"]


def test_a_dry_run_writes_nothing(world: Context) -> None:
    shown = apply(world, POLICY, dry_run=True)
    assert shown.is_new
    assert shown.dry_run
    assert governing.in_force(world) == []
    assert audits(world, "document.applied") == []


def test_a_document_that_was_taken_away_holds_no_more_and_can_come_back(world: Context) -> None:
    apply(world, POLICY)
    ended = governing.take_away(world, "AliasPolicy/production", "no longer")
    assert (ended.revision, ended.spec) == (2, None)
    assert governing.in_force(world) == []
    assert code(lambda: governing.find(world, "AliasPolicy/production")) == "TW4501"
    assert apply(world, POLICY).document.revision == 3
    assert [d.spec is None for d in governing.log(world)] == [False, True, False]


def test_the_slower_of_two_that_apply_is_told(world: Context) -> None:
    class Racing(Database):
        @contextmanager
        def writing(self) -> Iterator[Rows]:
            if governing.in_force(world) == []:
                apply(world, POLICY)
            with super().writing() as rows:
                yield rows

    racing = Racing(world.database.path)
    try:
        with pytest.raises(ConflictError) as caught:
            apply(replace(world, database=racing), POLICY.replace("0.9", "0.8"))
        assert caught.value.problem.code == "TW5501"
    finally:
        racing.close()
    assert governing.find(world, "AliasPolicy/production").spec["require"][0] == "auc >= 0.9"  # type: ignore[index]


@pytest.mark.parametrize(("data", "expected"), [(None, "TW4004"), (b"", "TW1002"), (b"\xff", "TW2107")])
def test_a_file_that_cannot_be_a_document_is_told(world: Context, data: bytes | None, expected: str) -> None:
    path = world.here / "x.yaml"
    if data is not None:
        path.write_bytes(data)
    assert code(lambda: governing.apply(world, path, "x.yaml", "", {}, dry_run=True)) == expected


# promotions


def test_a_version_that_shows_it_all_becomes_production_with_its_evidence(world: Context) -> None:
    apply(world, POLICY)
    done = promotion.promote(world, "m/2", "production", "good")
    assert done.move is not None
    assert done.move.how == "promoted"
    assert [said.verdict for said in done.evidence] == ["passed", "passed", "passed", "no-baseline"]
    assert models.history(world, "m@production")[0].evidence == done.evidence


def test_a_refusal_moves_nothing_names_the_rule_and_is_on_record(world: Context) -> None:
    apply(world, POLICY)
    refused = promotion.promote(world, "m/1", "production", "")
    assert refused.move is None
    assert isinstance(refused.refusal(), DeniedError)
    assert "auc >= 0.9 failed" in refused.refusal().problem.message
    never = promotion.promote(world, "m/3", "production", "")
    assert [s.rule for s in never.evidence if not s.passed] == ["from: candidate"]
    with world.database.reading() as rows:
        assert registry.alias_state(rows, PROJECT, "m", "production") == (None, 0)
    assert [told["version"] for told in audits(world, "model.alias-refused")] == [1, 3]


def test_foreseeing_moves_nothing_and_records_nothing(world: Context) -> None:
    apply(world, POLICY)
    assert promotion.foresee(world, "m/2", "production").move is None
    assert all(s.passed for s in promotion.foresee(world, "m/2", "production").evidence)
    assert audits(world, "model.alias-refused") == audits(world, "model.alias-moved") == []


def test_no_policy_stands_in_the_way_back(world: Context) -> None:
    promotion.promote(world, "m/1", "production", "")
    promotion.promote(world, "m/2", "production", "")
    apply(world, POLICY)
    version, move = promotion.rollback(world, "m", "production", "")
    assert (version.version, move.how, move.evidence) == (1, "rolled-back", ())


def test_the_loser_of_a_race_learns_who_holds_the_alias(world: Context) -> None:
    promotion.promote(world, "m/1", "production", "mine")
    with pytest.raises(ConflictError) as caught:
        promotion.promote(world, "m/2", "production", "", expect="3")
    assert "it points at version 1 (revision 1, moved there by ada: mine)" in caught.value.problem.message
    assert caught.value.problem.details == {"holder": 1, "revision": 1}
    done = promotion.promote(world, "m/2", "production", "", expect="1")
    assert done.move is not None
    assert promotion.promote(world, "m/1", "staging", "", expect="none").move is not None


@pytest.mark.parametrize("name", ["", "a/b", "../x", "a b", "3", "a\0b", "x" * 64, "-a"])
def test_what_is_no_name_is_no_alias(world: Context, name: str) -> None:
    assert code(lambda: promotion.promote(world, "m/1", name, "")) == "TW1015"


# what was production then


def test_an_alias_is_known_at_every_instant_of_its_past(world: Context) -> None:
    day = 24 * 3600
    for number, when in ((1, 0.5 * day), (2, 1.25 * day), (3, 1.75 * day)):
        promotion.promote(at(world, after(when)), f"m/{number}", "production", "")
    first = after(0).date()

    def held(text: str) -> models.Held:
        return models.held_at(world, "m@production", text)

    assert code(lambda: held(after(0).isoformat())) == "TW4103"
    assert held(after(0.5 * day).isoformat()).version.version == 1
    assert held(after(1.3 * day).isoformat()).version.version == 2
    assert held(after(1.3 * day).isoformat()).until == after(1.75 * day)
    whole = held(first.isoformat())
    assert (whole.version.version, whole.at.date(), whole.at.hour) == (1, first, 23)
    second = held(after(day).date().isoformat())
    assert (second.version.version, second.moves_that_day, second.until) == (3, 2, None)


@pytest.mark.parametrize(
    ("address", "when", "expected"),
    [
        ("m", "2026-05-03", "TW2901"),
        ("m/1", "2026-05-03", "TW2901"),
        ("m@production", "3 May", "TW2305"),
        ("m@production", "2026-05-03T10:00", "TW2305"),
        ("m@nobody", "2026-05-03", "TW4103"),
        ("n@production", "2026-05-03", "TW4102"),
    ],
)
def test_a_question_about_the_past_has_to_be_clear(world: Context, address: str, when: str, expected: str) -> None:
    assert code(lambda: models.held_at(world, address, when)) == expected


# removal


def test_a_version_that_something_refers_to_stays(world: Context) -> None:
    with pytest.raises(DeniedError) as caught:
        removal.remove(world, "m/2", "")
    assert caught.value.problem.code == "TW3205"
    assert "the alias m@candidate" in caught.value.problem.message
    with world.database.writing() as rows:
        rows.write(
            "INSERT INTO attempt (id, run_id, step, number, state, token, queued_at, params)"
            " VALUES ('r3/x/1', 'r3', 'x', 1, 'succeeded', 't', '', '{}')",
            {},
        )
        rows.write(
            "INSERT INTO attempt_input (attempt_id, name, run_id, kind, address, digest, files, size_bytes)"
            " VALUES ('r3/x/1', 'base', 'r3', 'model', 'models/m/1', 'd', 1, 1)",
            {},
        )
    with pytest.raises(DeniedError) as caught:
        removal.remove(world, "m/1", "")
    assert "run r3, which read it and made models/m/3" in caught.value.problem.why


def test_a_number_is_never_given_again(world: Context) -> None:
    removal.remove(world, "m/3", "worse")
    with pytest.raises(NotFoundError) as caught:
        models.find(world, "m/3")
    assert "removed" in caught.value.problem.message + caught.value.problem.why
    assert "worse" in caught.value.problem.why
    with world.database.reading() as rows:
        assert registry.next_version(rows, PROJECT, "m") == 4
        record = runs.run(rows, RunId("r3"))
    assert record is not None
    with world.database.writing() as rows, pytest.raises(Stale, match="was removed"):
        registry.insert_version(rows, PROJECT, version_of(record, 3), world.clock.now(), "ada")


def test_going_back_to_what_was_removed_is_told(world: Context) -> None:
    promotion.promote(world, "m/3", "production", "")
    promotion.promote(world, "m/2", "production", "")
    removal.remove(world, "m/3", "worse")
    with pytest.raises(NotFoundError) as caught:
        promotion.rollback(world, "m", "production", "")
    assert caught.value.problem.message == "models/m/3 is not there any more"


@pytest.mark.parametrize(("address", "expected"), [("m", "TW2902"), ("m@candidate", "TW2902"), ("m/9", "TW4103")])
def test_what_is_removed_is_named_by_its_number(world: Context, address: str, expected: str) -> None:
    assert code(lambda: removal.remove(world, address, "")) == expected


EVIL = [
    "../../etc/passwd", "..%2f..%2fetc/passwd", "/etc/passwd", "a/../../b", "..\\x", "m/../canary", "m@../canary",
    "models/m/1/../../canary", "file:///etc/passwd", "http:///#/../../etc", "m/1\0", "m\0", "m/١", "m/1\n", "",
]  # fmt: skip


@pytest.mark.parametrize("address", EVIL)
def test_g31_an_address_is_no_path(world: Context, address: str) -> None:
    canary = world.here / "canary"
    canary.write_text("the canary sings")
    before = {p.name for p in world.here.iterdir()}
    for ask in (
        lambda: models.find(world, address),
        lambda: dossier.read(world, address),
        lambda: loading.fetch(world, address, world.here / "evil"),
        lambda: removal.remove(world, address, ""),
        lambda: models.history(world, address),
        lambda: models.held_at(world, address, "2026-05-03"),
        lambda: promotion.promote(world, address, "production", ""),
        lambda: promotion.rollback(world, address, "production", ""),
    ):
        with pytest.raises((NotFoundError, SpecError)) as caught:
            ask()
        assert caught.value.problem.message.isprintable()
        assert "sings" not in str(caught.value)
    assert {p.name for p in world.here.iterdir()} == before


# namespaces

CLEAN = """
    apiVersion: trainwright/v1
    kind: Namespace
    metadata: {name: prod}
    spec: {match: [models/m, pipelines/nightly], team: core, code: clean}
    """


def test_a_namespace_takes_committed_code_only(world: Context) -> None:
    from build import train_and_register

    graph = train_and_register()
    tree = Digest("sha256:" + "0" * 64)
    clean = CodeState(tree, ".", commit="c" * 40)
    refuse_unclean(world, graph, replace(clean, dirty=True, modified=("a.py",)))
    apply(world, CLEAN)
    refuse_unclean(world, graph, clean)
    refuse_unclean(world, plan(step("train")), replace(clean, dirty=True))
    for bad, words in (
        (replace(clean, dirty=True, modified=("a.py", "b.py")), "a.py, b.py changed or new"),
        (replace(clean, untracked=("new.py",)), "new.py changed or new"),
        (replace(clean, dirty=True), "the code has changes"),
        (replace(clean, commit=""), "in no commit"),
    ):
        with pytest.raises(DeniedError) as caught:
            refuse_unclean(world, graph, bad)
        assert caught.value.problem.code == "TW3207"
        assert words in caught.value.problem.message
        assert "team core" in caught.value.problem.message
    assert len(audits(world, "run.refused")) == 4


def test_owners_are_told_by_address(world: Context) -> None:
    apply(world, CLEAN)
    with world.database.reading() as rows:
        assert governing.owners_of(rows, world, ["models/m", "models/n"]) == {"models/m": ("core",)}
        assert [n.name for n in documents.namespaces(rows, PROJECT)] == ["prod"]


def test_a_document_of_an_unknown_kind_is_a_mistake_of_its_author(world: Context) -> None:
    with pytest.raises(SpecError):
        apply(world, CLEAN.replace("Namespace", "Queue"))
