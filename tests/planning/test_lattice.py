"""The infinite horizon: against brute force, long finite plans, the sort, and other caps."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import preceptor as pr
from tests.oracles import round_loss
from tests.strategies import examples, problems, seeds

squared = st.just(pr.SquaredError())


def slow_optimum(problem, cap):
    """Value iteration on capped counts with dicts; no code shared with the package."""
    sets = list(problem.budget.subsets(problem.size))
    start = problem.start_counts

    def value(counts, memo):
        if counts not in memo:
            now = [s + c for s, c in zip(start, counts, strict=True)]
            options = []
            for shown in sets:
                after = tuple(min(c + (i in shown), cap) for i, c in enumerate(counts))
                loss = round_loss(problem, now, shown)
                if after == counts:
                    options.append(loss / (1 - problem.discount))
                else:
                    options.append(loss + problem.discount * value(after, memo))
            memo[counts] = min(options)
        return memo[counts]

    return value((0,) * problem.size, {})


@examples(60)
@given(problems(sizes=(1, 2), horizons=(None,)))
def test_capped_value_is_that_of_a_slow_twin(problem):
    from preceptor.planning.lattice import CapEffects, sweep

    effects = CapEffects.of(problem)
    assume(effects.dimensions == problem.size)  # tests that share a count share its cap as well
    value, _ = sweep(problem, effects, np.full(effects.dimensions, 6))
    assert_allclose(value, slow_optimum(problem, 6), rtol=1e-9, atol=1e-12)


@examples(60)
@given(problems(sizes=(1, 2, 3), horizons=(None,)))
def test_bounds_hold_the_truth_whatever_the_caps(problem):
    """More generous caps give better knowledge of the same number; no interval may exclude it."""
    problem = problem.replace(discount=min(problem.discount, 0.8))
    plans = [pr.solve(problem, "lattice", caps=cap) for cap in (2, 5, 14)]
    low = max(plan.lower_bound for plan in plans)
    high = min(plan.value for plan in plans)
    assert low <= high + 1e-9 * (1 + abs(high))
    for plan in plans:
        assert_allclose(pr.evaluate(problem, plan.policy), plan.value, rtol=1e-12)


@examples(30)
@given(problems(sizes=(1, 2), horizons=(None,)))
def test_agrees_with_long_finite_plans(problem):
    problem = problem.replace(discount=min(problem.discount, 0.7))
    plan = pr.solve(problem, "lattice", tolerance=1e-8)
    rounds = 40
    finite = pr.solve(problem.replace(horizon=rounds), "finite").value
    floor = problem.oracle.floors().min() * problem.discount**rounds / (1 - problem.discount)
    assert finite + floor <= plan.value + 1e-7 * (1 + plan.value)
    truncated = pr.solve(problem, "truncated", length=rounds // 2)
    assert plan.lower_bound <= truncated.value + 1e-9 * (1 + plan.value)


@given(problems(sizes=(2, 3), horizons=(None,), risks=squared, diagonal=True, imputations=(0.0,)))
@examples(30)
def test_without_correlation_it_is_the_sort(problem):
    problem = problem.replace(discount=min(problem.discount, 0.8))
    sort = pr.solve(problem, "independent")
    plan = pr.solve(problem, "lattice")
    assert plan.lower_bound <= sort.value * (1 + 1e-9) + 1e-12
    assert_allclose(plan.value, sort.value, rtol=3e-6, atol=1e-9)


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("size", "k", "rho", "value"),
    [
        (2, 1, 0.99, 11.49281459),
        (2, 1, 0.8, 13.736606),
        (2, 1, 0.5, 13.284788),
        (3, 2, 0.99, 3.46309341),
    ],
)
def test_best_known_values(size, k, rho, value):
    """Seed 0; the values come from another implementation."""
    rng = np.random.default_rng(0)
    a, h = rng.uniform(0, 1, size), rng.uniform(0, 1, size)
    learner = pr.Learner(h, pr.Geometric(1.05))
    problem = pr.Problem(pr.World.equicorrelated(a, rho), learner, k, discount=0.99)
    plan = pr.solve(problem, "lattice")
    assert_allclose(plan.value, value, rtol=1e-6)
    assert plan.lower_bound <= value * (1 + 1e-7)
    assert plan.gap < 2e-6
    assert plan.status is pr.Status.OPTIMAL


def test_the_symmetric_pair_alternates_above_the_threshold_and_not_below():
    for rho, alternates in [(0.1, False), (0.9, True)]:
        world = pr.World.equicorrelated([1.0, 1.0], rho)
        problem = pr.Problem(world, pr.Learner([0.0, 0.0], pr.Geometric(1.1)), pr.Exactly(1), 0.9)
        schedule = pr.solve(problem, "lattice").policy.schedule(20)
        assert (len(set(schedule)) == 2) is alternates


def test_a_curve_with_a_floor_is_exact_at_its_saturation():
    world = pr.World.equicorrelated([1.0, 0.8], 0.8)
    learner = pr.Learner([0.2, 1.3], pr.Geometric(1.3, floor=0.05))
    plan = pr.solve(pr.Problem(world, learner, 1), "lattice")
    assert max(plan.options["caps"]) <= 6  # 1.3^-12 < .05
    assert plan.options["capping_error"] == 0.0
    assert plan.gap < 1e-12


@given(problems(sizes=(2, 3), horizons=(None,)), seeds)
@examples(30)
def test_whoever_drifted_off_the_plan_is_served_as_well(problem, seed):
    """The table's answer at any counts is as good as a new plan made from there."""
    problem = problem.replace(discount=0.6, start=None)
    plan = pr.solve(problem, "lattice", caps=12)
    drift = np.random.default_rng(seed).integers(0, len(problem.sets), 4)
    counts = problem.sets.membership[drift].sum(axis=0).tolist()
    there = problem.replace(start=counts)
    again = pr.solve(there, "lattice", caps=12)
    followed, now = [], list(counts)
    for _ in range(60):
        shown = plan.policy.recommend(now)
        followed.append(shown)
        for i in shown:
            now[i] += 1
    walked = pr.evaluate(there.replace(horizon=60), pr.ExploreThenCommit(followed, followed[-1]))
    assert (
        walked
        <= again.value + plan.options["capping_error"] + again.options["capping_error"] + 1e-9
    )


