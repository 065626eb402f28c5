"""A slice takes the files that its terms say, and has one text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainwright.core.slices import choices, parse, select, split

HIVE = ["day=1/split=train/a.csv", "day=1/split=test/b.csv", "day=2/split=train/c.csv", "readme"]
FOLDERS = ["train/a.csv", "train/deep/b.csv", "test/c.csv", "val.csv.gz", "notes/train.txt"]


@pytest.mark.parametrize(
    ("text", "paths", "taken"),
    [
        ("split=train", HIVE, [0, 2]),
        ("split=train&day=1", HIVE, [0]),
        ("day=1&day=2", HIVE, [0, 1, 2]),
        ("split=val", HIVE, []),
        ("split=train", FOLDERS, [0, 1]),
        ("split=val", FOLDERS, [3]),
        ("split=test&split=val", FOLDERS, [2, 3]),
        ("day=1", FOLDERS, []),
        ("path=*.gz", FOLDERS, [3]),
        ("path=**/*.csv", FOLDERS, [0, 1, 2]),
        ("path=train/*.csv", FOLDERS, [0]),
        ("path=t*", FOLDERS, [0, 1, 2]),
        ("path=train/[a-c].csv", FOLDERS, [0]),
        ("path=**/deep&split=train", FOLDERS, [1]),
        ("path=**", FOLDERS, [0, 1, 2, 3, 4]),
        ("path=train.csv", ["train.csv"], [0]),
        ("split=train", ["train.csv"], [0]),
    ],
)
def test_a_slice_takes_what_its_terms_say(text: str, paths: list[str], taken: list[int]) -> None:
    assert select(parse(text), paths) == [paths[i] for i in taken]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a=1&b=2", "b=2&a=1"),
        ("a=1&a=1", "a=1"),
        ("a=2&a=1", "a=1&a=2"),
        ("path=./x/", "path=x"),
        ("path=x/**", "path=x"),
        ("path=x//y", "path=x/y"),
    ],
)
def test_two_spellings_are_one_slice(one: str, other: str) -> None:
    assert str(parse(one)) == str(parse(other))


@pytest.mark.parametrize(
    "text", ["split", "=x", "split=", "a/b=c", "&", "a=1&", "path=../x", "path=/", "a b=c", "a*=1"]
)
def test_what_is_no_slice_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not KEY=VALUE|is no pattern"):
        parse(text)


def test_an_address_is_split_at_its_first_mark() -> None:
    assert split("datasets/d@3") == ("datasets/d@3", "")
    assert split("datasets/d@3#a=#1") == ("datasets/d@3", "a=#1")
    with pytest.raises(ValueError, match="nothing stands after"):
        split("datasets/d@3#")


def test_what_there_is_to_choose_from_is_found() -> None:
    assert choices(HIVE) == ("day=1", "day=2", "split=test", "split=train")
    assert choices(FOLDERS) == ("split=notes", "split=test", "split=train", "split=val")
    assert choices(["a b/c"]) == ()


NAMES = st.sampled_from(["train", "test", "a", "split=train", "split=test", "k=v", "x.csv"])
PATHS = st.lists(st.lists(NAMES, min_size=1, max_size=4).map("/".join), max_size=12, unique=True)


@given(PATHS)
def test_every_choice_takes_something_and_a_slice_of_a_slice_is_itself(paths: list[str]) -> None:
    for choice in choices(paths):
        wanted = parse(choice)
        taken = select(wanted, paths)
        assert taken
        assert str(parse(str(wanted))) == str(wanted)
        assert select(parse(f"{choice}&path=**"), paths) == taken
