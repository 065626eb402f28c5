"""What room is worth: by what is left, by what was learned, and by age."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from trainwright.core.history import EDGES, History, bin_of, gang_size
from trainwright.core.ids import AttemptId
from trainwright.core.resources import Resources
from trainwright.core.workload import Assignment, Contract, Standing, Workload, single
from trainwright.sched.contest import due_s
from trainwright.sched.hazard import WIDTHS, Hazards, Living, _index, _indices
from trainwright.sched.index import ageing, candidate, worth
from trainwright.sched.policy import Ordering

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
ONE = Workload(AttemptId("a"), "a", single(Resources(gpu_milli=1000)), NOW, contract=Contract(kin="k"))


def test_edges_grow_and_every_service_has_a_bin() -> None:
    assert list(EDGES) == sorted(set(EDGES))
    assert [bin_of(served) for served in (0, 29.9, 30, 35, 36, 1e9)] == [0, 0, 1, 1, 2, 63]


def test_an_end_is_counted_by_size_and_kin_and_nothing_older_changes() -> None:
    before = History()
    after = (
        before.with_end(ONE, 40.0, NOW).with_end(ONE, 40.0, NOW).with_end(replace(ONE, contract=Contract()), 5.0, NOW)
    )
    assert after.by_size[1].ended == {2: 2, 0: 1}
    assert (after.by_kin["k"].ended, before.by_size) == ({2: 2}, {})
    assert sum(after.work.values()) == 85
    assert sum(after.with_end(ONE, 7.0, NOW + timedelta(days=8)).work.values()) == 0


def test_half_a_gpu_is_a_gang_of_one_and_processors_alone_are_none() -> None:
    sizes = [gang_size(single(Resources(gpu_milli=milli))) for milli in (500, 4000, 0)]
    assert sizes == [1, 4, 0]


def test_the_index_is_the_best_rate_of_ends_over_any_number_of_bins() -> None:
    hazards = [0.0] * 64
    hazards[0], hazards[1] = 0.5, 0.9
    # the first bin alone: 0.5 ends in 30 s; both: 0.95 ends in 30 + 0.5 * 6 s
    assert _index(hazards, 0) == pytest.approx(0.95 / 33)
    assert _index(hazards, 1) == pytest.approx(0.9 / WIDTHS[1])
    assert _index(hazards, 2) == 0.0


def test_arrays_and_loops_find_the_very_same_index() -> None:
    rows = [[((7 * i + 3 * j) % 11) / 40 + 0.001 for i in range(64)] for j in range(20)]
    bins = [(5 * j) % 64 for j in range(20)]
    assert _indices(rows, bins) == [_index(row, at) for row, at in zip(rows, bins, strict=True)]


def test_kin_that_ended_soon_make_their_kin_worth_more() -> None:
    history = History()
    for _ in range(5):
        history = history.with_end(ONE, 10.0, NOW)
        history = history.with_end(replace(ONE, contract=Contract(kin="long")), 1e6, NOW)
    hazards = Hazards(history, ())
    assert hazards.index((1, "k", 0)) > hazards.index((1, "", 0)) > hazards.index((1, "long", 0))
    assert hazards.known_as((1, "never seen", 0)) == (1, "", 0)


def test_those_who_live_count_for_the_bins_that_they_have_passed() -> None:
    history = History().with_end(ONE, 10.0, NOW)
    living = Living()
    alone = Hazards(history, ()).index((1, "", 0))
    living.count((1, "", 3), 1)
    assert Hazards(history, (living,)).index((1, "", 0)) < alone
    living.count((1, "", 3), -1)
    assert living == Living()


def test_a_known_run_time_counts_until_it_has_proven_wrong() -> None:
    contract = Contract(expected_s=100.0)
    running = Standing((Assignment("n", (0,)),), NOW - timedelta(seconds=60))
    one = replace(ONE, contract=contract, standing=running)
    assert candidate(one, NOW).left_s == 40.0
    assert candidate(one, NOW + timedelta(seconds=50)).left_s is None
    assert worth(candidate(one, NOW), Hazards(History(), ()), NOW.timestamp(), Ordering()) == pytest.approx(1 / 40)


def test_age_raises_worth_without_end() -> None:
    ordering = Ordering(ageing_s=10.0)
    assert ageing(0, ordering) == 1.0
    assert ageing(2550.0, ordering) == pytest.approx(2.0)


def test_what_is_owed_doubles() -> None:
    assert [due_s(owed) for owed in (1.0, 1.9, 2.0, 1000.0)] == [1, 1, 2, 512]
