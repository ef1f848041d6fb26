"""Instant lower bounds never exceed what can be reached."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import preceptor as pr
from preceptor.planning.bounds import floor_bound, instant_bound, projection_bound
from tests.strategies import examples, problems


@examples(200)
@given(problems(sizes=(1, 2, 3), horizons=(1, 3, 6)))
def test_no_bound_exceeds_the_finite_optimum(problem):
    best = pr.solve(problem, "finite").value
    for bound in (floor_bound, projection_bound, instant_bound):
        assert bound(problem) <= best + 1e-10 * (1 + best)


@examples(60)
@given(problems(sizes=(1, 2, 3), horizons=(None,), risks=st.just(pr.SquaredError())))
def test_no_bound_exceeds_an_infinite_plan(problem):
    problem = problem.replace(discount=min(problem.discount, 0.8))
    best = pr.solve(problem, "lattice", caps=12).value
    assert instant_bound(problem) <= best + 1e-10 * (1 + best)


@pytest.mark.parametrize(
    ("size", "k", "rho", "measured"),
    [(2, 1, 0.99, 11.31), (3, 2, 0.99, 3.089), (5, 2, 0.99, 64.70), (10, 2, 0.99, 12.23)],
)
def test_one_dimensional_bound_is_as_good_as_measured_elsewhere(size, k, rho, measured):
    """Measured with another implementation; ours uses fewer rounds, so a little less is fine."""
    rng = np.random.default_rng(0)
    a, h = rng.uniform(0, 1, size), rng.uniform(0, 1, size)
    world = pr.World.equicorrelated(a, rho)
    problem = pr.Problem(world, pr.Learner(h, pr.Geometric(1.05)), k, discount=0.99)
    assert 0.985 * measured <= projection_bound(problem) <= 1.001 * measured
