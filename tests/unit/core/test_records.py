"""Series of records, what a later one has differently, and that finding that out is cheap."""

import gc
import weakref

from hypothesis import given, settings
from hypothesis import strategies as st

from trainwright.core.records import Records

Steps = list[tuple[str, list[tuple[int, int]]]]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["plus", "minus", "look"]), st.lists(st.tuples(st.integers(0, 9), st.integers()), max_size=4)
    ),
    max_size=12,
)


class Value:
    """Equal to no other."""

    def __init__(self, key: int) -> None:
        self.key = key


@given(STEPS)
@settings(max_examples=200)
def test_a_series_is_what_a_dict_would_be_and_tells_what_is_different(
    steps: list[tuple[str, list[tuple[int, int]]]],
) -> None:
    series: list[Records[int, Value]] = [Records()]
    model: list[dict[int, Value]] = [{}]
    for what, pairs in steps:
        now, known = series[-1], dict(model[-1])
        if what == "plus":
            more = {key: Value(key) for key, _ in pairs}
            now, known = now.plus(more), {**known, **more}
        elif what == "minus":
            now = now.minus([key for key, _ in pairs])
            known = {key: value for key, value in known.items() if key not in dict(pairs)}
        else:
            len(now)
        series.append(now)
        model.append(known)
    assert [list(records) for records in series] == [list(known.values()) for known in model]
    last, its = series[-1], model[-1]
    for before, known in zip(series, model, strict=True):
        changed, gone = last.changed_since(before)
        assert sorted(gone) == sorted(known.keys() - its.keys())
        assert {id(value) for value in changed} == {id(its[key]) for key in its if known.get(key) is not its[key]}
        assert len(changed) == len({id(value) for value in changed})


class Counted(dict[int, int]):
    """Counts how often all of it is looked at."""

    looks = 0

    def items(self):
        Counted.looks += 1
        return super().items()


def test_what_one_step_changed_is_told_without_a_look_at_all_of_it() -> None:
    before: Records[int, int] = Records(Counted({i: i for i in range(200)}))
    Counted.looks = 0
    assert before.plus({3: -3}).minus([4]).changed_since(before) == ([-3], [4])
    assert Counted.looks == 0
    assert Records({3: 3}).changed_since(before)[1][:2] == [0, 1]


def test_a_series_does_not_keep_its_ancestors() -> None:
    class Kept(Records[int, int]):
        __slots__ = ("__weakref__",)

    first = Kept({1: 1})
    alive = weakref.ref(first)
    last = first.plus({2: 2}).minus([1]).plus({3: 3})
    del first
    gc.collect()
    assert alive() is None
    assert list(last) == [2, 3]


def test_a_step_of_very_many_is_compared_as_a_whole() -> None:
    before: Records[int, int] = Records({i: i for i in range(5000)})
    after = before.plus({i: -i - 1 for i in range(5000)})
    assert len(after.changed_since(before)[0]) == 5000