def test_a_users_own_risk_and_sampled_losses_are_planned():
    world = pr.World.equicorrelated([1.0, 0.8], 0.8)
    learner = pr.Learner([0.2, 1.3], pr.Geometric(1.4))
    huber = pr.Problem(world, learner, 1, discount=0.8, risk=pr.Huber(1.0))
    own = huber.replace(risk=pr.ResidualRisk(pr.Huber(1.0).charge, kinks=(-1.0, 1.0)))
    wanted = pr.solve(huber, "lattice", caps=20).value
    assert_allclose(pr.solve(own, "lattice", caps=20).value, wanted, rtol=1e-9)
    sampled = huber.replace(loss=pr.Empirical(64))
    plan = pr.solve(sampled, "lattice", caps=12)
    assert plan.lower_bound <= plan.value


def test_memory_is_estimated_before_it_is_taken():
    world = pr.World.equicorrelated(np.ones(4), 0.9)
    problem = pr.Problem(world, pr.Learner(np.zeros(4), pr.Geometric(1.05)), 2)
    with pytest.raises(pr.TooLarge, match=r"states would take .* GiB.*search"):
        pr.solve(problem, "lattice", caps=300)
    small = pr.solve(problem, "lattice", memory_limit=2**22)
    assert any("to fit in memory" in note for note in small.notes)
    assert small.states * 9 <= 2**22
    assert small.lower_bound <= small.value


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"tolerance": 0.0}, "tolerance: 0.0"),
        ({"caps": 0}, "caps: 0"),
        ({"caps": [3]}, "1 caps for 2 tests"),
        ({"caps": 1.5}, "caps: 1.5"),
    ],
)
def test_faults(options, words):
    world = pr.World.equicorrelated([1.0, 1.0], 0.5)
    problem = pr.Problem(world, pr.Learner([0.0, 0.0], pr.OneShot()), 1)
    with pytest.raises(pr.InvalidInput, match=words):
        pr.solve(problem, "lattice", **options)


def test_finite_horizons_are_refused():
    world = pr.World.equicorrelated([1.0, 1.0], 0.5)
    problem = pr.Problem(world, pr.Learner([0.0, 0.0], pr.OneShot()), 1, horizon=9)
    with pytest.raises(pr.NotApplicable, match="ends after 9 rounds"):
        pr.solve(problem, "lattice")
