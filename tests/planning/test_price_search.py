"""Search by prices against every schedule there is, for all linear kinds and for crowds."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose

import preceptor as pr
from preceptor.model.expected import StepsOverBlocks
from preceptor.planning.crowd_plans import own_plans, plan_for_crowd
from preceptor.planning.objectives import CVaR, MeanRatio, Regret
from preceptor.planning.price_search import ScheduleSearch, fixed_sets
from preceptor.planning.priced_schedule import PricedSchedule
from tests.people.examples import INDIVIDUALS, WORLD
from tests.people.reference import Rough, all_costs, cast

SETS = [(0,), (1,), (2,)]
KINDS = sorted(cast(0, SETS))
DISCOUNT = 0.95


def found(person, rounds=8, **options):
    options = {"max_kicks": 15, "infinite": False, "sets": len(SETS)} | options
    about = {
        name: options.pop(name) for name in ("infinite", "sets", "tails", "seed") if name in options
    }
    return ScheduleSearch((person,), rounds, DISCOUNT, **about).find(**options)


def test_best_of_all_schedules():
    """3 sets, 8 rounds, 6,561 schedules: nearly always the best, never far from it."""
    excess = []
    for seed in range(2):
        for person in cast(seed, SETS).values():
            best = all_costs(person, 8, DISCOUNT).min()
            plan = found(person)
            assert_allclose(plan.costs[0], person.total(plan.schedule, DISCOUNT, ()))
            excess.append(plan.value / best - 1)
    assert max(excess) < 5e-3
    assert np.mean(np.array(excess) < 1e-9) >= 0.95


@pytest.mark.full
def test_best_of_all_schedules_for_every_kind():
    """The kinds of the package, with their own expectations and prices."""
    sets = pr.Exactly(1).sets(3)
    schedules = np.array(list(itertools.product(range(3), repeat=8)))
    excess = {}
    for name, person in INDIVIDUALS.items():
        if not name.endswith("-0"):
            continue
        expected = person.expected(WORLD, sets)
        best = min(expected.total(schedule, DISCOUNT, ()) for schedule in schedules)
        plan = found(expected, rounds=8)
        assert_allclose(plan.costs[0], expected.total(plan.schedule, DISCOUNT, ()), rtol=1e-9)
        excess[name] = plan.value / best - 1
    assert max(excess.values()) < 5e-3, excess
    assert np.mean(np.array(list(excess.values())) < 1e-9) >= 0.95, excess


@pytest.mark.few(10)
@pytest.mark.parametrize("name", INDIVIDUALS)
def test_costs_of_a_plan_are_those_of_a_replay(name):
    """For every setting of every kind, finite or not."""
    expected = INDIVIDUALS[name].expected(WORLD, pr.AtMost(2).sets(3))
    for infinite in (False, True):
        plan = found(expected, rounds=12, infinite=infinite, sets=7, max_kicks=2)
        total = expected.total(plan.schedule, DISCOUNT, plan.tail)
        assert_allclose(plan.costs[0], total, rtol=1e-8)
        for s in range(7):
            assert total <= expected.total([s] * 12, DISCOUNT, (s,) if infinite else ()) + 1e-9


def test_rough_prices_are_confirmed():
    """With prices that miss a third of every change, plans stay as good and costs exact."""
    excess = []
    for name, person in cast(5, SETS).items():
        plan = found(Rough(person, 0.3))
        assert_allclose(plan.costs[0], person.total(plan.schedule, DISCOUNT, ()), err_msg=name)
        excess.append(plan.value / all_costs(person, 8, DISCOUNT).min() - 1)
    assert max(excess) < 5e-3
    assert np.mean(np.array(excess) < 1e-9) >= 0.9


@pytest.mark.parametrize("kind", ["paper", "delta rule", "drifting"])
def test_what_is_repeated_forever_is_chosen_too(kind):
    person = cast(1, SETS)[kind]
    plan = found(person, rounds=4, infinite=True)
    assert_allclose(plan.value, person.total(plan.schedule, DISCOUNT, plan.tail))
    words = [*((s,) for s in range(3)), *itertools.permutations(range(3), 2)]
    best = min(
        person.total(schedule, DISCOUNT, tail)
        for schedule in itertools.product(range(3), repeat=4)
        for tail in words
    )
    assert plan.value <= best * (1 + 1e-3)


def test_given_words_and_starts_are_used():
    person = cast(1, SETS)["drifting"]
    start = (np.array([0, 1, 2, 0]), (1, 2))
    plan = found(person, rounds=6, infinite=True, starts=[start], tails=[(0, 1, 2)], max_kicks=0)
    assert plan.value <= person.total([0, 1, 2, 0, 1, 2], DISCOUNT, (1, 2)) * (1 + 1e-12)
    assert plan.value <= person.total(plan.schedule, DISCOUNT, (0, 1, 2)) * (1 + 1e-12)


def test_only_candidates_are_shown():
    person = cast(2, SETS)["delta rule"]
    plan = found(person, candidates=np.array([0, 2]))
    assert set(plan.schedule.tolist()) <= {0, 2}
    table = all_costs(person, 8, DISCOUNT).reshape((3,) * 8)
    best = table[np.ix_(*[[0, 2]] * 8)].min()
    assert plan.value <= best * (1 + 5e-3)


def test_the_same_seed_gives_the_same_plan():
    person = cast(3, SETS)["delta rule, half"]
    first, second = (found(person, seed=7) for _ in range(2))
    assert first.schedule.tolist() == second.schedule.tolist()
    assert first.sweeps == second.sweeps


def test_a_search_can_be_stopped_at_any_moment():
    person = cast(3, SETS)["delta rule"]
    values = []
    for most in (0, 1, 5, 20, 80):
        asked = itertools.count()
        plan = found(person, stop=lambda asked=asked, most=most: next(asked) >= most)
        assert_allclose(plan.value, person.total(plan.schedule, DISCOUNT, ()))
        assert not plan.finished
        values.append(plan.value)
    assert found(person).finished
    assert values == sorted(values, reverse=True)


def test_better_values_are_told_on_the_way():
    person, told = cast(4, SETS)["delta rule"], []
    plan = found(person, improved=told.append)
    assert told == sorted(told, reverse=True)
    assert told[-1] == plan.value


def test_long_schedules_beat_their_own_starts():
    """100 rounds and 6 sets: as good as any change of one round could make it."""
    person = cast(0, [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2)])["delta rule"]
    plan = found(person, rounds=60, sets=6, max_kicks=2)
    walk = person.walk(60, DISCOUNT)
    walk.forward(plan.schedule, ())
    for t in range(59, -1, -1):
        assert walk.prices(t, np.arange(6)).min() >= plan.value * (1 - 1e-8)
        walk.step_back(t, plan.schedule[t])


def test_passes_never_make_it_worse_and_know_what_it_costs():
    """Whatever a pass changes, the costs it reports are those of a replay."""
    people = [cast(6, SETS)[kind] for kind in ("paper", "delta rule", "drifting")]
    people[1] = Rough(people[1])
    best = [all_costs(p, 10, DISCOUNT).min() for p in people]
    priced = PricedSchedule(people, 10, DISCOUNT, Regret(np.array(best), 20.0), lambda: False)
    rng, ids, look = np.random.default_rng(0), np.arange(3), np.ones(10, dtype=bool)
    for _ in range(6):
        before = priced.forward(rng.integers(0, 3, 10), ())
        for step in (
            lambda: priced.sweep(look, ids, 4),
            lambda: priced.sweep(rng.random(10) < 0.4, ids),
            lambda: priced.shift_runs(look, ids),
            lambda: priced.sweep(look, ids),
        ):
            step()
            replayed = [p.total(priced.schedule, DISCOUNT, ()) for p in people]
            assert_allclose(priced.costs, replayed, rtol=1e-9)
            assert priced.value <= before + 1e-12
            before = priced.value


@pytest.mark.parametrize("name", INDIVIDUALS)
def test_stretches_are_taken_in_as_round_by_round(name):
    """Prices after many rounds at once are those of single steps."""
    expected = INDIVIDUALS[name].expected(WORLD, pr.AtMost(2).sets(3))
    one, many = (expected.walk(9, DISCOUNT) for _ in range(2))
    if not isinstance(many, StepsOverBlocks):
        pytest.skip("goes round by round")
    rng, ids = np.random.default_rng(0), np.arange(7)
    laid, taken = rng.integers(0, 7, (2, 9))
    for later in (laid, taken):
        one.forward(laid, (3,))
        many.forward(laid, (3,))
        for t in range(8, 3, -1):
            one.step_back(t, int(later[t]))
        many.step_back_over(6, later[6:9])
        many.step_back_over(4, later[4:6])
        assert_allclose(many.prices(3, ids), one.prices(3, ids), rtol=1e-9)


def test_fixed_sets_are_ranked_exactly_if_rounds_are_few():
    person = cast(0, SETS)["delta rule"]
    for infinite in (False, True):
        estimates = fixed_sets([person], 3, 500, DISCOUNT, infinite).costs[:, 0]
        totals = [person.total([s] * 500, DISCOUNT, (s,) if infinite else ()) for s in range(3)]
        assert_allclose(estimates, totals, rtol=0.05)


@pytest.fixture(scope="module")
def crowd():
    """Four people, and what every schedule of 6 rounds costs each of them (729, 4)."""
    people = [cast(8, SETS)[k] for k in ("paper", "delta rule", "folding fully", "drifting")]
    return people, np.column_stack([all_costs(p, 6, DISCOUNT) for p in people])


@pytest.mark.parametrize("name", ["mean", "regret", "cvar"])
def test_best_common_schedule(crowd, name):
    people, costs = crowd
    weights = np.array([0.4, 0.3, 0.2, 0.1])
    search = ScheduleSearch(tuple(people), 6, DISCOUNT, False, 3)
    plan = plan_for_crowd(search, own_plans(search), objective=name, weights=weights)
    best = costs.min(axis=0)
    assert_allclose(plan.own.best, best, rtol=1e-9)
    objective = {
        "mean": MeanRatio(weights, best), "regret": Regret(best), "cvar": CVaR(weights, best)
    }[name]  # fmt: skip
    values = objective.value(costs)
    assert plan.plan.value >= values.min() - 1e-9
    assert plan.plan.value <= values.min() + 5e-3
    assert_allclose(plan.plan.value, objective.value(plan.plan.costs), rtol=1e-9, atol=1e-12)
    assert_allclose(plan.regrets, plan.plan.costs / best - 1, atol=1e-9)


def test_own_plans_come_from_others_where_those_are_better(crowd):
    people, costs = crowd
    search = ScheduleSearch(tuple(people), 6, DISCOUNT, False, 3)
    own = own_plans(search, max_kicks=0)
    assert_allclose(own.best, costs.min(axis=0), rtol=5e-3)
    for plan, person, best in zip(own.plans, people, own.best, strict=True):
        assert_allclose(person.total(plan.schedule, DISCOUNT, ()), best)
