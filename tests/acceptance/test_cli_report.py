"""What cpu and GPU time served."""

import pytest
from shell import Shell

PIPELINE = """\
pipeline: {name}
scheduling: {{purpose: retrain-weekly}}
steps:
  train:
    run: sleep 0.3
    resources: {{cpu: 1}}
  look:
    run: sleep 0.1
    resources: {{cpu: 500m}}
    scheduling: {{purpose: research}}
"""


@pytest.fixture(scope="module")
def tw(tmp_path_factory):
    with Shell(tmp_path_factory.mktemp("report") / "p") as shell:
        said = shell.run("report", "usage", code=0)
        assert said.err == "nothing ran in the last 30d\n"
        for name in ("one", "two"):
            shell.write(f"{name}.yaml", PIPELINE.format(name=name))
            shell.run("run", f"{name}.yaml", code=0)
        shell.write("plain.yaml", "pipeline: plain\nsteps: {s: {run: 'true'}}")
        shell.run("run", "plain.yaml", code=0)
        yield shell


def test_time_is_summed_by_what_it_served(tw) -> None:
    found = {one["name"]: one for one in tw.run("report", "usage", "--by", "purpose", "--json", code=0).json}
    assert {name: one["attempts"] for name, one in found.items()} == {
        "retrain-weekly": 2, "research": 2, "(not said)": 1,
    }  # fmt: skip
    assert found["retrain-weekly"]["cpu_hours"] >= 2 * 0.3 / 3600
    assert found["research"]["cpu_hours"] < found["retrain-weekly"]["cpu_hours"]
    assert found["research"]["gpu_hours"] == 0
    table = tw.run("report", "usage", code=0).out
    assert table.splitlines()[0].split() == ["purpose", "GPU", "hours", "share", "core", "hours", "attempts"]


def test_time_is_summed_by_queue_pipeline_and_person_too(tw) -> None:
    by = lambda what: [one["name"] for one in tw.run("report", "usage", "--by", what, "--json", code=0).json]  # noqa: E731
    assert by("queue") == ["default"]
    assert sorted(by("pipeline")) == ["one", "plain", "two"]
    assert len(by("person")) == 1


def test_a_wrong_question_is_refused_in_words(tw) -> None:
    said = tw.run("report", "usage", "--by", "purposes", code=2)
    assert "did you mean purpose?" in said.err
    assert "month" in tw.run("report", "usage", "--since", "month", code=2).err
    assert "did you mean tw report usage?" in tw.run("report", "useage", code=2).err
