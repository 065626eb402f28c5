"""What stands between a record and the same run once more."""

from dataclasses import replace

import pytest

from trainwright.core.fingerprint import CodeState, Environment, Hardware, Submodule
from trainwright.core.ids import Digest
from trainwright.core.reproduction import Grade, grade_of
from trainwright.service.gaps import code_gaps, environment_gaps, hardware_gaps, package_changes

THEN = Environment("3.11.7", {"numpy": "1.26", "pandas": "2.0", "tool": "1"})
MACHINE = Hardware("Linux", "x86_64", "cpu A", 8, 2**34, ("A100",))
CODE = CodeState(Digest("sha256:0"), ".")


def test_an_inherited_environment_that_is_equal_is_the_same_but_not_exact() -> None:
    (gap,) = environment_gaps(THEN, THEN)
    assert (gap.best, gap.part) == (Grade.SAME_ENVIRONMENT, "environment")
    assert "not locked" in gap.sentence


def test_a_locked_environment_that_is_equal_leaves_no_gap() -> None:
    assert list(environment_gaps(replace(THEN, locked=True), THEN)) == []


@pytest.mark.parametrize(
    ("now", "said"),
    [
        (Environment("3.12.1", THEN.packages), "Python was 3.11.7 and is 3.12.1"),
        (Environment("3.11.7", {**THEN.packages, "numpy": "2.0"}), "1 package changed: numpy 1.26 → 2.0"),
        (
            Environment("3.11.7", {"numpy": "2.0", "tool": "1"}),
            "2 packages changed: numpy 1.26 → 2.0, pandas 2.0 → none",
        ),
    ],
)
def test_what_differs_is_named_with_both_versions_and_leaves_only_best_effort(now: Environment, said: str) -> None:
    gaps = list(environment_gaps(THEN, now))
    assert said in [gap.sentence for gap in gaps]
    assert grade_of(gaps) is Grade.BEST_EFFORT


def test_a_package_that_came_since_is_said_and_no_package_changed() -> None:
    gaps = list(environment_gaps(THEN, Environment("3.11.7", {**THEN.packages, "new": "3"})))
    assert "installed since: new 3" in [gap.sentence for gap in gaps]
    assert grade_of(gaps) is Grade.SAME_ENVIRONMENT


def test_many_changes_are_counted_and_the_first_are_named() -> None:
    before = Environment("3", {f"p{n}": "1" for n in range(9)}, locked=True)
    after = Environment("3", {f"p{n}": "2" for n in range(9)})
    (gap,) = environment_gaps(before, after)
    assert gap.sentence.startswith("9 packages changed: p0 1 → 2, p1")
    assert gap.sentence.endswith(" and 4 more")
    assert len(package_changes(before, after)[0]) == 9


def test_hardware_that_differs_is_one_gap_with_all_of_it() -> None:
    assert list(hardware_gaps(MACHINE, MACHINE)) == []
    (gap,) = hardware_gaps(MACHINE, replace(MACHINE, cpu="cpu B", gpus=(), memory_bytes=2**33))
    assert gap.sentence == "it differs: cpu cpu A → cpu B, memory 16Gi → 8Gi, gpus A100 → none"
    assert gap.best is Grade.SAME_ENVIRONMENT


def test_what_the_code_never_had_is_said() -> None:
    assert list(code_gaps(CODE)) == []
    lacking = replace(
        CODE,
        pointers=("a.bin", "b.bin"),
        dangling=("link",),
        submodules={"libs/x": Submodule("c", absent=True), "libs/y": Submodule("d", dirty=True)},
    )
    assert [gap.sentence for gap in code_gaps(lacking)] == [
        "a.bin, b.bin are only pointers of git LFS, when it was captured",
        "libs/x is a submodule that is not checked out, when it was captured",
        "link is a link that leads nowhere, when it was captured",
    ]
