"""A learner from a log: recovery of known people, what a log cannot tell, and bad input."""

from __future__ import annotations

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose

import preceptor as pr
from preceptor.errors import InvalidInput
from preceptor.estimation import fit_learner
from preceptor.estimation.learner_answers import Answers
from preceptor.estimation.learner_comparison import folds_of
from preceptor.logs import Log
from preceptor.model.units import Units

from .answering import simulate, told_in, world_of

WORLD = world_of(3)
INITIAL = [-0.5, 2.0, 0.0]
CURVES = {
    "none": lambda m: 1.0,
    "geometric": lambda m: 1.08**-m,
    "power-law": lambda m: (m + 1.0) ** -0.5,
    "geometric-floor": lambda m: max(1.15**-m, 0.3),
    "power-law-floor": lambda m: max((m + 1.0) ** -0.7, 0.25),
}


def fitted(log, **options):
    return fit_learner(WORLD, log, **options)


def doubts(fit) -> str:
    return " ".join(fit.doubts_)


@pytest.mark.parametrize("name", CURVES)
def test_known_people_are_recovered(name):
    rng = np.random.default_rng(7)
    log = simulate(
        *(WORLD,),
        initial=INITIAL,
        retention=CURVES[name],
        rng=rng,
        people=8,
        rounds=120,
        dial=0.35,
        bias=0.4,
    )
    fit = fitted(log, imputation=0.35)
    scores = {score.family: score.aic for score in fit.comparison_}
    # The true family need not win by a hair, but nothing may beat it clearly.
    assert scores[name] <= min(scores.values()) + 2.0
    fit = fitted(log, families=name)
    assert fit.family_ == name
    names = fit.fit_.model.names
    errors = dict(zip(names, fit.uncertainty_.standard_errors, strict=True))
    truth = dict(zip([f"initial {t}" for t in WORLD.labels], INITIAL, strict=True))
    truth |= {"bias": 0.4, "imputation": 0.35}
    linear = np.append(fit.bias_, fit.initial_)
    found = dict(zip(names, [*linear, *fit.fit_.point], strict=True))
    for parameter, value in truth.items():
        assert abs(found[parameter] - value) < 4 * errors[parameter], parameter
    counts = np.arange(100)
    truly = [CURVES[name](m) for m in counts]
    assert_allclose(fit.curve_.retention(counts), truly, atol=0.08)
    low, high = fit.intervals_["noise"]
    assert low < 0.3 < high


def test_the_learner_is_ready_for_planning():
    log = simulate(
        WORLD, initial=INITIAL, retention=CURVES["geometric"], rng=np.random.default_rng(1)
    )
    learner = fitted(log, families="geometric").learner_
    assert isinstance(learner, pr.Learner)
    assert pr.solve(pr.Problem(WORLD, learner, budget=1, discount=0.9)).value > 0


def test_without_learning_it_is_ordinary_least_squares():
    linear_model = pytest.importorskip("sklearn.linear_model")
    rng = np.random.default_rng(3)
    log = simulate(
        WORLD,
        initial=INITIAL,
        retention=CURVES["none"],
        rng=rng,
        rounds=150,
        shows=lambda rng: np.arange(3),
    )
    fit = fitted(log, families="none")
    theirs = linear_model.LinearRegression().fit(log.values, log.prediction)
    assert_allclose(fit.initial_, theirs.coef_, rtol=1e-9)
    assert_allclose(fit.bias_, theirs.intercept_, rtol=1e-9)
    assert_allclose(fit.predict(log), theirs.predict(log.values), rtol=1e-9)
    design = np.column_stack([np.ones(150), log.values])
    residuals = log.prediction - theirs.predict(log.values)
    variance = residuals @ residuals / (150 - 4) * np.linalg.inv(design.T @ design)
    assert_allclose(fit.uncertainty_.covariance, variance, rtol=1e-9)
    from scipy.stats import t

    reach = t.ppf(0.975, 146) * np.sqrt(variance[1, 1])
    assert_allclose(fit.intervals_["initial t0"], theirs.coef_[0] + np.array([-reach, reach]))


def test_held_out_errors_leave_out_whole_people():
    linear_model = pytest.importorskip("sklearn.linear_model")
    log = simulate(
        WORLD,
        initial=lambda p: [p, 0.0, 1.0],
        retention=CURVES["none"],
        rng=np.random.default_rng(5),
        people=4,
        rounds=20,
        shows=lambda rng: np.arange(3),
    )
    fit = fitted(log, families="none", folds=4)
    squares, means = [], []
    for person in log.participants:
        away = log.participant == person
        model = linear_model.LinearRegression().fit(log.values[~away], log.prediction[~away])
        squares.append((log.prediction[away] - model.predict(log.values[away])) ** 2)
        means.append((log.prediction[away] - log.prediction[~away].mean()) ** 2)
    assert_allclose(fit.comparison_[0].held_out, np.sqrt(np.mean(squares)), rtol=1e-9)
    assert_allclose(fit.baselines_["constant"], np.sqrt(np.mean(means)), rtol=1e-9)
    assert_allclose(fit.baselines_["default"], np.sqrt(np.mean(log.prediction**2)), rtol=1e-9)


