"""What the records still need, and how a run leaves them. All questions are about every project of the state folder."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from datetime import datetime
from typing import NamedTuple

from trainwright.core.ids import AttemptId, Digest, ProjectName, RunId
from trainwright.core.states import FINAL_ATTEMPT_STATES, AttemptState, RunState
from trainwright.store import cache, journal
from trainwright.store.database import Rows, Value
from trainwright.store.rows import instant

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_OVER = "('" + "', '".join(sorted(s for s in RunState if s.is_final)) + "')"
_ENDED = "('" + "', '".join(sorted(FINAL_ATTEMPT_STATES)) + "')"

_REMOVABLE = f"""
    r.state IN {_OVER}
    AND r.number < (SELECT max(number) FROM run WHERE project = r.project)
    AND NOT EXISTS (SELECT 1 FROM model_version m WHERE m.run_id = r.id)
    AND NOT EXISTS (SELECT 1 FROM attempt a WHERE a.run_id = r.id AND a.state NOT IN {_ENDED})
    AND NOT EXISTS (
        SELECT 1 FROM output o JOIN attempt_input i ON i.digest = o.digest
        WHERE o.run_id = r.id AND i.run_id <> r.id
        AND substr(i.address, 1, length(r.id) + 7) = 'runs:/' || r.id || '/'
    )
    AND NOT EXISTS (
        SELECT 1 FROM plan p JOIN run o ON o.project = p.project AND o.plan_digest = p.digest
        WHERE o.state NOT IN {_OVER} AND instr(p.body, 'runs:/' || r.id || '/') > 0
    )
