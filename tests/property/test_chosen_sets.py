"""The set that is chosen has the largest value of all that fit."""

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from trainwright.sched.select import Valued, choose

ITEMS = st.lists(st.tuples(st.sampled_from([1, 2, 3, 4, 8, 12, 16]), st.integers(1, 50)), max_size=9)


@given(items=ITEMS, capacity=st.integers(0, 40))
def test_no_other_set_that_fits_is_worth_more(items: list[tuple[int, int]], capacity: int) -> None:
    classes: dict[int, list[Valued[int]]] = {}
    for i in sorted(range(len(items)), key=lambda i: -items[i][1]):
        classes.setdefault(items[i][0], []).append(Valued(float(items[i][1]), (i,)))
    chosen = choose(classes, capacity)
    assert len(chosen) == len(set(chosen))
    assert sum(items[i][0] for i in chosen) <= capacity
    sets = (some for n in range(len(items) + 1) for some in combinations(items, n))
    best = max(sum(value for _, value in some) for some in sets if sum(size for size, _ in some) <= capacity)
    assert sum(items[i][1] for i in chosen) == best