def test_of_one_person_the_last_rounds_are_left_out():
    log = simulate(WORLD, initial=INITIAL, retention=CURVES["none"], rng=np.random.default_rng(2))
    [away] = folds_of(Answers.of(WORLD, log), 5, np.random.default_rng(0))
    assert away.tolist() == [False] * 75 + [True] * 25


def test_answers_without_noise_are_taken_as_they_are():
    rng = np.random.default_rng(1)
    log = simulate(
        WORLD,
        initial=INITIAL,
        retention=CURVES["geometric"],
        rng=rng,
        people=3,
        rounds=30,
        noise=0.0,
    )
    fit = fitted(log)
    assert fit.family_ == "geometric"
    assert_allclose(fit.initial_, INITIAL, atol=1e-5)
    assert "weighted sum" not in doubts(fit)


def test_units_do_not_matter():
    units = Units([10.0, -3.0, 100.0], [2.0, 0.5, 7.0], outcome_mean=50.0)
    in_units = pr.World(WORLD.coefficients, WORLD.covariance, 0.1, WORLD.names, units=units)
    log = simulate(
        WORLD, initial=INITIAL, retention=CURVES["geometric"], rng=np.random.default_rng(1)
    )
    told = told_in(units, log)
    plain, read = (
        fit_learner(*given, families="geometric") for given in ((WORLD, log), (in_units, told))
    )
    assert_allclose(read.initial_, plain.initial_, rtol=1e-6)
    assert_allclose(read.predict(told), plain.predict(log) + 50.0, rtol=1e-6)


def test_a_test_never_shown_keeps_the_default():
    log = simulate(
        WORLD,
        initial=INITIAL,
        retention=CURVES["geometric"],
        rng=np.random.default_rng(1),
        shows=lambda rng: np.array([0, 1]),
    )
    fit = fitted(log, default=[0.0, 0.0, 0.7])
    assert fit.initial_[2] == 0.7
    assert "t2: never shown" in doubts(fit)
    assert "unknown" in fit.summary()
    assert "initial t2" not in fit.intervals_


