"""What is expected of people is what happens on average when they act: for every kind."""

import numpy as np
import pytest

import preceptor as pr
from preceptor.people.acting import Imputer
from tests.people.examples import GEOMETRIC, INDIVIDUALS, INITIAL, WORLD

SETS = pr.Problem(WORLD, pr.Learner(INITIAL, GEOMETRIC), pr.AtMost(2, price=[0.1, 0.2, 0.0])).sets
SCHEDULE = np.random.default_rng(0).integers(len(SETS), size=15)
PEOPLE = 10_000


def played(person):
    """Squared errors (rounds, people) of a crowd of one kind."""
    rng = np.random.default_rng(1)
    imputer = Imputer(person.imputing_covariance(WORLD))
    state = person.fresh(WORLD, (PEOPLE,), None)
    errors = []
    for position in SCHEDULE:
        shown = SETS[int(position)]
        cases = WORLD.sample(PEOPLE, rng)
        filled = cases.features[:, list(shown)] @ imputer.fill(shown)
        answers = np.sum(person.weights_of(WORLD, state) * filled, axis=-1)
        errors.append((cases.outcomes - answers) ** 2)
        seen = np.broadcast_to(SETS.membership[position], (PEOPLE, 3))
        state = person.learn(WORLD, state, filled, seen, cases.outcomes)
    return np.array(errors)


@pytest.mark.parametrize("person", INDIVIDUALS.values(), ids=INDIVIDUALS)
def test_expected_losses_are_average_losses(person):
    expected = person.expected(WORLD, SETS)
    errors = played(person)
    losses = errors.mean(axis=1) + SETS.prices[SCHEDULE]
    standard_errors = errors.std(axis=1) / np.sqrt(PEOPLE)
    off = np.asarray(expected.losses(SCHEDULE)) - losses
    if expected.exact:
        assert np.all(np.abs(off) < 4 * standard_errors)
        assert expected.accuracy == ""
    else:
        assert abs(off.sum()) < 0.15 * losses.sum()
        assert expected.accuracy
