"""Weights that are known up to a covariance cost what they cost on average, exactly."""

import numpy as np
import pytest

import preceptor as pr
from preceptor.people.expected import TakesSpread
from tests.people.examples import INDIVIDUALS, WORLD

SETS = pr.AtMost(2).sets(3)
ROUNDS = 12
SCHEDULE = np.random.default_rng(3).integers(len(SETS), size=ROUNDS)
# Of full rank, and of a single direction.
SPREADS = {
    "all": np.array([[0.3, 0.1, 0.0], [0.1, 0.2, -0.05], [0.0, -0.05, 0.1]]),
    "one": np.outer([0.5, -0.2, 0.0], [0.5, -0.2, 0.0]),
}
# What capped surprises and Bayesian gains cost is no quadratic function of the first errors.
QUADRATIC = {
    name: person
    for name, person in INDIVIDUALS.items()
    if getattr(person, "cap", None) is None and not isinstance(person, pr.Bayesian)
}
quadratic = pytest.mark.parametrize("person", QUADRATIC.values(), ids=QUADRATIC)
spreads = pytest.mark.parametrize("spread", SPREADS.values(), ids=SPREADS)


def people_around(person, spread):
    """Somebody at each of the points mean ± sqrt(n) L_i; they average quadratics exactly."""
    size = spread.shape[0]
    values, vectors = np.linalg.eigh(spread)
    steps = np.sqrt(size) * vectors * np.sqrt(np.maximum(values, 0.0))
    state = person.fresh(WORLD, (), None)
    now = person.weights_of(WORLD, state)
    return [
        person.from_here(WORLD, state, now + sign * step).expected(WORLD, SETS)
        for step in steps.T
        for sign in (1.0, -1.0)
    ]


def average(people, ask):
    return np.mean([ask(each) for each in people], axis=0)


@quadratic
@spreads
def test_losses_and_totals_are_averages(person, spread):
    spread_out = person.expected(WORLD, SETS).with_spread(spread)
    people = people_around(person, spread)
    np.testing.assert_allclose(
        spread_out.losses(SCHEDULE), average(people, lambda e: e.losses(SCHEDULE)), rtol=1e-9
    )
    for tail in ((), (3,), (2, 5)):
        assert spread_out.total(SCHEDULE, 0.9, tail) == pytest.approx(
            float(average(people, lambda e, tail=tail: e.total(SCHEDULE, 0.9, tail))), rel=1e-9
        )
    np.testing.assert_allclose(spread_out.floors(), person.expected(WORLD, SETS).floors())


@quadratic
def test_walks_price_the_average(person):
    expected = person.expected(WORLD, SETS).with_spread(SPREADS["all"])
    walk, tail = expected.walk(ROUNDS, 0.9), (4, 1)
    assert walk.lay(SCHEDULE, tail) == pytest.approx(expected.total(SCHEDULE, 0.9, tail))
    tails = [(4,), (2,), (1, 3), ()]
    assert walk.tails(tails) == pytest.approx(
        [expected.total(SCHEDULE, 0.9, tail) for tail in tails], rel=1e-9
    )
    positions = np.arange(len(SETS))
    for t in range(ROUNDS - 1, -1, -1):
        if expected.exact_prices and t % 3 == 0:
            changed = np.tile(SCHEDULE, (len(SETS), 1))
            changed[:, t] = positions
            costs = [expected.total(each, 0.9, tail) for each in changed]
            assert walk.prices(t, positions) == pytest.approx(costs, rel=1e-9)
        walk.back(t, int(SCHEDULE[t]))
    changed = SCHEDULE.copy()
    changed[:2] = [2, 5]
    walk.lay(SCHEDULE, tail)
    if hasattr(walk, "back_over"):
        walk.back_over(2, SCHEDULE[2:])
    else:
        for t in range(ROUNDS - 1, 1, -1):
            walk.back(t, int(SCHEDULE[t]))
    assert walk.block(0, np.array([2, 5])) == pytest.approx(
        expected.total(changed, 0.9, tail), rel=1e-9
    )


@pytest.mark.parametrize("person", INDIVIDUALS.values(), ids=INDIVIDUALS)
def test_everybody_takes_a_spread(person):
    expected = person.expected(WORLD, SETS)
    assert isinstance(expected, TakesSpread)
    none = expected.with_spread(np.zeros((3, 3)))
    np.testing.assert_allclose(none.losses(SCHEDULE), expected.losses(SCHEDULE), rtol=1e-12)
    first = expected.with_spread(SPREADS["all"]).losses(SCHEDULE[:1])
    people = people_around(person, SPREADS["all"])
    np.testing.assert_allclose(first, average(people, lambda e: e.losses(SCHEDULE[:1])), rtol=1e-9)
