"""Data checks and drift gate a step, in both faces, and say what fails where."""

from pathlib import Path

import pytest
from shell import Shell

pytestmark = pytest.mark.heavy

YAML = """\
pipeline: sound
data: {raw: datasets/people@latest, before: datasets/people@previous}
steps:
  prep: {run: "cp ${{ data.raw }} ${{ out.table }}", out: {table: dataset}}
  check_data:
    uses: check_data
    with:
      table: prep.table
      against: data.before
      expect: {rows: [3, null], columns: {age: {type: int, range: [0, 120]}, name: {nulls: 0}}}
    check: ["drift.age.psi <= 0.2"]
  train: {run: "cp ${{ prep.table }} ${{ out.model }}", out: {model: model}, depends_on: check_data}
"""

PYTHON = """\
import trainwright as tw


@tw.step(out={"table": "dataset"}, check=["people.failed_checks == 0", "people.age.null_rate == 0"])
def prep(raw: tw.Dataset):
    table = raw.pandas()
    tw.expect(table, {"columns": {"age": {"range": [0, 120]}}}, name="people")
    return table


@tw.pipeline(data={"raw": "datasets/people@latest", "before": "datasets/people@previous"})
def sound(raw, before):
    table = prep(raw)
    tw.check_data(table, expect={"rows": [3, None]}, against=before, check="drift.age.psi <= 0.2")
"""


@pytest.fixture
def shell(tmp_path: Path):
    with Shell(tmp_path / "here") as opened:
        opened.write(".twignore", "people.csv\n")
        add(opened, *(f"{age},p{age}" for age in range(20, 60)))
        yield opened


def add(shell: Shell, *rows: str) -> None:
    shell.write("people.csv", "\n".join(["age,name", *rows]) + "\n")
    shell.run("dataset", "add", "people", "people.csv", code=0)


def test_a_failing_expectation_stops_what_comes_after_and_names_rows(shell: Shell) -> None:
    shell.write("p.yaml", YAML)
    add(shell, *(f"{age},p{age}" for age in range(20, 60)), "150,old", "30,", "-2,young")
    said = shell.run("run", "p.yaml", code=7)
    assert "the check table.failed_checks == 0 failed (table.failed_checks = 2)" in said.err + said.out
    log = shell.run("logs", "-1/check_data", code=0).out
    assert "  age: range [0, 120]: 2 values: 150 (row 40), -2 (row 42)" in log
    assert "  name: nulls 0: 1 value: 2.33% are null" in log
    assert shell.step(shell.show(), "train")["state"] == "skipped"
    metrics = {m["name"]: m["last"] for m in shell.run("metrics", "-1", "--json", code=0).json}
    assert (metrics["table.rows"], metrics["table.age.range_failures"], metrics["table.age.type_failures"]) == (
        43,
        2,
        0,
    )
    assert metrics["drift.age.psi"] < 0.2


def test_data_that_drifted_from_the_version_before_stops_a_step(shell: Shell) -> None:
    shell.write("sound.py", PYTHON)
    add(shell, *(f"{age},p{age}" for age in range(40, 80)))
    said = shell.run("run", "sound.py", code=7)
    assert "the check drift.age.psi <= 0.2 failed" in said.err + said.out
    run = shell.show()
    assert shell.step(run, "prep")["state"] == "succeeded"
    assert [g["verdict"] for g in shell.step(run, "check_data")["gates"]] == ["passed", "failed"]


def test_a_job_without_pandera_says_what_to_install(shell: Shell) -> None:
    shell.write("p.yaml", YAML)
    shell.write("pandera/__init__.py", "raise ImportError('not here')\n")
    shell.run("run", "p.yaml", code=1)
    assert "pip install trainwright[checks]" in shell.run("logs", "-1/check_data", code=0).out
