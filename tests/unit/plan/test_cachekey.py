"""The key of what a step makes, and how two of them differ in words."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from build import NOW, PROJECT, content, register, step
from trainwright.core.artifact import ArtifactKind, Input
from trainwright.core.cache import CacheEntry, CacheMode, CachePolicy, Closure
from trainwright.core.environment import AskedEnvironment, EnvironmentKind, StepEnvironment
from trainwright.core.fingerprint import Environment
from trainwright.core.ids import AttemptId, Digest, RunId
from trainwright.core.job import Argument, Call, CodeTree, Command, JobSpec, Part, Retry
from trainwright.core.resources import Resources
from trainwright.core.scalar import Plain
from trainwright.core.stage import Stage
from trainwright.plan.cachekey import differences, environment_parts, is_reusable, key, nearest, parts
from trainwright.plan.plan import Check, PlannedStep

CLOSURE = Closure("closure of train.py: 2 modules", modules={"train.py": "1", "a.py": "2"}, rest="3")
WHOLE = Closure("whole code tree: not a call of python", tree="sha256:t")
TRAIN = replace(
    step("train", reads=["prep.table"], out={"model": "model"}, stage=Stage.TRAINING),
    command=Command(shell='python train.py "$TW_REF_1"', refs={"TW_REF_1": (Part("0.5"),)}),
    param_names=("C",),
    env={"LEVEL": (Part("3"),)},
)


def made(
    of: PlannedStep = TRAIN,
    *,
    table: str = "table",
    params: Mapping[str, Plain] | None = None,
    closure: Closure = CLOSURE,
    folder: str = ".",
    items: Sequence[Plain] = (),
    python: str = "3.11.7",
    numpy: str = "2.1",
    records: str = "",
    own: StepEnvironment | None = None,
) -> Mapping[str, str]:
    given = Input("prep.table", ArtifactKind.DATASET, content(table), "runs:/r/prep/table")
    job = JobSpec(
        attempt=AttemptId("r/train/1"), run=RunId("r"), project=PROJECT, pipeline="pipe", step=of.name, number=1,
        token="", command=of.command or Command(), env=of.env, inputs=(given,), outputs=of.outputs,
        params=params or {"C": 0.5, "D": 1}, code=CodeTree(content("tree").digest, folder), resources=of.resources,
        environment=own,
    )  # fmt: skip
    return parts(job, of, closure, environment_parts(Environment(python, {"numpy": numpy}, records=records)), items)


def locked(name: str = "lock", python: str = "3.11.7", platform: str = "linux-x86_64") -> StepEnvironment:
    asked = AskedEnvironment(EnvironmentKind.REQUIREMENTS, "r.txt")
    return StepEnvironment(asked, python, platform, content(name).digest, "key", 1)


IMAGE = StepEnvironment(AskedEnvironment(EnvironmentKind.IMAGE, image="reg/a", image_sha256="a" * 64))


def test_what_is_installed_here_means_nothing_to_a_step_with_its_own_environment() -> None:
    assert key(made(own=locked())) == key(made(own=locked(), numpy="9", python="3.14", records="r"))
    assert made(own=IMAGE)["image"] == "reg/a@sha256:" + "a" * 64


@pytest.mark.parametrize(
    ("mine", "other", "sentence"),
    [
        (made(own=locked()), made(), "environment changed: inherited before, locked now"),
        (made(), made(own=locked()), "environment changed: locked before, inherited now"),
        (made(own=locked()), made(own=IMAGE), "environment changed: an image before, locked now"),
        (made(own=locked("b")), made(own=locked("a")), "environment changed: numpy 1 → 2"),
        (made(own=locked(platform="linux-aarch64")), made(own=locked()), "platform changed"),
        (
            made(own=IMAGE),
            made(own=replace(IMAGE, asked=replace(IMAGE.asked, image_sha256="b" * 64))),
            "environment changed: another image",
        ),
        (made(records="a"), made(records="b"), "an installed package has other files under the same version"),
        (made(records="a", numpy="1"), made(records="b"), "installed packages changed"),
    ],
)
def test_how_environments_differ_is_one_sentence(
    mine: Mapping[str, str], other: Mapping[str, str], sentence: str
) -> None:
    assert key(mine) != key(other)
    assert differences(mine, other, packages=["numpy 1 → 2"] if "numpy" in sentence else []) == [sentence]


def test_many_changed_packages_are_counted() -> None:
    said = differences(made(own=locked("b")), made(own=locked("a")), packages=["a is new", "b is new", "c is new", "d"])
    assert said == ["environment changed: a is new, b is new, c is new and 1 more"]


def test_the_same_gives_the_same_key() -> None:
    assert key(made()) == key(made())
    assert differences(made(), made()) == []


@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        (made(params={"C": 1.0}), "param C 0.5 → 1.0"),
        (made(table="other"), "input prep.table has other content"),
        (made(python="3.12.1"), "Python changed: 3.11.7 → 3.12.1"),
        (made(numpy="2.2"), "installed packages changed"),
        (made(folder="jobs"), "folder changed"),
        (made(items=[{"round": 1}]), "item changed"),
        (made(closure=WHOLE), "code changed"),
        (made(closure=replace(CLOSURE, modules={"train.py": "9", "a.py": "2"})), "code changed: train.py differs"),
        (made(closure=replace(CLOSURE, modules={"train.py": "1"})), "code changed: a.py is not used any more"),
        (
            made(closure=replace(CLOSURE, modules={**CLOSURE.modules, "b.py": "4"}, rest="5")),
            "code changed: b.py is new, other files differ",
        ),
        (made(replace(TRAIN, command=Command(shell="python train.py"))), "command changed"),
        (made(replace(TRAIN, env={"LEVEL": (Part("4"),)})), "env LEVEL changed"),
        (made(replace(TRAIN, outputs={"model": ArtifactKind.FILE})), "output changed"),
        (made(replace(TRAIN, stage=None)), "stage changed"),
    ],
)
def test_each_part_makes_another_key_and_is_told(other: Mapping[str, str], sentence: str) -> None:
    assert key(other) != key(made())
    assert differences(other, made()) == [sentence]


def test_a_function_and_its_arguments_make_the_key() -> None:
    calls = [Call("a:f"), Call("a:g"), Call("a:f", {"C": Argument(1)}), Call("a:f", {"C": Argument(2)})]
    made_by = [made(replace(TRAIN, command=Command(call=call))) for call in calls]
    assert len({key(parts_) for parts_ in made_by}) == 4
    assert differences(made_by[3], made_by[2]) == ["command changed"]


def test_two_whole_trees_differ_in_some_file() -> None:
    mine, other = made(closure=WHOLE), made(closure=replace(WHOLE, tree="sha256:u"))
    assert differences(mine, other) == ["code changed: a file of the tree differs"]
    assert differences(mine, other, ["a.py differs", "b.md is new"]) == ["code changed: a.py differs, b.md is new"]


def test_a_parameter_stands_for_the_values_it_changes() -> None:
    ran = replace(TRAIN, command=Command(shell='python train.py "$TW_REF_1"', refs={"TW_REF_1": (Part("1.0"),)}))
    assert differences(made(ran, params={"C": 1.0}), made()) == ["param C 0.5 → 1.0"]


def test_many_files_are_counted() -> None:
    many = replace(CLOSURE, modules={**CLOSURE.modules, **{f"m{n}.py": "1" for n in range(9)}})
    assert differences(made(closure=many), made()) == [
        "code changed: m0.py is new, m1.py is new, m2.py is new and 6 more"
    ]


def test_what_does_not_decide_the_result_is_not_in_the_key() -> None:
    other = replace(
        TRAIN,
        resources=Resources(4000, 2**30),
        retry=Retry(max=5),
        timeout_s=60.0,
        checks=(Check("auc > 0.9"),),
        baseline_model="m",
        cache=CachePolicy(CacheMode.REFRESH, 60.0),
    )
    assert key(made(other)) == key(made())


def test_a_parameter_of_another_step_is_not_in_the_key() -> None:
    assert key(made(params={"C": 0.5, "D": 2})) == key(made())


def test_only_a_command_that_makes_something_can_be_reused() -> None:
    assert is_reusable(TRAIN)
    assert not is_reusable(step("judge"))
    assert not is_reusable(register("register"))


def entry(name: str, found: Mapping[str, str]) -> CacheEntry:
    run = RunId(name)
    return CacheEntry(PROJECT, Digest("sha256:1"), "pipe/train", run, AttemptId(f"{name}/train/1"), found, NOW, NOW)


def test_the_nearest_entry_has_the_fewest_differences() -> None:
    far, near = entry("far", made(table="x", numpy="1")), entry("near", made(table="x"))
    assert nearest(made(), [far, near]) is near
    assert nearest(made(), []) is None


MODES = st.sampled_from(CacheMode)


@given(MODES, MODES)
def test_the_stricter_of_two_modes_holds(own: CacheMode, asked: CacheMode) -> None:
    mode = CachePolicy(own).under(asked)
    assert mode == CachePolicy(asked).under(own)
    assert mode in {own, asked}
    assert CachePolicy(own).under(CacheMode.AUTO) is own
    assert CachePolicy(own).under(CacheMode.OFF) is CacheMode.OFF
