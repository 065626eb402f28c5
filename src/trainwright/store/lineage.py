"""Who read what: the questions of lineage that concern many runs at once, each one statement however many there are."""

import json
from collections.abc import Collection, Iterable

from trainwright.core.ids import AttemptId, Digest, ProjectName, RunId
from trainwright.store.database import Rows

_ORIGIN = "json_extract(a.reuse, '$.evidence.origin')"

Read = tuple[AttemptId, str, Digest]
"""An attempt, the address of what it read, and its content then."""


def _list(values: Iterable[str]) -> str:
    return json.dumps(sorted(values))


def readers(rows: Rows, project: ProjectName, addresses: Collection[str]) -> list[Read]:
    """Return which attempts of a project read these addresses, or slices of them (``address#…``)."""
    found = rows.all(
        "SELECT i.attempt_id, i.address, i.digest FROM json_each(:addresses) w"
        " CROSS JOIN attempt_input i ON i.address = w.value CROSS JOIN run r ON r.id = i.run_id"
        " WHERE r.project = :project UNION ALL"
        " SELECT i.attempt_id, i.address, i.digest FROM json_each(:addresses) w"
        " CROSS JOIN attempt_input i ON i.address > w.value || '#' AND i.address < w.value || '$'"
        " CROSS JOIN run r ON r.id = i.run_id WHERE r.project = :project ORDER BY 1, 2",
        {"addresses": _list(addresses), "project": project},
    )
    return [(AttemptId(row[0]), str(row[1]), Digest(row[2])) for row in found]


def followers(rows: Rows, attempts: Collection[AttemptId]) -> list[AttemptId]:
    """Return which attempts read what these published."""
    found = rows.all(
        "SELECT DISTINCT i.attempt_id FROM json_each(:attempts) f JOIN output o ON o.attempt_id = f.value"
        " JOIN attempt_input i ON i.address = 'runs:/' || o.run_id || '/' || o.step || '/' || o.name"
        " AND i.digest = o.digest",
        {"attempts": _list(attempts)},
    )
    return [AttemptId(row[0]) for row in found]


def copies(rows: Rows, project: ProjectName) -> list[tuple[AttemptId, AttemptId]]:
    """Return each attempt that made something beside one that was answered with it."""
    found = rows.all(
        f"SELECT {_ORIGIN} AS origin, a.id FROM attempt a JOIN run r ON r.id = a.run_id"  # noqa: S608 - fixed
        " WHERE a.reuse LIKE '%\"origin\"%' AND a.state = 'succeeded' AND r.project = :project",
        {"project": project},
    )
    return [(AttemptId(row[0]), AttemptId(row[1])) for row in found if row[0]]


def published_models(rows: Rows, project: ProjectName) -> list[tuple[AttemptId, str, str, int]]:
    """Return the attempt and output behind each model version, its name and its number; by name and number."""
    # the plus: found by run, since any number of outputs may have the same content
    found = rows.all(
        "SELECT o.attempt_id, o.name, m.name, m.version FROM model_version m JOIN output o ON o.run_id = m.run_id"
        " AND o.step = m.step AND o.name = m.output AND +o.digest = m.digest WHERE m.project = :project"
        " ORDER BY m.name, m.version",
        {"project": project},
    )
    return [(AttemptId(row[0]), str(row[1]), str(row[2]), int(row[3])) for row in found]


def newest(rows: Rows, among: Collection[RunId], limit: int) -> list[RunId]:
    """Return the newest of some runs, newest first; all of them when ``limit`` is 0."""
    found = rows.all(
        "SELECT r.id FROM json_each(:runs) w JOIN run r ON r.id = w.value ORDER BY r.number DESC LIMIT :limit",
        {"runs": _list(among), "limit": limit or -1},
    )
    return [RunId(row[0]) for row in found]


def with_lists(rows: Rows, among: Collection[RunId]) -> list[RunId]:
    """Return which of these runs have a group whose members a list decides that one of its steps made."""
    found = rows.all(
        "SELECT r.id FROM json_each(:runs) w JOIN run r ON r.id = w.value JOIN plan p ON p.project = r.project"
        " AND p.digest = r.plan_digest WHERE instr(p.body, '\"over\":{') > 0 ORDER BY r.number",
        {"runs": _list(among)},
    )
    return [RunId(row[0]) for row in found]


def raw_inputs(rows: Rows, project: ProjectName) -> list[tuple[str, Digest]]:
    """Return address and content of whatever attempts read that is neither a dataset's nor a step's, by address."""
    found = rows.all(
        "SELECT DISTINCT i.address, i.digest FROM attempt_input i JOIN run r ON r.id = i.run_id"
        " WHERE (i.address < 'datasets/' OR (i.address >= 'datasets0' AND i.address < 'runs:/')"
        " OR i.address >= 'runs:0') AND r.project = :project ORDER BY i.address, i.digest",
        {"project": project},
    )
    return [(str(row[0]), Digest(row[1])) for row in found]


def is_source(rows: Rows, project: ProjectName, address: str) -> bool:
    """Tell whether a dataset version came from this path or URI, or a run read it."""
    found = rows.one(
        "SELECT 1 FROM dataset_version WHERE project = :project AND source = :address UNION ALL"
        " SELECT 1 FROM attempt_input i JOIN run r ON r.id = i.run_id"
        " WHERE i.address = :address AND r.project = :project LIMIT 1",
        {"project": project, "address": address},
    )
    return found is not None


def equal_outputs(rows: Rows, project: ProjectName, digests: Collection[Digest]) -> dict[Digest, int]:
    """Return how many outputs of a project have each content: those of one step of one run count once."""
    found = rows.all(
        "SELECT o.digest, count(DISTINCT o.run_id || '/' || o.step || '/' || o.name) FROM json_each(:digests) w"
        " JOIN output o ON o.digest = w.value JOIN run r ON r.id = o.run_id WHERE r.project = :project"
        " GROUP BY o.digest",
        {"digests": _list(digests), "project": project},
    )
    return {Digest(row[0]): int(row[1]) for row in found}
