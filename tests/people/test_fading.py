"""Learning that fades: weights that leak back, and Bayesians who think that weights wander."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import preceptor as pr
from tests.people.examples import INITIAL, WORLD

SETS = pr.AtMost(2).sets(3)


def rounds(count=12, seed=4):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        shown = tuple(np.flatnonzero(rng.random(3) < 0.7).tolist())
        yield shown, rng.normal(size=3), float(rng.normal())


@pytest.mark.parametrize("home", [None, [0.5, -1.0, 0.0]])
def test_leaking_weights_step_and_then_go_a_share_of_the_way_home(home):
    acting = pr.DeltaRule(INITIAL, 0.1, 1.0, leak=0.2, home=home).acting(WORLD)
    weights, back = np.array(INITIAL), np.array(INITIAL if home is None else home)
    for shown, x, outcome in rounds():
        seen = np.isin(np.arange(3), shown)
        filled = np.where(seen, x, 0.0)  # hidden tests are taken to be average
        stepped = weights + 0.1 * (outcome - weights @ filled) * filled
        weights = stepped - 0.2 * (stepped - back)
        acting.feedback(shown, x[seen], outcome)
        assert_allclose(acting.weights, weights, rtol=1e-12)


def test_nothing_shown_for_long_leads_home():
    acting = pr.DeltaRule(INITIAL, 0.1, leak=0.1, home=[1.0, 2.0, 3.0]).acting(WORLD)
    for _ in range(300):
        acting.feedback((), np.array([]), 5.0)
    assert_allclose(acting.weights, [1.0, 2.0, 3.0], atol=1e-10)


def test_a_leak_of_nothing_is_no_leak():
    plain, none = pr.DeltaRule(INITIAL, 0.1), pr.DeltaRule(INITIAL, 0.1, leak=0.0)
    assert plain == none
    leaking = pr.DeltaRule(INITIAL, 0.1, leak=1e-12)
    schedule = np.arange(len(SETS))
    assert_allclose(
        leaking.expected(WORLD, SETS).losses(schedule), plain.expected(WORLD, SETS).losses(schedule)
    )


def test_a_bayesian_who_thinks_that_weights_wander_is_a_kalman_filter():
    """Against one normal distribution of all weights of all rounds, conditioned at once."""
    drift, noise, prior = 0.05, 0.4, np.diag([0.5, 0.2, 1.0])
    acting = pr.Bayesian(INITIAL, np.diag(prior), noise, 1.0, drift=drift).acting(WORLD)
    played = list(rounds(6))
    count = len(played)
    together = np.kron(np.ones((count + 1, count + 1)), prior)
    steps = np.minimum.outer(np.arange(count + 1), np.arange(count + 1))
    together += np.kron(steps, drift * np.eye(3))  # a random walk from the prior
    design = np.zeros((count, 3 * (count + 1)))
    outcomes = np.array([outcome for _, _, outcome in played])
    for t, (shown, x, outcome) in enumerate(played):
        seen = np.isin(np.arange(3), shown)
        design[t, 3 * t : 3 * t + 3] = np.where(seen, x, 0.0)
        acting.feedback(shown, x[seen], outcome)
    first = np.tile(INITIAL, count + 1)
    spread = design @ together @ design.T + noise * np.eye(count)
    gain = np.linalg.solve(spread, design @ together).T
    assert_allclose(acting.weights, (first + gain @ (outcomes - design @ first))[-3:], rtol=1e-10)


def test_they_say_so():
    assert "4% of the way" in pr.DeltaRule(INITIAL, 0.1, leak=0.04).learning_in_words()
    assert "drift of weights 0.1" in pr.Bayesian(INITIAL, 1.0, 1.0, drift=0.01).learning_in_words()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: pr.DeltaRule(INITIAL, 0.1, leak=1.5), "leak: 1.5"),
        (lambda: pr.DeltaRule(INITIAL, 0.1, leak=0.1, home=[1.0]), "home: 1 numbers for 3"),
        (lambda: pr.Bayesian(INITIAL, 1.0, 1.0, drift=-1.0), "drift: -1.0"),
    ],
)
def test_what_makes_no_sense_is_named(make, words):
    with pytest.raises(pr.InvalidProblem, match=words):
        make()
