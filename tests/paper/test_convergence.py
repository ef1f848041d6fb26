"""Planning until the selections converge: what it finds, and what it says when they do not."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import preceptor as pr
from preceptor.paper.convergence import run_until_converged
from preceptor.paper.instances import draw


def problem(draws, rho, discount=0.95, alpha=1.1):
    drawn = draw(2, np.random.SeedSequence(draws))
    world = pr.World.equicorrelated(drawn.coefficients, rho, noise_variance=1e-3)
    return pr.Problem(world, pr.Learner(drawn.initial, pr.Geometric(alpha)), 1, discount)


@pytest.mark.parametrize("number", range(6))
@pytest.mark.parametrize("rho", [0.5, 0.95])
def test_it_finds_what_the_endless_planner_finds(number, rho):
    task = problem(number, rho)
    found = run_until_converged(task)
    best = pr.solve(task, "lattice", tolerance=1e-9)
    assert found.converged
    assert_allclose(found.value, pr.evaluate(task, found.policy))
    assert found.lower_bound <= best.value * (1 + 1e-9)
    assert best.value * (1 - 1e-9) <= found.value <= best.value * (1 + 1e-3)
    assert_allclose(found.gap, found.value / found.lower_bound - 1, atol=1e-12)
    assert found.horizons[0] == 40


def test_horizons_double_until_then():
    found = run_until_converged(problem(0, 0.95), first=4)
    assert found.horizons == tuple(4 * 2**i for i in range(len(found.horizons)))
    assert found.horizons[-1] // 4 >= found.policy.exploration_length


def test_what_never_settles_is_said_not_to():
    """Interchangeable tests above the threshold are shown in turn, forever."""
    world = pr.World.equicorrelated([1.0, 1.0], 0.9, noise_variance=1e-3)
    task = pr.Problem(world, pr.Learner([0.0, 0.0], pr.Geometric(1.1)), pr.Exactly(1), 0.9)
    found = run_until_converged(task, first=8, most=64)
    assert not found.converged
    assert found.horizons == (8, 16, 32, 64)
    assert found.lower_bound <= found.value


def test_short_horizons_converge_on_too_little_and_the_gap_says_so():
    task = problem(0, 0.99, discount=0.99, alpha=1.02)
    hasty, patient = run_until_converged(task, first=16), run_until_converged(task)
    assert hasty.converged
    assert patient.converged
    assert hasty.gap > 0.5
    assert patient.value < 0.95 * hasty.value
    assert patient.gap < 1e-9


def test_memory_ends_it():
    task = problem(0, 0.99, discount=0.99, alpha=1.02)
    found = run_until_converged(task, memory_limit=60_000)
    assert not found.converged
    assert found.horizons == (200,)
    with pytest.raises(pr.TooLarge):
        run_until_converged(task, memory_limit=10)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [({"first": 2}, "first: 2"), ({"most": 8}, "most: 8"), ({"most": 1.5}, "most: 1.5")],
)
def test_horizons_that_make_no_sense_are_refused(options, complaint):
    with pytest.raises(pr.InvalidInput, match=complaint):
        run_until_converged(problem(0, 0.5), **options)


def test_a_horizon_leaves_nothing_to_converge():
    with pytest.raises(pr.NotApplicable, match="without a horizon"):
        run_until_converged(problem(0, 0.5).replace(horizon=9))
