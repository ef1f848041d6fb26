"""Many tests, many sets, many rounds: what is asked for in no time is not looked at for minutes."""

import numpy as np
import pytest

import preceptor as pr
from preceptor.planning import candidate_sets
from preceptor.planning.candidate_sets import first_candidates
from preceptor.planning.crowd_plans import continued, own_plans
from preceptor.planning.price_search import ScheduleSearch


def problem_with(size, budget, person=None, **changes):
    rng = np.random.default_rng(0)
    world = pr.World.equicorrelated(rng.uniform(-1, 1, size), 0.5, noise_variance=1.0)
    if person is None:
        person = pr.Learner(rng.uniform(-1, 1, size), pr.Geometric(1.05))
    return pr.Problem(world, person, budget, discount=0.99).replace(**changes)


@pytest.mark.parametrize("size", [3, 100])
@pytest.mark.parametrize("horizon", [None, 20])
def test_one_set_is_no_choice(size, horizon):
    problem = problem_with(size, pr.Exactly(size), horizon=horizon)
    plan = pr.solve(problem)
    assert plan.status is pr.Status.OPTIMAL
    assert plan.reason == "only one set may be shown"
    everything = tuple(range(size))
    assert plan.policy.schedule(3) == [everything] * 3
    # Everything is seen, so the loss is that of wrong weights, each divided by 1.05 a round.
    error = problem.world.coefficients - np.asarray(problem.learner.initial)
    rounds = np.arange(20_000 if horizon is None else horizon)
    each = 1.0 + error @ problem.world.covariance @ error * 1.05 ** (-2.0 * rounds)
    assert plan.value == pytest.approx(float(0.99**rounds @ each), rel=1e-9)


def test_at_most_all_tests_is_more_than_one_set():
    # Who is sure of the opposite of the truth does better by the average than by the tests.
    world = pr.World([1.0, 1.0], np.eye(2), 0.1)
    problem = pr.Problem(world, pr.Learner([-3.0, -3.0], pr.Geometric(1.2)), 2, horizon=1)
    assert pr.solve(problem).policy.schedule(1) == [()]


@pytest.mark.parametrize("method", ["auto", "lattice"])
def test_more_tests_than_an_array_has_axes(method):
    problem = problem_with(100, pr.Listed([(0,), (1,)]))
    if method == "lattice":
        with pytest.raises(pr.TooLarge, match=r"100 tests, but its table .* at most 64"):
            pr.solve(problem, method)
    else:
        plan = pr.solve(problem, method, time_limit=1.0)
        assert plan.gap < 0.05


@pytest.mark.parametrize("size", [40, 120])
@pytest.mark.parametrize("budget", [pr.AtMost, pr.Exactly])
def test_candidates_are_found_when_there_is_no_time(monkeypatch, size, budget):
    judged = []
    plain = candidate_sets._when_learned

    def counted(problem):
        judged.append(len(problem.sets))
        return plain(problem)

    monkeypatch.setattr(candidate_sets, "_when_learned", counted)
    problem = problem_with(size, budget(size // 2))
    found = first_candidates(problem, stop=lambda: True)
    assert found
    assert all(problem.budget.allows(shown) for shown in found)
    assert max(len(shown) for shown in found) == size // 2
    assert sum(judged) <= 2 * candidate_sets._JUDGED


def test_few_candidates_of_many_tests():
    problem = problem_with(300, 300)
    sets = {(i, j) for i in range(40) for j in range(i)}
    kept = candidate_sets.most_promising(problem, sets, 500)
    assert 25 <= len(kept) <= 5_000_000 // 300**2


def test_own_plans_that_were_cut_short_are_searched_on():
    beliefs = np.array([0.9, -0.4, 0.2, 1.1])
    people = (pr.Forgetful(beliefs, pr.Geometric(1.1)), pr.DeltaRule(beliefs, 0.05))
    world, sets = pr.World.equicorrelated([1.0, 0.8, 0.7, 0.5], 0.8), pr.AtMost(1).sets(4)
    expected = tuple(each.expected(world, sets) for each in people)
    search = ScheduleSearch(expected, 30, 0.97, True, len(sets))
    hurried = own_plans(search, 2, stops=[lambda: True] * 2)
    assert not any(plan.finished for plan in hurried.plans)
    longer = continued(search, hurried, 2, [lambda: False] * 2)
    patient = own_plans(search, 2)
    assert np.all(longer.best <= hurried.best)
    assert np.all(longer.best < 1.001 * patient.best)
    assert np.any(longer.best < hurried.best)
    # Whose search was finished, and who has no time, keep their plan.
    assert continued(search, patient, 2, [lambda: False] * 2).best == pytest.approx(patient.best)
    assert continued(search, hurried, 2, [lambda: True] * 2).best == pytest.approx(hurried.best)


def test_a_very_long_horizon_without_discount():
    world = pr.World.equicorrelated([1.0, 0.8, 0.5], 0.6)
    person = pr.Learner([0.2, 1.3, 0.4], pr.Geometric(1.1))
    problem = pr.Problem(world, person, 1, discount=1.0, horizon=100_000)
    plan = pr.solve(problem, time_limit=None)
    assert plan.reason == "there are too many rounds to search"
    assert plan.gap < 0.05
    for method in ("search", "certified"):
        with pytest.raises(pr.NotApplicable, match="method='truncated'") as refused:
            pr.solve(problem, method)
        assert "leave out the horizon" not in str(refused.value)
    # What the message advises works.
    assert pr.solve(problem, "truncated", length=50).gap < 0.05
    with pytest.raises(pr.NotApplicable, match="leave out the horizon"):
        pr.solve(problem.replace(discount=0.99), "search")