"""  # noqa: S608 - fixed words
"""A run may go when it is over, is not the newest of its project (its number would be given again), made no model
version (and so none that an alias points or ever pointed at), and no other run reads what it made."""

_TABLES = ("metric", "attempt_input", "output", "attempt", "step", "outbox", "event")
"""What belongs to a run, in the order in which it can go. The event of a trigger that a run was started for stays: its
id keeps it from being run again. So does the note of a removed model version: its number is not given again."""


class Over(NamedTuple):
    """An attempt that is over, of a run that is.

    Attributes:
        published: whether all it made is stored.
    """

    attempt: AttemptId
    run: RunId
    published: bool


def removable(rows: Rows, project: ProjectName, before: datetime) -> list[RunId]:
    """Return the runs of a project that ended before ``before`` and that nothing refers to, newest first."""
    found = rows.all(
        f"SELECT r.id FROM run r WHERE r.project = :project AND r.finished_at < :before AND {_REMOVABLE}"  # noqa: S608
        " ORDER BY r.number DESC",
        {"project": project, "before": instant(before)},
    )
    return [RunId(row["id"]) for row in found]


def remove_run(rows: Rows, run: RunId, now: datetime, actor: str) -> bool:
    """Remove every row of a run but its audit, which tells that it was removed; False when it has to stay by now.

    Its plan and fingerprint go with the last run that has them. To be called in a transaction that writes.
    """
    found = rows.one(f"SELECT * FROM run r WHERE r.id = :run AND {_REMOVABLE}", {"run": run})  # noqa: S608 - fixed words
    if found is None:
        return False
    key: dict[str, Value] = {"run": run}
    cache.forget_run(rows, run)
    for table in _TABLES:
        rows.write(f"DELETE FROM {table} WHERE run_id = :run", key)  # noqa: S608 - our own names
    rows.write("DELETE FROM run WHERE id = :run", key)
    for table, column in (("plan", "plan_digest"), ("fingerprint", "fingerprint")):
        rows.write(
            f"DELETE FROM {table} WHERE project = :project AND digest = :digest AND NOT EXISTS"  # noqa: S608 - our names
            f" (SELECT 1 FROM run WHERE project = :project AND {column} = :digest)",
            {"project": found["project"], "digest": found[column]},
        )
    journal.add_audit(
        rows, ProjectName(found["project"]), now, actor, "run.removed", f"runs/{run}",
        details={
            "pipeline": found["pipeline"], "number": found["number"], "state": found["state"],
            "fingerprint": found["fingerprint"],
        },
    )  # fmt: skip
    return True


def removed_runs(rows: Rows) -> set[RunId]:
    """Return the runs of which only the audit is left."""
    found = rows.all(
        "SELECT substr(subject, 6) AS id FROM audit WHERE action = 'run.removed'"
        " AND NOT EXISTS (SELECT 1 FROM run WHERE run.id = substr(audit.subject, 6))"
    )
    return {RunId(row["id"]) for row in found}


def attempts_over(rows: Rows, before: datetime) -> list[Over]:
    """Return the attempts whose run ended before ``before``, by id."""
    found = rows.all(
        f"""SELECT a.id, a.run_id, a.state, EXISTS (SELECT 1 FROM output o WHERE o.attempt_id = a.id) AS published
        FROM attempt a JOIN run r ON r.id = a.run_id WHERE r.state IN {_OVER} AND a.state IN {_ENDED}
        AND r.finished_at < :before ORDER BY a.id""",  # noqa: S608 - fixed words
        {"before": instant(before)},
    )
    return [
        Over(
            AttemptId(row["id"]), RunId(row["run_id"]), bool(row["published"]) or row["state"] == AttemptState.SUCCEEDED
        )
        for row in found
    ]


def attempts_under_way(rows: Rows) -> list[AttemptId]:
    """Return the attempts of every run that is not over, by id."""
    found = rows.all(
        f"SELECT a.id FROM attempt a JOIN run r ON r.id = a.run_id WHERE r.state NOT IN {_OVER} ORDER BY a.id"  # noqa: S608
    )
    return [AttemptId(row["id"]) for row in found]


def needed_by(
    rows: Rows, without: Collection[RunId] = (), versions: Collection[tuple[ProjectName, str]] = ()
) -> dict[Digest, list[str]]:
    """Return every digest that a row names, with the addresses that name it, in a fixed order.

    Args:
        rows: of a transaction.
        without: runs that do not count.
        versions: project and address of dataset versions that do not count.
    """
    gone = set(without)
    return _gathered([*_named_for_good(rows, set(versions)), *_published(rows, gone), *_read(rows, gone, "")])


def needed_now(rows: Rows) -> set[Digest]:
    """Return the digests of what runs that are not over may be reading: inputs, pinned data, code."""
    return set(_gathered(_read(rows, set(), f"WHERE state NOT IN {_OVER}")))


def _gathered(named: Iterable[tuple[str, str]]) -> dict[Digest, list[str]]:
    found: dict[Digest, dict[str, None]] = defaultdict(dict)
    for digest, address in named:
        found[Digest(digest)][address] = None
    return {digest: list(addresses) for digest, addresses in found.items()}


def _named_for_good(rows: Rows, gone: set[tuple[ProjectName, str]]) -> Iterator[tuple[str, str]]:
    for row in rows.all("SELECT project, name, version, digest FROM dataset_version ORDER BY project, name, version"):
        address = f"datasets/{row['name']}@{row['version']}"
        if (row["project"], address) not in gone:
            yield row["digest"], address
    for row in rows.all("SELECT name, version, digest FROM model_version ORDER BY project, name, version"):
        yield row["digest"], f"models/{row['name']}/{row['version']}"
    cards = "SELECT name, version, card FROM model_version WHERE card IS NOT NULL ORDER BY project, name, version"
    for row in rows.all(cards):
        yield row["card"], f"the card of models/{row['name']}/{row['version']}"


def _published(rows: Rows, gone: set[RunId]) -> Iterator[tuple[str, str]]:
    for row in rows.all("SELECT run_id, step, name, digest FROM output ORDER BY attempt_id, name"):
        if row["run_id"] not in gone:
            yield row["digest"], f"runs:/{row['run_id']}/{row['step']}/{row['name']}"


def _read(rows: Rows, gone: set[RunId], which: str) -> Iterator[tuple[str, str]]:
    """Yield what runs read; from plans and fingerprints whatever looks like a digest, so that no field is forgotten."""
    columns = "id, project, plan_digest, fingerprint, reproduces"
    runs = rows.all(f"SELECT {columns} FROM run {which} ORDER BY project, number")  # noqa: S608 - fixed words
    kept = {row["id"]: row for row in runs if row["id"] not in gone}
    for row in rows.all("SELECT run_id, address, digest FROM attempt_input ORDER BY attempt_id, name"):
        if row["run_id"] in kept:
            yield row["digest"], row["address"]
    for name, row in kept.items():
        for digest in _DIGEST.findall(row["reproduces"] or ""):
            yield digest, f"original of runs/{name}"
    for table, column, words in (("plan", "plan_digest", "data"), ("fingerprint", "fingerprint", "code or data")):
        bodies = {
            (row["project"], row["digest"]): _DIGEST.findall(row["body"])
            for row in rows.all(f"SELECT project, digest, body FROM {table}")  # noqa: S608 - two fixed names
        }
        for name, row in kept.items():
            for digest in bodies.get((row["project"], row[column]), ()):
                yield digest, f"{words} of runs/{name}"
