"""Tails solved in few directions: against adding up turns, for every rule that moves linearly."""

import numpy as np
import pytest

import preceptor as pr
from preceptor.model.evaluation import expectations

RNG = np.random.default_rng(4)
ROOT = RNG.normal(size=(12, 30))
COVARIANCE = ROOT @ ROOT.T / 30
WORLD = pr.World(RNG.normal(size=12), COVARIANCE, 0.4)
INITIAL = RNG.normal(size=12)
SETS = ((), (1,), (2, 3), (0, 3, 5))  # in the order that budgets list them
PEOPLE = {
    "knows correlations": pr.DeltaRule(INITIAL, 0.05),
    "ignores correlations": pr.DeltaRule(INITIAL, 0.05, 1.0),
    "all weights": pr.DeltaRule(INITIAL, 0.05, all_weights=True),
    "leaks": pr.DeltaRule(INITIAL, 0.05, 0.5, leak=0.1),
    "folds": pr.Folding(INITIAL, pr.Geometric(1.2), 0.5),
}


def expected(person, world=WORLD):
    problem = pr.Problem(world, person, pr.Listed(SETS), 0.9)
    assert tuple(problem.sets) == SETS
    (found,) = expectations(problem)
    return found


@pytest.mark.parametrize("tail", [(3,), (0,), (3, 1), (3, 2, 2, 1)])
@pytest.mark.parametrize("person", PEOPLE.values(), ids=PEOPLE)
def test_it_agrees_with_turns_added_up(person, tail):
    found = expected(person)
    solved = found._solved(found._directions(tail), tail, 0.9)
    summed = found._summed(tail, 0.9)
    assert np.allclose(solved, summed, rtol=1e-9, atol=1e-10 * np.abs(summed).max())
    assert np.allclose(found.repeated(tail, 0.9), summed, rtol=1e-9, atol=1e-9)


def test_few_directions_are_enough():
    found = expected(PEOPLE["knows correlations"])
    assert found._directions((3,)).shape[0] == 2 * 3 + 1
    assert found._directions((0,)).shape[0] == 1
    uncorrelated = pr.World(WORLD.coefficients, np.eye(12), 0.4)
    # Without correlations what is read off the tests is what is shown.
    read = expected(pr.DeltaRule(INITIAL, 0.05), uncorrelated)
    assert read._directions((3,)).shape[0] == 4


def test_whoever_diverges_has_no_cost():
    found = expected(pr.DeltaRule(INITIAL, 3.0))
    assert found.repeated((3,), 0.99) is None
