"""What stands behind a model version: the data that the steps on the way to it read."""

from trainwright.core.artifact import Input, ModelVersion
from trainwright.core.ids import ProjectName
from trainwright.store.database import Rows
from trainwright.store.rows import input_of

_MAKERS = """
    WITH RECURSIVE maker (attempt_id) AS (
        SELECT o.attempt_id FROM output o WHERE o.run_id = :run AND o.step = :step AND o.name = :output
            AND o.digest = :digest
        UNION
        SELECT o.attempt_id FROM maker m
            JOIN attempt_input i ON i.attempt_id = m.attempt_id
            JOIN output o ON o.digest = i.digest AND i.address = 'runs:/' || o.run_id || '/' || o.step || '/' || o.name
    )
"""
"""The attempts whose work is in a model: its maker's, and those that made what these read, in whatever run."""


def data_behind(rows: Rows, project: ProjectName, version: ModelVersion) -> list[Input]:
    """Return the data from outside that went into a version, each address once, by address."""
    found = rows.all(
        f"{_MAKERS} SELECT i.* FROM maker m JOIN attempt_input i ON i.attempt_id = m.attempt_id"  # noqa: S608
        " JOIN run r ON r.id = i.run_id WHERE r.project = :project AND substr(i.address, 1, 6) <> 'runs:/'"
        " GROUP BY i.address, i.digest ORDER BY i.address",
        {
            "project": project,
            "run": version.run,
            "step": version.step,
            "output": version.output,
            "digest": version.content.digest,
        },
    )
    return [input_of(row) for row in found]
