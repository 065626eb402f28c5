"""Whether and when an attempt is made again."""

import pytest

from build import NOW
from trainwright.core.job import Retry
from trainwright.core.states import ExitClass as X
from trainwright.lifecycle.retry import OURS, OURS_BUDGET, repeat_at

TWICE = Retry(max=2, backoff_s=10.0, backoff_max_s=15.0)
FOREVER = Retry(max=10**6, backoff_s=10.0, backoff_max_s=3600.0)


def delay(retry: Retry, *ends: X, jitter: float = 1.0) -> float | None:
    at = repeat_at(retry, ends, NOW, jitter)
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
