"""Random graphs with groups, carried to their end by engines that are killed, against the model of ``graphs``."""

import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lab import Death, Lab

from build import content, insert
from compiled import compiled
from graphs import Model, Node, end_of, members_of, nodes, texts
from trainwright.core.job import JobSpec
from trainwright.ports.testing.fake import Script


@given(nodes(), st.sets(st.integers(1, 150), max_size=12))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
def test_a_graph_with_groups_ends_as_the_model_says_whoever_is_killed(graph: tuple[Node, ...], dies: set[int]) -> None:
    files = texts(graph)
    of = compiled(files["./top.yaml"], files)

    def goes(job: JobSpec) -> Script:
        end = end_of(graph, job.step, job.number)
        return Script(
            exit_code=end["exit_code"],
            metrics={} if end["good"] is None else {"good": end["good"]},
            outputs={name: content(f"{job.step}{name}") for name in job.outputs},
        )

    with tempfile.TemporaryDirectory() as folder:
        lab = Lab(Path(folder), goes)
        for path in [s for s in of.by_path if s.endswith("_list")]:
            for step in _instances(graph, path):
                lab.values[content(f"{step}list").digest] = list(range(members_of(graph, step)))
        insert(lab.database, of)
        lab.survive(Death(frozenset(dies)))
        found = {str(s.name): str(s.state) for s in lab.view().steps}
        found["run"] = str(lab.view().run.state)
        asked = [job.attempt for job in lab.backend.started]
        lab.close()
    assert found == Model().run(graph)
    assert len(asked) == len(set(asked)), "an attempt began twice"


def _instances(graph: tuple[Node, ...], path: str) -> list[str]:
    """Every step that a path may stand for: no group here has more than three members."""
    found = [""]
    for part in path.split("."):
        found = [f"{head}.{n}".lstrip(".") for head in found for n in ([0, 1, 2, 3] if part == "*" else [part])]
    return found
