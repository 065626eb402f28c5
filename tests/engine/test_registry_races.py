"""G26: twenty processes register a model at the same moment, and five move an alias."""

import multiprocessing
from pathlib import Path

import pytest
import registrars

from build import NOW, PROJECT, database, insert, train_and_register, version_of
from trainwright.store import registry
from trainwright.store.database import Database

REGISTER, MOVE, BEFORE = 20, 5, 3


def prepared(home: Path) -> Database:
    """A model with three versions, so that an alias can be moved from the first moment on."""
    opened = database(home)
    for number in range(1, BEFORE + 1):
        record = insert(opened, train_and_register(), f"first{number}")
        with opened.writing() as rows:
            registry.insert_version(rows, PROJECT, version_of(record, number), NOW, "ada")
    return opened


@pytest.mark.slow
def test_g26_every_version_is_unique_and_every_move_is_on_record(tmp_path: Path) -> None:
    opened = prepared(tmp_path)
    opened.close()
    spawn = multiprocessing.get_context("spawn")
    told = spawn.Queue()
    host = spawn.Process(target=registrars.race, args=(tmp_path, REGISTER, MOVE, told))
    host.start()
    answers = told.get(timeout=120)
    host.join(60)
    assert [a for a in answers if isinstance(a, str)] == []
    with opened.reading() as rows:
        versions = registry.versions(rows, PROJECT, "m")
        prod = registry.history(rows, PROJECT, "m", "prod")
        candidate = registry.history(rows, PROJECT, "m", "candidate")
        holders = registry.aliases(rows, PROJECT, "m")
        audits = rows.number("SELECT count(*) FROM audit WHERE action = 'model.alias-moved'")
    opened.close()
    assert sorted(v.version for v in versions) == list(range(1, BEFORE + REGISTER + 1))
    assert len({v.run for v in versions}) == len(versions)
    moved = sorted(what for answer in answers if isinstance(answer, list) for how, what in answer if how == "moved")
    assert moved == [move.revision for move in prod] == list(range(1, len(prod) + 1))
    assert audits == len(prod)
    for history, alias in ((prod, "prod"), (candidate, "candidate")):
        at = None
        for move in history:
            assert move.before == at
            at = move.after
        assert at == holders[alias]
    assert [move.after for move in candidate] == list(range(BEFORE + 1, BEFORE + REGISTER + 1))
    lost = [what for answer in answers if isinstance(answer, list) for how, what in answer if how == "lost"]
    assert set(lost) <= {1, 2, 3, "there already"}
    assert len(prod) + len(lost) == MOVE * registrars.MOVES


@pytest.mark.parametrize(
    ("question", "index"),
    [
        ("SELECT max(version) FROM model_version WHERE project = 'p' AND name = 'm'", "sqlite_autoindex_model_version"),
        ("SELECT * FROM model_version WHERE project = 'p' AND run_id = 'r'", "model_version_run"),
        ("SELECT * FROM model_version WHERE project = 'p' AND digest = 'd'", "model_version_digest"),
        ("SELECT * FROM model_release WHERE project = 'p' AND model = 'm' AND version = 1", "model_release_model"),
    ],
)
def test_a_model_of_many_versions_is_asked_by_an_index(tmp_path: Path, question: str, index: str) -> None:
    opened = database(tmp_path)
    with opened.reading() as rows:
        plan = " ".join(str(row["detail"]) for row in rows.all(f"EXPLAIN QUERY PLAN {question}"))
    opened.close()
    assert index in plan
    assert "SCAN" not in plan
