"""Played with the paper's learner, losses average to what `evaluation` computes in closed form."""

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import preceptor as pr
from preceptor._base.numerics import discounted_sum
from preceptor.model.evaluation import losses_along
from preceptor.simulation.choosing import RandomOrder
from preceptor.simulation.rollouts import rollout
from tests.oracles import round_loss
from tests.strategies import covariance

A, H = [1.0, 0.8, -0.5], [0.2, 1.3, 0.4]
GEOMETRIC = pr.Geometric(1.10)
ROUNDS, PEOPLE = 30, 3000


def problem(curve=GEOMETRIC, imputation=0.0, budget=2, **rest):
    world = pr.World(A, covariance(np.random.default_rng(3), 3), 0.2)
    return pr.Problem(world, pr.Learner(H, curve, imputation), budget, 0.95, **rest)


def beta_problem():
    world = pr.World.beta_copula(A, 0.7, noise_variance=0.1)
    return pr.Problem(world, pr.Learner(H, GEOMETRIC), 2, 0.95)


PROBLEMS = {
    "at most": problem(),
    "exactly": problem(pr.PowerLaw(0.75), budget=pr.Exactly(2)),
    "knapsack with prices": problem(budget=pr.Knapsack([1.0, 2.0, 1.5], 3.0, price=[0.1, 0.2, 0])),
    "listed": problem(budget=pr.Listed([[0, 1, 2], [1]])),
    "half of the correlation": problem(imputation=0.5),
    "ignores correlation": problem(imputation=1.0),
    "other covariance": problem(imputation=covariance(np.random.default_rng(8), 3)),
    "Huber": problem(risk=pr.Huber(0.7)),
    "absolute": problem(risk=pr.AbsoluteError()),
    "pinball": problem(risk=pr.ResidualRisk(lambda r: np.where(r > 0, 0.9 * r, -0.1 * r))),
    "Beta marginals": beta_problem(),
    "own curves, seen before": problem(
        [GEOMETRIC, pr.OneShot(), pr.Tabulated([1.0, 0.5, 0.4])], start=[3, 0, 1]
    ),
    "finite, undiscounted": problem(horizon=ROUNDS).replace(discount=1.0),
}


def exact_losses(problem, policy):
    return losses_along(problem, policy.schedule(ROUNDS))


def every_set_in_turn(problem):
    return pr.Alternating(list(problem.sets))


@pytest.mark.few(4)
@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS.keys())
def test_mean_losses_are_the_exact_ones(problem):
    policy = every_set_in_turn(problem)
    played = rollout(problem, policy, ROUNDS, PEOPLE, rng=2)
    exact = exact_losses(problem, policy)
    total = discounted_sum(exact, problem.discount)  # of an endless problem: its first rounds
    assert abs(played.total - total) < 3.5 * played.total_error
    assert played.total_error < 0.05 * total
    # Rounds are independent of each other, so their z-scores are too.
    z = (played.mean_loss - exact) / played.standard_error
    assert stats.chi2.sf(np.sum(z**2), ROUNDS) > 1e-3


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "other",
    [
        problem(pr.Geometric(1.2)),
        problem(imputation=0.3),
        problem(start=[2, 0, 0]),
        problem(risk=pr.Huber(3.0)),
    ],
    ids=["learns faster", "imputes otherwise", "has seen more", "charged otherwise"],
)
def test_other_people_would_have_been_noticed(other):
    policy = every_set_in_turn(other)
    played = rollout(other, policy, ROUNDS, PEOPLE, rng=2)
    z = (played.mean_loss - exact_losses(problem(), policy)) / played.standard_error
    assert stats.chi2.sf(np.sum(z**2), ROUNDS) < 1e-6


def test_whole_value_of_a_finite_problem():
    finite = problem(horizon=ROUNDS)
    plan = pr.solve(finite)
    played = rollout(finite, plan, ROUNDS, PEOPLE, rng=5)
    assert played.weight == 1.0
    assert abs(played.total - plan.value) < 3.5 * played.total_error


def test_slips_add_their_variance():
    noisy = problem().learner.acting(problem().world, problem().start, response_noise=0.5)
    policy = every_set_in_turn(problem())
    played = rollout(problem(), policy, ROUNDS, PEOPLE, rng=6, human=noisy)
    exact = discounted_sum(exact_losses(problem(), policy) + 0.25, 0.95)
    assert abs(played.total - exact) < 3.5 * played.total_error


@pytest.mark.full
def test_random_order_costs_the_average_over_its_draws():
    one = problem(budget=pr.Exactly(2))
    played = rollout(one, RandomOrder.of(one), 2, 6000, rng=7)
    sets = list(one.sets)
    first = np.mean([round_loss(one, (0, 0, 0), s) for s in sets])
    after = [[int(i in s) for i in range(3)] for s in sets]
    second = np.mean([round_loss(one, counts, s) for counts in after for s in sets])
    z = (played.mean_loss - [first, second]) / played.standard_error
    assert np.all(np.abs(z) < 3.5)


@pytest.mark.full
def test_the_plan_of_the_diabetes_example_is_worth_what_it_says():
    example = pr.Problem.load(Path(__file__).parents[2] / "examples" / "diabetes.toml")
    plan = pr.solve(example, "search", time_limit=2)
    rounds = 2000  # what is left weighs 2e-9
    played = rollout(example, plan, rounds, 4000, rng=8)
    assert played.total_error < 0.003 * plan.value
    assert abs(played.total - plan.value) < 3.5 * played.total_error


@pytest.mark.full
def test_standard_errors_are_honest():
    """Over many seeds the z-scores of totals are standard normal."""
    policy = every_set_in_turn(problem())
    exact = discounted_sum(exact_losses(problem(), policy), 0.95)
    runs = [rollout(problem(), policy, ROUNDS, 300, rng=seed) for seed in range(400)]
    z = np.array([(run.total - exact) / run.total_error for run in runs])
    assert stats.kstest(z, "norm").pvalue > 1e-3
