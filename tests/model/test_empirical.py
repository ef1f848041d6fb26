"""The sampled oracle of the paper's variant experiments."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import preceptor as pr
from preceptor.model.empirical_loss import impute, polynomial

LEARNER = pr.Learner([0.2, 1.3, 0.4], pr.Geometric(1.1))
GAUSSIAN = pr.World([1.0, 0.8, -0.3], [[1.0, 0.8, 0.1], [0.8, 1.0, 0.3], [0.1, 0.3, 1.0]])


def problem(world=GAUSSIAN, risk=None, **loss):
    return pr.Problem(world, LEARNER, 2, risk=risk, loss=pr.Empirical(**loss))


@pytest.mark.parametrize("risk", [pr.SquaredError(), pr.Huber(1.0), pr.AbsoluteError()])
def test_many_samples_come_close_to_the_closed_form(risk):
    sampled = problem(risk=risk, samples=200_000)
    exact = pr.Problem(GAUSSIAN, LEARNER, 2, risk=risk)
    errors = LEARNER.errors(GAUSSIAN, [[0, 0, 0], [5, 1, 0]])
    assert_allclose(
        sampled.oracle.losses(errors), exact.oracle.losses(errors), rtol=0.02, atol=2e-4
    )


@pytest.mark.parametrize("imputation", ["linear", "cubic"])
def test_loss_is_the_plain_average_over_the_sample(imputation):
    world = pr.World.beta_copula([1.0, 0.8, -0.3], 0.7)
    sampled = problem(world, samples=50, imputation=imputation, seed=9)
    drawn = world.sample(50, np.random.default_rng(9))
    noise = drawn.outcomes - drawn.features @ world.coefficients
    x = (drawn.features - drawn.features.mean(0)) / drawn.features.std(0)
    y = x @ world.coefficients + noise
    counts = np.array([2, 0, 1])
    beliefs = LEARNER.beliefs(world, counts)
    errors = LEARNER.errors(world, counts)[None]
    for column, shown in enumerate(sampled.sets):
        filled = impute(x, shown, 3 if imputation == "cubic" else 1)
        wanted = np.mean((y - filled @ beliefs) ** 2)
        assert_allclose(sampled.oracle.losses(errors)[0, column], wanted, rtol=1e-10)
        form = sampled.oracle.squared_form_of(shown)
        deviation = form.shift + form.reading @ errors[0]
        assert_allclose(form.floor + deviation @ deviation, wanted, rtol=1e-10)
        assert sampled.oracle.floors()[column] <= wanted + 1e-12


def test_cubic_imputation_recovers_a_cubic_relation():
    x = np.random.default_rng(0).standard_normal((200, 1))
    both = np.concatenate([x, 1 + 2 * x - x**3], axis=1)
    assert_allclose(impute(both, (0,), 3), both, atol=1e-10)
    assert np.abs(impute(both, (0,), 1) - both).max() > 1.0


def test_polynomial_has_every_product_once():
    columns = polynomial(np.array([[2.0, 3.0]]), 3)
    assert sorted(columns[0].tolist()) == sorted([1, 2, 3, 4, 6, 9, 8, 12, 18, 27])


def test_the_same_seed_gives_the_same_plan_and_ceilings_hold():
    small = problem(samples=64, risk=pr.Huber(0.5)).replace(horizon=5)
    first, second = pr.solve(small, "finite"), pr.solve(small.replace(horizon=5), "finite")
    assert first.value == second.value
    sizes = np.abs(small.initial_errors)
    losses = small.oracle.losses(small.initial_errors[None])[0]
    ceilings = [small.oracle.ceiling_of(sizes, shown) for shown in small.sets]
    assert np.all(losses <= ceilings)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: pr.Empirical(samples=1), "samples: 1"),
        (lambda: pr.Empirical(imputation="quartic"), "imputation: 'quartic'"),
        (lambda: pr.Empirical(seed=-1), "seed: -1"),
        (
            lambda: pr.Problem(
                GAUSSIAN, pr.Learner([0, 0, 0], pr.OneShot(), 0.5), 1, loss=pr.Empirical()
            ),
            "must stay 0",
        ),
    ],
)
def test_faults(make, words):
    with pytest.raises(pr.InvalidProblem, match=words):
        make()
