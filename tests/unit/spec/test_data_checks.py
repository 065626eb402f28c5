"""``uses: check_data``: what it means, and what is said of each mistake in it."""

import pytest

from trainwright.core.errors import SpecError
from trainwright.spec.calls import CHECK_DATA_TARGET
from trainwright.spec.document import Document
from trainwright.spec.load import load

FILE = """\
pipeline: p
data: {{raw: x.csv, before: y.csv}}
steps:
  prep: {{run: "true", out: {{table: dataset}}}}
  sound:
    uses: check_data
    with: {given}
"""


def loaded(given: str, more: str = "") -> Document:
    return load(FILE.format(given=given) + more, "p.yaml")


def test_a_check_of_data_is_a_call_of_ours_with_its_expectations_as_a_value() -> None:
    step = loaded("{table: prep.table, expect: {columns: {a: {in: [prep.table]}}}, against: data.before}").spec.steps[
        "sound"
    ]
    assert (step.call, step.uses) == (CHECK_DATA_TARGET, "")
    assert step.arguments == {
        "table": "prep.table",
        "against": "data.before",
        "wanted": {"value": {"columns": {"a": {"in": ["prep.table"]}}}},
    }


@pytest.mark.parametrize(
    ("given", "check", "checks"),
    [
        ("expect: {rows: [1, null]}", "", ("table.failed_checks == 0",)),
        ("expect: {rows: [1, null]}, name: t", "t.rows > 5", ("t.failed_checks == 0", "t.rows > 5")),
        ("expect: {rows: [1, null]}", "table.failed_checks < 3", ("table.failed_checks < 3",)),
        ("against: data.before", "", ()),
    ],
)
def test_nothing_may_fail_unless_the_author_says_how_much(given: str, check: str, checks: tuple[str, ...]) -> None:
    more = f"    check: {check}\n" if check else ""
    assert loaded(f"{{table: data.raw, {given}}}", more).spec.steps["sound"].checks == checks


@pytest.mark.parametrize(
    ("given", "code", "words"),
    [
        ("{expect: {rows: [1, 2]}}", "TW1012", "as in table: prep.table"),
        ("{table: data.raw}", "TW1012", "against: data.before"),
        ("{table: prep.tabel, expect: {rows: [1, 2]}}", "TW1021", "table"),
        ("{table: raw.csv, expect: {rows: [1, 2]}}", "TW1021", "as in prep.table or data.raw"),
        ("{table: data.raw, against: 7}", "TW1013", "not text"),
        ("{table: data.raw, expect: {rows: 3}}", "TW1013", "[0, 120]"),
        ("{table: data.raw, expect: {rows: [null, null]}}", "TW1013", "[0, 120]"),
        ("{table: data.raw, expects: {}}", "TW1010", "did you mean expect?"),
        ("{table: data.raw, expect: {column: {}}}", "TW1010", "did you mean columns?"),
        ("{table: data.raw, expect: {columns: {a: {rnage: [0, 1]}}}}", "TW1010", "did you mean range?"),
        ("{table: data.raw, expect: {columns: {a: {type: integer}}}}", "TW1014", "did you mean int?"),
        ("{table: data.raw, expect: {columns: {a: {nulls: 2}}}}", "TW1013", "above 1"),
        ("{table: data.raw, expect: {columns: {a: {in: []}}}}", "TW1013", "has 0 values"),
        ("{table: data.raw, expect: {rows: [1, .inf]}}", "TW1034", "finite"),
        ("{table: data.raw, against: data.before, bins: 1}", "TW1013", "below 2"),
        ("{table: data.raw, against: data.before, columns: []}", "TW1013", "no column"),
        ("{table: data.raw, against: data.before, name: a.b}", "TW1015", "letters"),
    ],
)
def test_a_mistake_is_told_with_its_place_and_a_remedy(given: str, code: str, words: str) -> None:
    with pytest.raises(SpecError) as caught:
        loaded(given)
    problem = caught.value.problem
    assert (problem.code, words in f"{problem.message} {problem.why} {problem.remedy}") == (code, True), str(problem)
    assert problem.where.startswith("p.yaml:")


@pytest.mark.parametrize(
    "key", ["run: x", "call: a:b", "out: {a: file}", "skip_code: 7", "loop: {max_rounds: 2, until: a > 1}"]
)
def test_it_runs_no_command_of_the_authors(key: str) -> None:
    with pytest.raises(SpecError) as caught:
        loaded("{table: data.raw, expect: {rows: [1, 2]}}", f"    {key}\n")
    assert caught.value.problem.code == "TW1017"


def test_a_step_type_that_does_not_exist_is_told_which_do() -> None:
    with pytest.raises(SpecError, match="is neither") as caught:
        load("pipeline: p\nsteps: {a: {uses: check_dat, with: {}}}", "p.yaml")
    assert caught.value.problem.remedy == "did you mean check_data?"


def test_a_trigger_waits_for_versions_and_not_for_a_slice() -> None:
    with pytest.raises(SpecError, match="is a slice; a trigger waits for versions"):
        load("pipeline: p\ntriggers: {dataset: 'datasets/d#split=train'}\nsteps: {a: {run: x}}", "p.yaml")
