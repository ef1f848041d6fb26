"""Each kind of person against an independent implementation of what they are said to do."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import BayesianRidge, SGDRegressor

import preceptor as pr
from preceptor.simulation.checking import check_human
from preceptor.simulation.choosing import most_predictive
from preceptor.simulation.named import (
    PERSON_NAMES,
    human_named,
    humans_of,
    matched_rate,
    people_of,
)
from tests.oracles import beliefs_at
from tests.strategies import covariance

RNG = np.random.default_rng(0)
WORLD = pr.World([1.0, 0.8, -0.5], covariance(RNG, 3), 0.2)
BELIEFS = np.array([0.2, 1.3, 0.4])
PROBLEM = pr.Problem(WORLD, pr.Learner(BELIEFS, pr.Geometric(1.1)), 2, start=[0, 2, 1])
START = PROBLEM.start
SETS = [(0, 1), (2,), (), (0, 1, 2), (1, 2), (0,)] * 6
CASES = WORLD.sample(len(SETS), 1)


def paper(response_noise=0.0):
    return PROBLEM.learner.acting(WORLD, START, response_noise)


def forgetful(forgetting, start=START):
    return pr.Forgetful(BELIEFS, pr.Geometric(1.1), forgetting).acting(WORLD, start)


def play(human, sets=SETS):
    answers = []
    for shown, x, y in zip(sets, *CASES, strict=False):
        values = x[list(shown)]
        answers.append(human.predict(shown, values))
        human.feedback(shown, values, y)
    return np.array(answers)


def filled_in(x, shown, omega=WORLD.covariance):
    """Conditional means by a dense inverse."""
    s = list(shown)
    return omega[:, s] @ np.linalg.inv(omega[np.ix_(s, s)]) @ x[s] if s else np.zeros(x.size)


def test_paper_learner_follows_the_curve():
    counts, expected = list(PROBLEM.start_counts), []
    for shown, x in zip(SETS, CASES.features, strict=True):
        expected.append(beliefs_at(PROBLEM, counts) @ filled_in(x, shown))
        for i in shown:
            counts[i] += 1
    person = paper()
    assert_allclose(play(person), expected, atol=1e-12)
    assert_allclose(person.weights, beliefs_at(PROBLEM, counts), atol=1e-12)


def test_ignoring_correlation_takes_hidden_tests_to_be_average():
    person = people_of(PROBLEM)["ignores correlation"].acting(WORLD, START)
    assert person.predict((1,), np.array([2.0])) == pytest.approx(2.0 * person.weights[1])
    assert_array_equal(person.weights, paper().weights)


@pytest.mark.parametrize("fills", [1.0, 0.3])
@pytest.mark.parametrize(
    "name", [each for each in PERSON_NAMES if each not in ("crowd", "ignores")]
)
def test_people_by_name_fill_in_hidden_tests_as_the_person_they_resemble(name, fills):
    """Also where that person does not learn by showings; nobody has learned anything yet."""
    omega = (1.0 - fills) * WORLD.covariance + fills * np.diag(np.diag(WORLD.covariance))
    expected = BELIEFS @ filled_in(np.array([0.0, 2.0, 0.0]), (1,), omega)
    for like in (pr.Learner(BELIEFS, pr.Geometric(1.1), fills), pr.DeltaRule(BELIEFS, 0.05, fills)):
        human = human_named(pr.Problem(WORLD, like, 2), name)
        assert human.predict((1,), np.array([2.0])) == pytest.approx(expected)


def test_slips_come_from_the_rng_and_are_not_learned_from():
    noisy, sure = paper(response_noise=0.3), paper()
    noisy.reset(5)
    slips = 0.3 * np.random.default_rng(5).standard_normal(len(SETS))
    assert_allclose(play(noisy) - play(sure), slips, atol=1e-12)
    assert_array_equal(noisy.weights, sure.weights)


def test_nobody_forgets_at_rate_zero():
    assert_array_equal(play(forgetful(0.0)), play(paper()))


def test_exposure_fades_by_its_rate():
    person = forgetful(0.1, start=None)
    for shown in [(0,)] * 4 + [(1,)] * 3:
        person.feedback(shown, np.ones(1), 0.0)
    left = np.array([4 * 0.9**3, 3.0, 0.0])
    assert_allclose(WORLD.coefficients - person.weights, (A - BELIEFS) * 1.1**-left)


A = WORLD.coefficients


@pytest.mark.parametrize("imputation", [0.0, 1.0])
@pytest.mark.parametrize("all_weights", [False, True])
def test_the_delta_rule_is_three_lines(imputation, all_weights):
    omega = WORLD.covariance if imputation == 0 else np.diag(np.diag(WORLD.covariance))
    h, expected = BELIEFS.copy(), []
    for shown, x, y in zip(SETS, *CASES, strict=True):
        guess = filled_in(x, shown, omega)
        expected.append(h @ guess)
        moves = guess if all_weights else guess * [i in shown for i in range(3)]
        h = h + 0.05 * (y - h @ guess) * moves
    person = pr.DeltaRule(BELIEFS, 0.05, imputation, all_weights).acting(WORLD)
    assert_allclose(play(person), expected, atol=1e-12)
    assert_allclose(person.weights, h, atol=1e-12)


def test_bayesian_is_the_closed_form_posterior():
    person = pr.Bayesian(BELIEFS, [0.5, 1.0, 2.0], noise_variance=0.4).acting(WORLD)
    play(person)
    x = np.array([filled_in(x, s) for s, x in zip(SETS, CASES.features, strict=True)])
    precision = np.diag([2.0, 1.0, 0.5]) + x.T @ x / 0.4
    mean = np.linalg.solve(
        precision, np.diag([2.0, 1.0, 0.5]) @ BELIEFS + x.T @ CASES.outcomes / 0.4
    )
    assert_allclose(person.weights, mean, rtol=1e-9)
    assert_allclose(person._state.covariance, np.linalg.inv(precision), rtol=1e-9)


def test_bayesian_is_bayesian_ridge_with_its_scales_held():
    hold = 1e12  # priors of the scales so sharp that data do not move them
    noise, prior = 0.4, 0.7
    ridge = BayesianRidge(
        fit_intercept=False,
        alpha_1=hold / noise, alpha_2=hold, lambda_1=hold / prior, lambda_2=hold,
        alpha_init=1 / noise, lambda_init=1 / prior,
    )  # fmt: skip
    ridge.fit(CASES.features, CASES.outcomes)
    person = pr.Bayesian(np.zeros(3), prior, noise).acting(WORLD)
    play(person, [(0, 1, 2)] * len(SETS))
    assert_allclose(person.weights, ridge.coef_, rtol=1e-6)
    assert_allclose(person._state.covariance, ridge.sigma_, rtol=1e-6)


def test_the_delta_rule_is_plain_stochastic_gradient_descent():
    plain = SGDRegressor(penalty=None, learning_rate="constant", eta0=0.05, fit_intercept=False)
    expected = []
    for shown, x, y in zip(SETS, *CASES, strict=True):
        row = np.where([i in shown for i in range(3)], x, 0.0)[None, :]
        expected.append(plain.predict(row)[0] if expected else 0.0)
        plain.partial_fit(row, [y])
    delta = pr.DeltaRule(np.zeros(3), 0.05, imputation=1.0).acting(WORLD)
    assert_allclose(play(delta), expected, atol=1e-12)


def test_everybody_starts_with_the_same_beliefs():
    shown, values = (0, 1, 2), CASES.features[0]
    answers = {name: h.predict(shown, values) for name, h in humans_of(PROBLEM).items()}
    assert len(answers) == 5
    start = PROBLEM.learner.beliefs(WORLD, PROBLEM.start_counts)
    assert_allclose(list(answers.values()), start @ values)


@pytest.mark.parametrize("name", list(humans_of(PROBLEM)))
def test_everybody_keeps_to_the_protocol(name):
    check_human(lambda: humans_of(PROBLEM)[name], WORLD)
    check_human(lambda: paper(response_noise=1.0), WORLD, rng=4)


def test_the_matched_rate_teaches_what_the_curve_says():
    one = pr.Problem(pr.World([1.0], [[2.0]]), pr.Learner([0.0], pr.Geometric(1.1)), 1)
    rng = np.random.default_rng(2)
    person = pr.DeltaRule([0.0], matched_rate(one)).acting(one.world)
    left = []
    for x, y in zip(*one.world.sample(5000, rng), strict=True):
        person.reset(0)
        person.feedback((0,), x, y)
        left.append(1.0 - person.weights[0])
    error = np.std(left) / np.sqrt(len(left))
    assert abs(np.mean(left) - 1 / 1.1) < 3.5 * error


def test_the_matched_rate_is_never_one_that_diverges():
    one = pr.Problem(WORLD, pr.Learner(BELIEFS, pr.OneShot()), 2)
    largest = np.sort(np.diag(WORLD.covariance))[-2:].sum()
    assert matched_rate(one) == pytest.approx(1 / (3 * largest))


def test_most_predictive_is_what_a_perfect_reader_would_pick():
    def left(shown):
        s = list(shown)
        explained = np.linalg.lstsq(WORLD.covariance[np.ix_(s, s)], (WORLD.covariance @ A)[s])[0]
        return WORLD.outcome_variance - (WORLD.covariance @ A)[s] @ explained

    priced = PROBLEM.replace(budget=pr.AtMost(2, price=100.0), risk=pr.Huber(1.0))
    assert most_predictive(priced).shown == min(list(PROBLEM.sets)[1:], key=left)


@pytest.mark.parametrize(
    ("make", "names"),
    [
        (lambda: pr.Learner([1.0], pr.OneShot()).acting(WORLD, [1]), ["learner", "start"]),
        (lambda: paper(response_noise=-1.0), ["response_noise"]),
        (lambda: pr.DeltaRule(BELIEFS, 0.1).acting(WORLD, [1, 0, 0]), ["start"]),
    ],
)
def test_every_bad_setting_is_named(make, names):
    with pytest.raises(pr.InvalidProblem) as caught:
        make()
    assert [fault.split(":")[0] for fault in caught.value.faults] == names