def test_coefficients_that_rows_leave_open_are_named():
    """Two tests whose results are always the same number cannot be told apart."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(60, 1)) * [1.0, 1.0, 0.0] + rng.normal(size=(60, 1)) * [0.0, 0.0, 1.0]
    answers = x @ [1.0, 0.0, 0.5] + 0.1 * rng.normal(size=60)
    log = Log(WORLD.labels, ["a"] * 60, range(60), np.ones((60, 3), bool), x, answers)
    fit = fitted(log)
    assert "initial t0 and initial t1: not determined" in doubts(fit)
    assert_allclose(fit.initial_[:2], [0.5, 0.5], atol=0.1)  # the nearest to zero of all that fit
    assert np.isinf(fit.intervals_["initial t0"]).all()
    assert np.isfinite(fit.intervals_["initial t2"]).all()


def test_without_feedback_learning_cannot_be_told():
    log = simulate(
        WORLD, initial=INITIAL, retention=CURVES["none"], rng=np.random.default_rng(1), told=False
    )
    fit = fitted(log)
    assert fit.family_ == "none"
    assert "nobody was told an outcome and then asked again" in doubts(fit)


def test_no_learning_is_called_that():
    log = simulate(
        WORLD, initial=INITIAL, retention=CURVES["none"], rng=np.random.default_rng(4), people=3
    )
    fit = fitted(log)
    assert "Learning cannot be told from none" in doubts(fit)
    learned = simulate(
        WORLD,
        initial=INITIAL,
        retention=CURVES["geometric"],
        rng=np.random.default_rng(4),
        people=3,
    )
    assert "cannot be told from none" not in doubts(fitted(learned, families="geometric"))


def test_nothing_hidden_says_nothing_about_imputation():
    log = simulate(
        WORLD,
        initial=INITIAL,
        retention=CURVES["geometric"],
        rng=np.random.default_rng(1),
        shows=lambda rng: np.arange(3),
    )
    fit = fitted(log)
    assert "fill in hidden tests cannot be told: nothing was ever hidden" in doubts(fit)
    assert fit.imputation_ == 0.0
    assert "imputation" not in fitted(log, imputation=0.5).doubts_


def test_noise_alone_is_no_better_than_the_default():
    rng = np.random.default_rng(8)
    log = simulate(
        WORLD, initial=[0.0] * 3, retention=CURVES["none"], rng=rng, noise=5.0, rounds=30
    )
    assert fitted(log).refusal_
    good = simulate(WORLD, initial=INITIAL, retention=CURVES["geometric"], rng=rng)
    assert not fitted(good).refusal_


def test_a_bias_is_reported_and_can_be_ruled_out():
    log = simulate(
        WORLD,
        initial=INITIAL,
        retention=CURVES["geometric"],
        rng=np.random.default_rng(1),
        bias=2.0,
    )
    assert "Answers are off by +1.98" in doubts(fitted(log, families="geometric"))
    assert fitted(log, families="geometric", biased=False).bias_ == 0.0


def test_products_of_tests_are_noticed():
    log = simulate(
        WORLD,
        initial=INITIAL,
        retention=CURVES["geometric"],
        rng=np.random.default_rng(1),
        shows=lambda rng: np.arange(3),
        rounds=300,
    )
    assert "not just a weighted sum" not in doubts(fitted(log, families="geometric"))
    curved = log.prediction + 0.5 * log.values[:, 0] * log.values[:, 1]
    fields = (log.participant, log.rounds, log.shown, log.values, curved, log.outcome)
    assert "not just a weighted sum" in doubts(
        fitted(Log(log.names, *fields), families="geometric")
    )


def test_profiles_agree_with_curvature_where_there_is_plenty_of_data():
    log = simulate(
        WORLD,
        initial=INITIAL,
        retention=CURVES["geometric"],
        rng=np.random.default_rng(1),
        people=4,
        rounds=200,
        dial=0.5,
    )
    fit = fitted(log, families="geometric")
    errors = dict(zip(fit.fit_.model.names, fit.uncertainty_.standard_errors, strict=True))
    for i, name in enumerate(("rate", "imputation")):
        low, high = fit.intervals_[name]
        assert_allclose((high - low) / 2, 1.96 * errors[name], rtol=0.05)
        assert low < fit.fit_.point[i] < high
    narrow = fit.intervals(0.5)
    assert all(narrow[k][1] - narrow[k][0] < v[1] - v[0] for k, v in fit.intervals_.items())


def test_intervals_stop_at_the_bounds_of_a_parameter():
    log = simulate(
        WORLD, initial=INITIAL, retention=CURVES["geometric"], rng=np.random.default_rng(1)
    )
    low, high = fitted(log, families="geometric").intervals_["imputation"]
    assert low == 0.0
    assert 0.0 < high < 1.0


def test_people_who_differ_widen_intervals():
    rng = np.random.default_rng(6)
    different = rng.normal(size=(16, 3))
    log = simulate(
        WORLD,
        initial=lambda p: different[p],
        retention=CURVES["none"],
        rng=rng,
        people=16,
        rounds=30,
        shows=lambda rng: np.arange(3),
    )
    fit = fitted(log, families="none")
    assert fit.uncertainty_.clustered
    design = np.column_stack([np.ones(len(log)), log.values])
    residuals = log.prediction - fit.predict(log)
    scores = [
        design[log.participant == p].T @ residuals[log.participant == p] for p in log.participants
    ]
    inverse = np.linalg.inv(design.T @ design)
    meat = sum(np.outer(s, s) for s in scores)
    wanted = inverse @ meat @ inverse * 16 / 15 * (len(log) - 1) / (len(log) - 4)
    assert_allclose(fit.uncertainty_.covariance, wanted, rtol=1e-9)
    se = fit.uncertainty_.standard_errors[1:]
    assert np.all(se > 2 * fit.noise_sd_ / np.sqrt(len(log)))


def test_results_can_be_written_and_read_in_words():
    log = simulate(
        WORLD,
        initial=INITIAL,
        retention=CURVES["geometric"],
        rng=np.random.default_rng(1),
        people=2,
    )
    fit = fitted(log)
    data = json.loads(json.dumps(fit.to_dict(), allow_nan=False))
    assert pr.Learner.from_dict(data["learner"]) == fit.learner_
    text = fit.summary()
    for words in ("200 answers of 2 participants", "halves every", "chosen", "doubtful"):
        assert words in text
    assert "fitted to 200 rows: geometric" in repr(fit)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"families": ["cubic"]}, "'cubic' is not known"),
        ({"imputation": 2.0}, "imputation: 2.0, must be from 0 to 1"),
        ({"default": [1.0]}, r"default: shape \(1,\), must be one belief"),
        ({"folds": 1}, "folds: 1"),
    ],
)
def test_options_that_cannot_be_meant(options, message):
    log = simulate(WORLD, initial=INITIAL, retention=CURVES["none"], rng=np.random.default_rng(1))
    with pytest.raises(InvalidInput, match=message):
        fitted(log, **options)


def test_logs_that_cannot_be_used():
    log = simulate(
        WORLD, initial=INITIAL, retention=CURVES["none"], rng=np.random.default_rng(1), rounds=3
    )
    with pytest.raises(InvalidInput, match="3 rows cannot tell 5 numbers apart"):
        fitted(log)
    other = world_of(2)
    with pytest.raises(
        InvalidInput, match="its tests are t0, t1, t2, those of the world are t0, t1"
    ):
        fit_learner(other, log)
    long = simulate(WORLD, initial=INITIAL, retention=CURVES["none"], rng=np.random.default_rng(1))
    with pytest.raises(InvalidInput, match="level: 95"):
        fitted(long, families="none").intervals(95)
