"""How files and tables differ, without missing one and without telling of one twice."""

from hypothesis import given
from hypothesis import strategies as st

from trainwright.core.dataset_changes import FileChange, compare_files, compare_tables
from trainwright.core.table import Column, Table


def test_a_file_is_added_removed_renamed_or_changed() -> None:
    before = [("a", 1, "A"), ("b", 1, "B"), ("c", 1, "C"), ("d", 2, "D"), ("same", 1, "S")]
    after = [("a", 3, "A2"), ("new", 5, "N"), ("z/c", 1, "C"), ("same", 1, "S"), ("e", 2, "D")]
    assert compare_files(before, after) == (
        FileChange("changed", "a", "", 1, 3),
        FileChange("removed", "b", "", 1, None),
        FileChange("renamed", "e", "d", 2, 2),
        FileChange("added", "new", "", None, 5),
        FileChange("renamed", "z/c", "c", 1, 1),
    )


SIDE = st.dictionaries(st.sampled_from("abcdefg"), st.sampled_from("XYZ"), max_size=7)


@given(SIDE, SIDE)
def test_changes_lead_from_one_side_to_the_other(before: dict[str, str], after: dict[str, str]) -> None:
    changes = compare_files(*([(path, 1, sha) for path, sha in side.items()] for side in (before, after)))
    made = dict(before)
    for change in changes:
        if change.kind in {"removed", "renamed"}:
            del made[change.before or change.path]
    for change in changes:
        if change.kind != "removed":
            made[change.path] = after[change.path]
        if change.kind == "renamed":
            assert before[change.before] == after[change.path]
    assert made == after
    gone = {before[c.path] for c in changes if c.kind == "removed"}
    assert not gone & {after[c.path] for c in changes if c.kind == "added"}, "equal content is a renamed file"


def test_columns_types_and_figures_that_changed_are_told() -> None:
    a = Table(
        2, (Column("x", "int64", 2, 0, low=1, high=2, count=2, mean=1.5, spread=0.5), Column("y", "string", 2, 0))
    )
    b = Table(
        3, (Column("x", "double", 3, 1, low=1, high=2, count=2, mean=1.5, spread=0.5), Column("z", "string", 3, 0))
    )
    found = compare_tables("t", a, b)
    assert found is not None
    assert (found.columns_added, found.columns_removed) == (("z",), ("y",))
    assert found.types == (("x", "int64", "double"),)
    assert [(f.column, f.what, f.before, f.after) for f in found.figures] == [("", "rows", 2, 3), ("x", "nulls", 0, 1)]
    assert compare_tables("t", a, a) is None
