"""Whether and when an attempt is made again."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from build import GI, NOW, asks, step
from trainwright.core.codec import from_json, to_json
from trainwright.core.job import LONGEST_BACKOFF_S, MemoryGrowth, Retry
from trainwright.core.resources import Resources
from trainwright.core.states import ExitClass as X
from trainwright.lifecycle.retry import MOST_BYTES, OURS, OURS_BUDGET, repeat_at, resources_of

TWICE = Retry(max=2, backoff_s=10.0, backoff_max_s=15.0)
ANY = Retry(max=9, on=tuple(X), backoff_s=1.0, budgets={X.OOM: 1, X.CRASH: 2})
DOUBLED = MemoryGrowth(2000)
FOREVER = Retry(max=10**6, backoff_s=10.0, backoff_max_s=3600.0)


def delay(retry: Retry, *ends: X, jitter: float = 1.0) -> float | None:
    at = repeat_at(step("a", retry=retry, asked=asks(memory_gi=4)), ends, NOW, jitter)
    return None if at is None else (at - NOW).total_seconds()


@pytest.mark.parametrize(
    ("retry", "ends", "expected"),
    [
        (Retry(), [X.USER_ERROR], None),
        (TWICE, [X.USER_ERROR], 10),
        (TWICE, [X.USER_ERROR] * 2, 15),  # 20, but for the cap
        (TWICE, [X.USER_ERROR] * 3, None),
        (TWICE, [X.TIMEOUT, X.CRASH, X.KILLED], None),
        (Retry(max=1, on=(X.KILLED,)), [X.USER_ERROR], None),
        (Retry(max=1, on=(X.KILLED,)), [X.KILLED], 1),
        (TWICE, [X.STOPPED], None),
        (Retry(), [X.LOST], 0),
        (Retry(), [X.LOST] * 3, 0),
        (Retry(), [X.LOST] * 4, None),
        (Retry(), [X.INFRASTRUCTURE, X.LOST, X.INFRASTRUCTURE, X.LOST], None),
        (TWICE, [X.LOST, X.USER_ERROR, X.LOST, X.USER_ERROR], 15),
        (TWICE, [X.LOST, X.LOST, X.LOST, X.USER_ERROR], 10),
        (FOREVER, [X.USER_ERROR] * 5000, 3600),
        (Retry(max=1, backoff_s=1e300, backoff_max_s=1e300), [X.USER_ERROR], LONGEST_BACKOFF_S),
        (Retry(max=5), [X.OOM], None),
        (Retry(max=5, on=(X.OOM,)), [X.OOM], 1),  # to name it is to say that the same memory may suffice
        (ANY, [X.OOM], 1),
        (ANY, [X.OOM, X.CRASH], 2),
        (ANY, [X.OOM, X.CRASH, X.OOM], None),
        (ANY, [X.CRASH, X.OOM, X.CRASH, X.TIMEOUT], 8),
        (ANY, [X.CRASH, X.CRASH, X.CRASH], None),
        (Retry(max=1, on=tuple(X), budgets={X.CRASH: 5}), [X.CRASH, X.CRASH], None),
        (Retry(max=9, on=(X.OOM,), memory=MemoryGrowth(2000, 8 * GI)), [X.OOM], 1),
        (Retry(max=9, on=(X.OOM,), memory=MemoryGrowth(2000, 8 * GI)), [X.OOM, X.OOM], None),  # had its most already
    ],
)
def test_when_the_next_attempt_may_start(retry: Retry, ends: list[X], expected: float | None) -> None:
    assert delay(retry, *ends) == expected


def test_jitter_spreads_over_the_second_half() -> None:
    assert [delay(TWICE, X.CRASH, jitter=j) for j in (0.0, 0.5, 1.0)] == [5.0, 7.5, 10.0]


@pytest.mark.parametrize("kind", [kind for kind in X if kind is not X.OK])
def test_g19_every_class_has_a_bounded_budget(kind: X) -> None:
    retry = Retry(max=2, on=tuple(X))
    allowed = [n for n in range(1, 20) if delay(retry, *[kind] * n) is not None]
    assert allowed == list(range(1, 1 + (OURS_BUDGET if kind in OURS else 2)))


@pytest.mark.parametrize(
    ("growth", "ends", "gi"),
    [
        (DOUBLED, [], 4),
        (DOUBLED, [X.OOM], 8),
        (DOUBLED, [X.OOM, X.CRASH, X.LOST, X.OOM], 16),
        (DOUBLED, [X.CRASH, X.LOST, X.USER_ERROR], 4),
        (MemoryGrowth(1500), [X.OOM, X.OOM], 9),
        (MemoryGrowth(2000, 10 * GI), [X.OOM, X.OOM, X.OOM], 10),
        (None, [X.OOM, X.OOM], 4),
    ],
)
def test_what_the_next_attempt_asks_for(growth: MemoryGrowth | None, ends: list[X], gi: float) -> None:
    planned = step("a", retry=Retry(max=9, on=tuple(X), memory=growth), asked=asks(2, 4, 1))
    assert resources_of(planned, ends.count(X.OOM)) == asks(2, gi, 1)


@given(st.integers(1, 2**50), st.integers(1500, 16_000), st.integers(0, 2**62))
def test_memory_grows_by_whole_bytes_up_to_its_most(memory: int, times: int, most: int) -> None:
    planned = step("a", retry=Retry(max=99, on=(X.OOM,), memory=MemoryGrowth(times, most)), asked=Resources(1, memory))
    amounts = [resources_of(planned, ooms).memory_bytes for ooms in range(64)]
    limit = max(memory, most or MOST_BYTES)
    assert amounts[0] == memory
    for before, after in pairwise(amounts):
        assert type(after) is int
        assert min(before * times // 1000, limit) <= after <= limit
        assert after > before or before == limit
    ends = [X.OOM] * next((n for n, amount in enumerate(amounts) if amount == limit), 63)
    assert repeat_at(planned, [*ends, X.OOM], NOW, 0.0) is None or amounts[-1] < limit


def test_memory_that_is_not_counted_cannot_grow() -> None:
    assert resources_of(step("a", retry=Retry(memory=DOUBLED)), 1) == Resources()


def test_a_policy_survives_the_database() -> None:
    retry = Retry(3, (X.CRASH, X.OOM), budgets={X.OOM: 2}, memory=MemoryGrowth(1500, GI))
    again = from_json(Retry, to_json(retry))
    assert again == retry
    assert again.budgets[X.OOM] == 2
