"""A load on a virtual clock: what is decided is carried out, and the books add up."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pretended import ADS, SEARCH, WHY, and_then, at, cluster, gang, job, seconds, told_to_leave

from build import node
from trainwright.core.decision import Claim, Eviction, Resize, Round
from trainwright.core.errors import BugError
from trainwright.core.ids import AttemptId
from trainwright.core.pool import Pool
from trainwright.core.queue import Budget, Queue
from trainwright.core.reasons import Reason, ReasonCode
from trainwright.core.snapshot import ClusterSnapshot
from trainwright.core.workload import Assignment, Standing
from trainwright.sched.policy import DEFAULT_POLICY, Policy
from trainwright.sim.cluster import Cluster, NodeChange
from trainwright.sim.job import Job, Life
from trainwright.sim.outcome import Outcome
from trainwright.sim.simulate import Manner, simulate

CHECKED = Manner(check=True)


def lives(
    load: list[Job], world: Cluster, manner: Manner = CHECKED, policy: Policy = DEFAULT_POLICY
) -> tuple[Outcome, dict[str, Life]]:
    outcome = simulate(load, world, policy, manner)
    return outcome, {life.job.name: life for life in outcome.lives}


def test_what_fits_starts_at_once_and_the_rest_when_room_is_free():
    outcome, found = lives([job("a"), job("b", 10), job("c", 20, 50)], cluster(2))
    assert [seconds(found[n].started_at) for n in "abc"] == [0, 10, 100]
    assert [seconds(found[n].finished_at) for n in "abc"] == [100, 110, 150]
    assert found["c"].waited_s == 80
    assert outcome.until == at(150)
    assert outcome.used_s == 250
    assert outcome.capacity_s == 300


def test_a_gang_starts_as_a_whole():
    _, found = lives([job("a", shape=gang(3)), job("b", 1, 10, gang(2)), job("c", 2, 10)], cluster(2, 2))
    assert [seconds(found[n].started_at) for n in "abc"] == [0, 100, 2]


def test_what_can_never_start_says_why():
    _, found = lives([job("a", shape=gang(gpus=8)), job("b")], cluster(2))
    assert found["a"].started_at is None
    assert found["a"].reason is not None
    assert found["a"].reason.code is ReasonCode.NEVER_FITS
    assert found["b"].finished_at == at(100)


def test_who_is_told_to_leave_saves_and_goes_on_from_there():
    manner = told_to_leave("a", 30)
    load = [job("a", save_s=4, restart=20), job("tick", 30, 1)]
    _, found = lives(load, cluster(2), manner)
    cool_down = DEFAULT_POLICY.preempting.cool_down_s
    assert [seconds(when) for when in found["a"].preempted_at] == [30]
    assert seconds(found["a"].finished_at) == 34 + cool_down + 20 + 70
    assert found["a"].held_s == 34 + 20 + 70
    assert found["a"].lost_s == 24


def test_who_cannot_save_within_its_grace_loses_what_came_after_its_last_checkpoint():
    manner = told_to_leave("a", 33)
    load = [job("a", save_s=60, grace=5, checkpoint_s=10), job("tick", 33, 1)]
    _, found = lives(load, cluster(2), manner)
    assert found["a"].lost_s == 8  # was killed at 38, and had saved at 30
    assert seconds(found["a"].finished_at) == 38 + DEFAULT_POLICY.preempting.cool_down_s + 70


def test_who_ends_before_it_has_left_was_not_preempted():
    manner = told_to_leave("a", 95)
    _, found = lives([job("a", save_s=8), job("tick", 95, 1)], cluster(2), manner)
    assert found["a"].preempted_at == ()
    assert seconds(found["a"].finished_at) == 100


def test_what_a_round_sees_of_a_victim_is_what_the_live_engine_would_tell_it():
    leave, seen = told_to_leave("a", 30), dict[float | None, Standing]()

    def look(snapshot: ClusterSnapshot, now: datetime, decided: Round) -> Round:
        seen.update({seconds(now): w.standing for w in (*snapshot.holding, *snapshot.pending) if w.label == "a"})
        return decided

    lives([job("a", save_s=4), job("tick", 30, 1), job("tock", 32, 1)], cluster(2), both(leave, look))
    leaving, waiting = seen[32], seen[34]
    assert (leaving.leaving, leaving.started_at, leaving.preempted_at) == (True, at(0), (at(30),))
    assert (waiting.leaving, waiting.places, waiting.started_at) == (False, (), None)
    assert (waiting.served_s, waiting.preempted_at) == (34, (at(30),))
    assert waiting.not_before == at(34 + DEFAULT_POLICY.preempting.cool_down_s)


def both(manner: Manner, look: Callable[[ClusterSnapshot, datetime, Round], Round]) -> Manner:
    """Decide as one says, and let the other look on."""
    return replace(manner, decide=lambda *given: look(given[0], given[2], manner.decide(*given)))


def test_a_claim_stays_with_whom_it_is_for_until_it_starts():
    claimed: list[tuple[Assignment, ...]] = []

    def claiming(snapshot: ClusterSnapshot, _: datetime, decided: Round) -> Round:
        big = next((w for w in snapshot.pending if w.label == "big" and w.attempt in decided.waiting), None)
        if big is None:
            return decided
        claimed.append(big.standing.claim)
        return replace(decided, claims=(Claim(big.attempt, (Assignment("n0", (0,)), Assignment("n0", (1,)))),))

    load = [job("a"), job("big", 10, 10, gang(2)), job("tick", 20, 1)]
    _, found = lives(load, cluster(2), and_then(claiming))
    assert [len(claim) for claim in claimed[:2]] == [0, 2]
    assert seconds(found["big"].started_at) == 100


def test_an_elastic_job_that_is_resized_restarts_and_is_not_counted_as_preempted():
    resized: list[AttemptId] = []

    def growing(snapshot: ClusterSnapshot, now: datetime, decided: Round) -> Round:
        small = next((w for w in snapshot.holding if len(w.standing.places) == 1 and w.label == "grows"), None)
        if small is None or now < at(50) or resized:
            return replace(decided, resizes=())
        resized.append(small.attempt)
        places = (Assignment("n0", (0,)), Assignment("n0", (1,)))
        reason = Reason(ReasonCode.RESIZED, {"count": 2, "before": 1, "why": "there is room"})
        return replace(decided, resizes=(Resize(small.attempt, places, reason),))

    load = [job("other", 0, 50), job("grows", 1, 100, gang(2, least=1))]
    _, found = lives(load, cluster(2), and_then(growing))
    assert resized
    assert found["grows"].preempted_at == ()
    assert seconds(found["grows"].finished_at) == 50 + (100 - 49 / 2)


def test_with_fewer_replicas_it_takes_longer_in_proportion():
    _, found = lives([job("a", shape=gang(4, least=1))], cluster(1))
    assert seconds(found["a"].finished_at) == 400


def test_a_node_that_goes_takes_its_work_back_to_its_last_checkpoint():
    changes = (NodeChange(55, node("n0", cpu=16, cards_gi=[24]), comes=False),)
    world = replace(cluster(1, 1), changes=changes)
    _, found = lives([job("a", checkpoint_s=20), job("b", 0, 60)], world)
    assert [seconds(when) for when in found["a"].preempted_at] == [55]
    assert seconds(found["a"].finished_at) == 60 + 60  # starts again where b ended, from second 40 of its work


def test_a_node_that_comes_is_used():
    world = replace(cluster(1), changes=(NodeChange(30, node("n1", cpu=16, cards_gi=[24]), comes=True),))
    outcome, found = lives([job("a"), job("b")], world)
    assert seconds(found["b"].started_at) == 30
    assert outcome.capacity_s == 130 + 100


def test_a_pool_grows_for_what_waits_and_shrinks_when_it_is_idle():
    new = node("new", cpu=16, cards_gi=[24] * 2)
    pool = Pool("cloud", node=replace(new, pool="cloud"), most=3, provision_s=100.0)
    load = [job("a", 0, 1000, gang(2)), job("b", 0, 1000, gang(2)), job("late", 5000, 10, gang(2))]
    outcome, found = lives(load, replace(cluster(2), pools={"cloud": pool}))
    up = DEFAULT_POLICY.autoscaling.up_after_s
    assert seconds(found["b"].started_at) == up + 100
    assert max(outcome.times.capacity) == 4
    assert outcome.capacity_s < 2 * 5010 + 2 * (1000 + DEFAULT_POLICY.autoscaling.down_after_s + 1)


def test_what_a_queue_used_counts_when_it_is_over_and_less_with_time():
    seen = dict[float | None, dict[str, float]]()

    def look(snapshot: ClusterSnapshot, now: datetime, decided: Round) -> Round:
        seen[seconds(now)] = {str(queue): used for queue, used in snapshot.used.items()}
        return decided

    policy = replace(DEFAULT_POLICY, ordering=replace(DEFAULT_POLICY.ordering, half_life_s=200.0))
    lives([job("a", queue=ADS), job("tick", 50, 1), job("tock", 300, 1)], cluster(2), and_then(look), policy)
    assert seen[50] == {}
    assert seen[300]["ads"] == pytest.approx(0.5 * 100 / 2)


def test_a_queue_with_a_budget_is_told_what_it_spent():
    seen = dict[float | None, dict[str, float]]()

    def look(snapshot: ClusterSnapshot, now: datetime, decided: Round) -> Round:
        seen[seconds(now)] = {str(queue): spent for queue, spent in snapshot.spent.items()}
        return decided

    pools = {"local": Pool("local", price=36.0)}
    world = replace(cluster(2), queues={ADS: Queue(ADS, budget=Budget(100.0))}, pools=pools)
    lives([job("a", queue=ADS), job("tick", 200, 1)], world, and_then(look))
    assert seen[0] == {"ads": 0.0}
    assert seen[200] == {"ads": pytest.approx(0.5)}


def test_books_that_do_not_add_up_are_found_when_somebody_asks():
    def twice(_: ClusterSnapshot, __: datetime, decided: Round) -> Round:
        wrong = [replace(p, places=(Assignment("n0", (0,)),)) for p in decided.placements]
        return replace(decided, placements=tuple(wrong))

    with pytest.raises(BugError, match="no room"):
        lives([job("a"), job("b")], cluster(2), and_then(twice))


def test_a_scheduler_that_never_comes_to_an_end_is_not_followed_for_ever():
    def restless(snapshot: ClusterSnapshot, _: datetime, decided: Round) -> Round:
        victims = [w for w in snapshot.holding if not w.standing.leaving]
        return replace(decided, evictions=tuple(Eviction(w.attempt, w.attempt, WHY) for w in victims))

    policy = replace(DEFAULT_POLICY, preempting=replace(DEFAULT_POLICY.preempting, cool_down_s=0.0))
    with pytest.raises(BugError, match="do not come to an end"):
        simulate([job("a"), job("b", 10)], cluster(2), policy, replace(and_then(restless), check=False))


JOBS = st.lists(
    st.builds(
        job,
        st.just("j"),
        st.integers(0, 300),
        st.integers(0, 200),
        st.sampled_from([gang(), gang(2), gang(gpus=0.5), gang(3, least=1), gang(gpus=0, cpu=4)]),
        queue=st.sampled_from([ADS, SEARCH]),
        priority=st.sampled_from([0, 0, 100]),
        save_s=st.sampled_from([0.0, 5.0, 20.0]),
        checkpoint_s=st.sampled_from([None, 30.0]),
        restart=st.sampled_from([0.0, 15.0]),
    ),
    max_size=25,
)


@settings(max_examples=40, deadline=None)
@given(load=JOBS)
def test_every_job_ends_and_its_work_is_done_once(load: list[Job]) -> None:
    outcome, _ = lives(load, cluster(2, 3))
    for life in outcome.lives:
        assert life.finished_at is not None
        wanted = life.job.shape.pod_sets[0].count
        assert life.job.duration_s - 1e-3 <= life.held_s <= life.job.duration_s * wanted + life.lost_s + 1e-3
    again, _ = lives(load, cluster(2, 3))
    assert again == outcome
