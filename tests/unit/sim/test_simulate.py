"""A load on a virtual clock: what is decided is carried out, and the books add up."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from worlds import at, between, cluster, gang, job, seconds

from build import node
from trainwright.core.decision import Claim, Eviction, Resize
from trainwright.core.errors import BugError
from trainwright.core.pool import Pool
from trainwright.core.queue import Budget, Queue
from trainwright.core.reasons import Reason, ReasonCode
from trainwright.core.workload import Assignment
from trainwright.sched.policy import DEFAULT_POLICY
from trainwright.sim import simulate as simulating
from trainwright.sim.cluster import NodeChange
from trainwright.sim.simulate import Manner, simulate

CHECKED = Manner(check=True)
WHY = Reason(ReasonCode.PREEMPTED, {"beneficiary": "other", "lost": "1m"})


def lives(load, world, manner=CHECKED, policy=DEFAULT_POLICY):
    outcome = simulate(load, world, policy, manner)
    return outcome, {life.job.name: life for life in outcome.lives}


def evicting(name, second, monkeypatch, real=simulating.schedule):
    """Tell a job to leave at the first round from some second on."""
    told = []

    def rounds(snapshot, now, decided):
        victim = next((w for w in snapshot.holding if w.label == name), None)
        if victim is None or now < at(second) or told:
            return decided
        told.append(now)
        return replace(decided, evictions=(Eviction(victim.attempt, victim.attempt, WHY),))

    monkeypatch.setattr(simulating, "schedule", between(rounds, real))


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
    assert found["a"].reason.code is ReasonCode.NEVER_FITS
    assert found["b"].finished_at == at(100)


def test_who_is_told_to_leave_saves_and_goes_on_from_there(monkeypatch):
    evicting("a", 30, monkeypatch)
    load = [job("a", save_s=4, restart=20), job("tick", 30, 1)]
    _, found = lives(load, cluster(2))
    cool_down = DEFAULT_POLICY.preempting.cool_down_s
    assert [seconds(when) for when in found["a"].preempted_at] == [30]
    assert seconds(found["a"].finished_at) == 34 + cool_down + 20 + 70
    assert found["a"].held_s == 34 + 20 + 70
    assert found["a"].lost_s == 24


def test_who_cannot_save_within_its_grace_loses_what_came_after_its_last_checkpoint(monkeypatch):
    evicting("a", 33, monkeypatch)
    load = [job("a", save_s=60, grace=5, checkpoint_s=10), job("tick", 33, 1)]
    _, found = lives(load, cluster(2))
    assert found["a"].lost_s == 8  # was killed at 38, and had saved at 30
    assert seconds(found["a"].finished_at) == 38 + DEFAULT_POLICY.preempting.cool_down_s + 70


def test_who_ends_before_it_has_left_was_not_preempted(monkeypatch):
    evicting("a", 95, monkeypatch)
    _, found = lives([job("a", save_s=8), job("tick", 95, 1)], cluster(2))
    assert found["a"].preempted_at == ()
    assert seconds(found["a"].finished_at) == 100


def test_what_a_round_sees_of_a_victim_is_what_the_live_engine_would_tell_it(monkeypatch):
    evicting("a", 30, monkeypatch)
    seen, wrapped = [], simulating.schedule

    def schedule(snapshot, policy, now, memory=None):
        seen.extend((now, w.standing) for w in [*snapshot.holding, *snapshot.pending] if w.label == "a")
        return wrapped(snapshot, policy, now, memory)

    monkeypatch.setattr(simulating, "schedule", schedule)
    lives([job("a", save_s=4), job("tick", 30, 1), job("tock", 32, 1)], cluster(2))
    leaving = next(s for now, s in seen if now == at(32))
    waiting = next(s for now, s in seen if now == at(34))
    assert (leaving.leaving, leaving.started_at, leaving.preempted_at) == (True, at(0), (at(30),))
    assert (waiting.leaving, waiting.places, waiting.started_at) == (False, (), None)
    assert (waiting.served_s, waiting.preempted_at) == (34, (at(30),))
    assert waiting.not_before == at(34 + DEFAULT_POLICY.preempting.cool_down_s)


def test_a_claim_stays_with_whom_it_is_for_until_it_starts(monkeypatch):
    claimed, real = [], simulating.schedule

    def rounds(snapshot, now, decided):
        big = next((w for w in snapshot.pending if w.label == "big" and w.attempt in decided.waiting), None)
        claimed.append(big.standing.claim if big else None)
        places = (Assignment("n0", (0,)), Assignment("n0", (1,)))
        return decided if big is None else replace(decided, claims=(Claim(big.attempt, places),))

    monkeypatch.setattr(simulating, "schedule", between(rounds, real))
    _, found = lives([job("a"), job("big", 10, 10, gang(2)), job("tick", 20, 1)], cluster(2))
    assert len(claimed[2]) == 2
    assert seconds(found["big"].started_at) == 100


def test_an_elastic_job_that_is_resized_restarts_and_is_not_counted_as_preempted(monkeypatch):
    resized, real = [], simulating.schedule

    def rounds(snapshot, now, decided):
        small = next((w for w in snapshot.holding if len(w.standing.places) == 1), None)
        if small is None or now < at(50) or resized:
            return decided
        resized.append(small.attempt)
        places = (Assignment("n0", (0,)), Assignment("n0", (1,)))
        reason = Reason(ReasonCode.RESIZED, {"count": 2, "before": 1, "why": "there is room"})
        return replace(decided, resizes=(Resize(small.attempt, places, reason),))

    monkeypatch.setattr(simulating, "schedule", between(rounds, real))
    load = [job("other", 0, 50), job("grows", 1, 100, gang(2, least=1))]
    _, found = lives(load, cluster(2))
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
    outcome, found = lives(load, cluster(2, pools={"cloud": pool}))
    up = DEFAULT_POLICY.autoscaling.up_after_s
    assert seconds(found["b"].started_at) == up + 100
    assert max(outcome.times.capacity) == 4
    assert outcome.capacity_s < 2 * 5010 + 2 * (1000 + DEFAULT_POLICY.autoscaling.down_after_s + 1)


def test_what_a_queue_used_counts_when_it_is_over_and_less_with_time(monkeypatch):
    seen, real = {}, simulating.schedule

    def schedule(snapshot, policy, now, memory=None):
        seen[seconds(now)] = dict(snapshot.used)
        return real(snapshot, policy, now, memory)

    monkeypatch.setattr(simulating, "schedule", schedule)
    policy = replace(DEFAULT_POLICY, ordering=replace(DEFAULT_POLICY.ordering, half_life_s=200.0))
    load = [job("a", queue="ads"), job("tick", 50, 1), job("tock", 300, 1)]
    lives(load, cluster(2), policy=policy)
    assert seen[50] == {}
    assert seen[300]["ads"] == pytest.approx(0.5 * 100 / 2)


def test_a_queue_with_a_budget_is_told_what_it_spent(monkeypatch):
    seen, real = {}, simulating.schedule

    def schedule(snapshot, policy, now, memory=None):
        seen[seconds(now)] = dict(snapshot.spent)
        return real(snapshot, policy, now, memory)

    monkeypatch.setattr(simulating, "schedule", schedule)
    queues = {"ads": Queue("ads", budget=Budget(100.0))}
    world = cluster(2, queues=queues, pools={"local": Pool("local", price=36.0)})
    lives([job("a", queue="ads"), job("tick", 200, 1)], world)
    assert seen[0] == {"ads": 0.0}
    assert seen[200] == {"ads": pytest.approx(0.5)}


def test_books_that_do_not_add_up_are_found_when_somebody_asks(monkeypatch):
    real = simulating.schedule

    def twice(snapshot, now, decided):
        wrong = [replace(p, places=(Assignment("n0", (0,)),)) for p in decided.placements]
        return replace(decided, placements=tuple(wrong))

    monkeypatch.setattr(simulating, "schedule", between(twice, real))
    with pytest.raises(BugError, match="no room"):
        lives([job("a"), job("b")], cluster(2))


def test_a_scheduler_that_never_comes_to_an_end_is_not_followed_for_ever(monkeypatch):
    real = simulating.schedule

    def rounds(snapshot, now, decided):
        victims = [w for w in snapshot.holding if not w.standing.leaving]
        return replace(decided, evictions=tuple(Eviction(w.attempt, w.attempt, WHY) for w in victims))

    monkeypatch.setattr(simulating, "schedule", between(rounds, real))
    preempting = replace(DEFAULT_POLICY.preempting, cool_down_s=0.0)
    with pytest.raises(BugError, match="do not come to an end"):
        simulate([job("a"), job("b", 10)], cluster(2), replace(DEFAULT_POLICY, preempting=preempting))


JOBS = st.lists(
    st.builds(
        job,
        st.just("j"),
        st.integers(0, 300),
        st.integers(0, 200),
        st.sampled_from([gang(), gang(2), gang(gpus=0.5), gang(3, least=1), gang(gpus=0, cpu=4)]),
        queue=st.sampled_from(["ads", "search"]),
        priority=st.sampled_from([0, 0, 100]),
        save_s=st.sampled_from([0.0, 5.0, 20.0]),
        checkpoint_s=st.sampled_from([None, 30.0]),
        restart=st.sampled_from([0.0, 15.0]),
    ),
    max_size=25,
)


@settings(max_examples=40, deadline=None)
@given(load=JOBS)
def test_every_job_ends_and_its_work_is_done_once(load):
    outcome, _ = lives(load, cluster(2, 3))
    for life in outcome.lives:
        assert life.finished_at is not None
        wanted = life.job.shape.pod_sets[0].count
        assert life.job.duration_s - 1e-3 <= life.held_s <= life.job.duration_s * wanted + life.lost_s + 1e-3
    again, _ = lives(load, cluster(2, 3))
    assert again == outcome
