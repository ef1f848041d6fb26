"""Learning rules against loops written down from the formulas, and against each other at the ends
of their dials.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import preceptor as pr
from tests.people.examples import INITIAL, OWN_COVARIANCE, WORLD

SETS = [(0, 1), (2,), (), (0, 1, 2), (1, 2), (0,)] * 3
CASES = WORLD.sample(len(SETS), 7)
TRUTH, SIGMA = WORLD.coefficients, WORLD.covariance
FIRST = TRUTH - INITIAL
ALPHAS = np.array([1.2, 1.5, 1.05])
CURVES = [pr.Geometric(alpha) for alpha in ALPHAS]


def weights_after(person, sets=SETS, start=None):
    acting = person.acting(WORLD, start)
    for shown, x, y in zip(sets, *CASES, strict=False):
        acting.feedback(shown, x[list(shown)], y)
    return acting.weights


def errors_along(step, sets=SETS):
    """Errors after a loop over sets, for a rule step(errors, shown) -> errors."""
    errors = FIRST.copy()
    for shown in sets:
        errors = step(errors, list(shown))
    return errors


def test_who_does_not_learn_keeps_every_bit():
    assert_array_equal(weights_after(pr.NoLearning(INITIAL, 0.5)), INITIAL)


@pytest.mark.parametrize("drift", [0.0, 0.1, 1.0])
def test_hidden_weights_drift_back_to_the_first_beliefs(drift):
    def step(errors, shown):
        after = (1.0 - drift) * errors + drift * FIRST
        after[shown] = errors[shown] / ALPHAS[shown]
        return after

    person = pr.Drifting(INITIAL, CURVES, drift)
    assert_allclose(TRUTH - weights_after(person), errors_along(step), atol=1e-13)


@pytest.mark.parametrize("indirect", [0.0, 0.4, 1.0])
def test_hidden_weights_learn_as_far_as_they_are_told(indirect):
    def step(errors, shown):
        after = errors.copy()
        for i in range(3):
            if i in shown:
                after[i] = errors[i] / ALPHAS[i]
            elif shown:
                inverse = np.linalg.inv(SIGMA[np.ix_(shown, shown)])
                told = SIGMA[i, shown] @ inverse @ SIGMA[shown, i] / SIGMA[i, i]
                after[i] = errors[i] * ALPHAS[i] ** (-indirect * told)
        return after

    person = pr.Indirect(INITIAL, CURVES, indirect, 1.0)
    assert_allclose(TRUTH - weights_after(person), errors_along(step), atol=1e-13)


def test_who_learns_in_one_showing_is_told_nothing_by_independent_tests():
    world = pr.World([1.0, 1.0, 1.0], [[1.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 1.0]])
    acting = pr.Indirect([0.0, 0.0, 0.0], pr.OneShot(), 1.0).acting(world)
    acting.feedback((0,), np.ones(1), 1.0)
    assert_array_equal(acting.weights, [1.0, 1.0, 0.0])


@pytest.mark.parametrize("imputation", [0.0, 1.0, 0.3, OWN_COVARIANCE], ids=str)
@pytest.mark.parametrize("folding", [0.0, 0.5, 1.0])
def test_folding_is_the_step_on_errors_and_one(folding, imputation):
    person = pr.Folding(INITIAL, CURVES, folding, imputation)
    omega = person.imputing_covariance(WORLD)

    def step(errors, shown):
        if not shown:
            return errors
        fill = np.linalg.inv(omega[np.ix_(shown, shown)]) @ omega[shown]
        slopes = np.linalg.inv(SIGMA[np.ix_(shown, shown)]) @ SIGMA[shown] @ TRUTH
        project = np.column_stack([fill, slopes - fill @ TRUTH])  # on errors and 1
        pick = np.eye(3, 4)[shown]
        gain = (1.0 - 1.0 / ALPHAS[shown])[:, None] * ((1 - folding) * pick + folding * project)
        after = errors.copy()
        after[shown] -= gain @ [*errors, 1.0]
        return after

    assert_allclose(TRUTH - weights_after(person), errors_along(step), atol=1e-12)


def test_full_folding_leads_to_the_regression_on_what_is_shown():
    person = pr.Folding([0.0, 0.0, 0.0], pr.OneShot(), 1.0)
    sample = WORLD.sample(200_000, 3)
    shown = sample.features[:, [0, 2]]
    slopes = np.linalg.lstsq(shown, sample.outcomes)[0]
    residual = sample.outcomes - shown @ slopes
    errors = np.sqrt(np.diag(np.linalg.inv(shown.T @ shown)) * residual.var())
    found = weights_after(person, [(0, 2)])
    assert np.all(np.abs(found[[0, 2]] - slopes) < 4 * errors)
    assert found[1] == 0.0


def test_full_folding_is_where_the_delta_rule_leads_on_average():
    """Both have the fixed point of the normal equations of each set, and hidden weights stay."""
    folds = weights_after(pr.Folding(INITIAL, pr.Geometric(2.0), 1.0), [(1,)] * 18)
    people, rate = 4000, 0.02
    rule = pr.DeltaRule(INITIAL, rate)
    state = rule.fresh(WORLD, (people,), None)
    shown = np.broadcast_to([False, True, False], (people, 3))
    rng = np.random.default_rng(5)
    for _ in range(200):
        cases = WORLD.sample(people, rng)
        filled = cases.features[:, [1]] * (SIGMA[1] / SIGMA[1, 1])
        state = rule.learn(WORLD, state, filled, shown, cases.outcomes)
    weights = rule.weights_of(WORLD, state)
    error = weights[:, 1].std() / np.sqrt(people)
    left = (1 - rate * SIGMA[1, 1]) ** 200 * abs(folds[1] - INITIAL[1])
    assert abs(weights[:, 1].mean() - folds[1]) < 4 * error + left + 1e-4
    assert_array_equal(weights[0, [0, 2]], folds[[0, 2]])


def test_dials_at_zero_are_the_papers_learner():
    paper = weights_after(pr.Learner(INITIAL, CURVES))
    for person in (
        pr.Forgetful(INITIAL, CURVES, 0.0),
        pr.Drifting(INITIAL, CURVES, 0.0),
        pr.Indirect(INITIAL, CURVES, 0.0),
        pr.Folding(INITIAL, CURVES, 0.0),
    ):
        assert_allclose(weights_after(person), paper, atol=1e-13)


def test_a_weight_that_is_sure_never_moves():
    weights = weights_after(pr.Bayesian(INITIAL, [1.0, 0.0, 1.0], 0.5))
    assert weights[1] == INITIAL[1]
    assert np.all(weights[[0, 2]] != np.array(INITIAL)[[0, 2]])


def test_one_showing_is_forgotten_with_the_first_round_without():
    person = pr.Forgetful(INITIAL, pr.OneShot(), 0.01).acting(WORLD)
    person.feedback((0,), np.ones(1), 1.0)
    assert person.weights[0] == TRUTH[0]
    person.feedback((1,), np.ones(1), 1.0)
    assert person.weights[0] == pytest.approx(INITIAL[0])
