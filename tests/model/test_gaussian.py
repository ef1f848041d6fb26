"""The closed form against dense algebra, simulation, exact fractions and the sampled oracle."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose

import preceptor as pr
from tests.oracles import beliefs_at, round_loss, variance
from tests.strategies import examples, problems, seeds


@examples(100)
@given(problems(sizes=(1, 2, 3, 5)), seeds)
def test_all_ways_to_ask_agree_with_first_principles(problem, seed):
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 20, (4, problem.size))
    errors = problem.learner.errors(problem.world, counts)
    together = problem.oracle.losses(errors)
    forms = problem.oracle.forms()
    floors = problem.oracle.floors()
    largest = np.abs(problem.world.coefficients - problem.learner.initial)
    for column, shown in enumerate(problem.sets):
        wanted = [round_loss(problem, m, shown) for m in counts]
        assert_allclose(together[:, column], wanted, rtol=1e-9, atol=1e-12)
        assert_allclose(problem.oracle.loss_of(errors, shown), wanted, rtol=1e-9, atol=1e-12)
        deviation = forms.shift[column] + errors @ forms.reading[column].T
        v = forms.floor[column] + np.sum(deviation**2, axis=1)
        assert_allclose(problem.risk.expected(v) + forms.prices[column], wanted, rtol=1e-9)
        assert np.all(together[:, column] >= floors[column] - 1e-12)
        ceiling = problem.oracle.ceiling_of(largest, shown)
        assert np.all(together[:, column] <= ceiling * (1 + 1e-12) + 1e-12)


@given(problems(sizes=(2, 3, 4), imputations=(0.0,)))
def test_floor_is_what_remains_when_everything_is_learned(problem):
    learned = np.zeros((1, problem.size))
    assert_allclose(problem.oracle.losses(learned)[0], problem.oracle.floors(), rtol=1e-9)


@pytest.mark.parametrize("risk", [pr.SquaredError(), pr.Huber(1.0), pr.AbsoluteError()])
@pytest.mark.parametrize("kappa", [0.0, 0.4, 1.0])
def test_closed_form_is_the_mean_of_simulated_rounds(risk, kappa):
    rng = np.random.default_rng(5)
    world = pr.World([1.0, -0.7, 0.4], [[1.0, 0.7, -0.3], [0.7, 1.5, 0.2], [-0.3, 0.2, 0.8]], 0.2)
    learner = pr.Learner([0.1, 0.9, -0.5], pr.Geometric(1.2), kappa)
    problem = pr.Problem(world, learner, 2, risk=risk)
    counts = np.array([3, 0, 1])
    beliefs = beliefs_at(problem, counts)
    omega = learner.imputing_covariance(world)
    cases = world.sample(400_000, rng)
    for column, shown in enumerate(problem.sets):
        s = list(shown)
        weights = np.linalg.solve(omega[np.ix_(s, s)], omega[s] @ beliefs) if s else np.zeros(0)
        charges = risk.charge(cases.outcomes - cases.features[:, s] @ weights)
        expected = problem.oracle.losses(learner.errors(world, counts[None]))[0, column]
        error = charges.std() / np.sqrt(charges.size)
        assert abs(charges.mean() - expected) < 4.5 * error


def exact_variance(world, beliefs, shown):
    """Squared loss in exact fractions: no rounding at all."""
    sigma = [[Fraction(v) for v in row] for row in world.covariance.tolist()]
    a = [Fraction(v) for v in world.coefficients.tolist()]
    h = [Fraction(v) for v in beliefs]
    n = len(a)
    rows = [
        [sigma[i][j] for j in shown] + [sum(sigma[i][j] * h[j] for j in range(n))] for i in shown
    ]
    k = len(shown)
    for i in range(k):  # Gauss-Jordan
        pivot = rows[i][i]
        rows[i] = [v / pivot for v in rows[i]]
        for other in range(k):
            if other != i:
                factor = rows[other][i]
                rows[other] = [v - factor * w for v, w in zip(rows[other], rows[i], strict=True)]
    w = [row[k] for row in rows]
    signal = sum(a[i] * sigma[i][j] * a[j] for i in range(n) for j in range(n))
    cross = sum(w[p] * sigma[i][j] * a[j] for p, i in enumerate(shown) for j in range(n))
    own = sum(w[p] * sigma[i][j] * w[q] for p, i in enumerate(shown) for q, j in enumerate(shown))
    return float(Fraction(world.noise_variance) + signal - 2 * cross + own)


@pytest.mark.parametrize("condition", [1e4, 1e8, 1e10])
def test_right_answers_close_to_singular(condition):
    rng = np.random.default_rng(2)
    basis, _ = np.linalg.qr(rng.standard_normal((4, 4)))
    spectrum = np.geomspace(1.0, 1.0 / condition, 4)
    matrix = basis @ np.diag(spectrum) @ basis.T
    world = pr.World(rng.uniform(0, 1, 4), (matrix + matrix.T) / 2, 1e-3)
    problem = pr.Problem(world, pr.Learner(rng.uniform(0, 1, 4), pr.Geometric(1.05)), 3)
    for counts in ([0, 0, 0, 0], [5, 60, 0, 200]):
        errors = problem.learner.errors(world, counts)
        beliefs = world.coefficients - errors
        got = problem.oracle.losses(errors[None])[0]
        for column, shown in enumerate(problem.sets):
            assert_allclose(got[column], exact_variance(world, beliefs, shown), rtol=1e-6)
            assert np.isclose(variance(problem, beliefs, shown), got[column], rtol=0.1)


def test_beyond_gaussian_only_squared_error_has_a_closed_form():
    world = pr.World.beta_copula([1.0, 0.8], 0.8)
    learner = pr.Learner([0.2, 1.3], pr.Geometric(1.1))
    pr.Problem(world, learner, 1)
    with pytest.raises(pr.InvalidProblem, match="needs Gaussian tests"):
        pr.Problem(world, learner, 1, risk=pr.Huber(1.0))
