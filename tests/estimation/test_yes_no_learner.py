"""Learners from probabilities and decisions: recovered, with intervals, and what is left open."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import log_ndtr
from sklearn.metrics import r2_score

import preceptor as pr
from preceptor.estimation import fit_learner, fit_world
from preceptor.estimation.learner_answers import Answers
from preceptor.estimation.learner_limits import LimitedFit, fit_limits
from preceptor.estimation.learner_model import FAMILIES, Model
from preceptor.logs import Log
from preceptor.model.links import LINKS

from .test_learner_coverage import slack
from .yes_no_answers import answered, yes_no_world

INITIAL, RATE, DIAL, BIAS, NOISE = np.array([-0.4, 1.5, 0.0]), np.log(1.06), 0.3, 0.2, 0.5
TRUTH = {
    **{f"initial t{i}": float(weight) for i, weight in enumerate(INITIAL)},
    "bias": BIAS,
    "rate": RATE,
    "imputation": DIAL,
    "noise": NOISE,
}


def log_of(rng, *, decided, link="probit", rounds=200, people=3, **how):
    known = {"initial": INITIAL, "dial": DIAL, "bias": BIAS, "noise": NOISE}
    retention = how.pop("retention", lambda m: np.exp(-RATE * m))
    world = how.pop("world", yes_no_world(link=link))
    return answered(world, decided=decided, retention=retention, rng=rng, rounds=rounds,
                    people=people, **{**known, **how})  # fmt: skip


def inside(intervals, name):
    low, high = intervals[name]
    return low <= TRUTH[name] <= high


@pytest.mark.parametrize("link", LINKS)
def test_a_learner_is_found_again_from_probabilities(link):
    log = log_of(np.random.default_rng(1), decided=False, link=link)
    world = yes_no_world(link=link)
    fitted = fit_learner(world, log, families="geometric")
    assert fitted.family_ == "geometric"
    assert_allclose(fitted.initial_, INITIAL, atol=0.35)
    assert_allclose(np.log(fitted.learner_.curves.alpha), RATE, rtol=0.25)
    assert_allclose([fitted.noise_sd_, fitted.bias_], [NOISE, BIAS], atol=0.08)
    predicted = fitted.predict(log)
    assert np.all((predicted > 0.0) & (predicted < 1.0))
    assert r2_score(log.prediction, fitted.predict(log)) > 0.8
    assert not fitted.decided_


@pytest.mark.parametrize("link", LINKS)
def test_a_learner_is_found_again_from_decisions(link):
    log = log_of(np.random.default_rng(2), decided=True, link=link, rounds=250, people=4)
    fitted = fit_learner(yes_no_world(link=link), log, families="geometric", folds=2)
    assert fitted.decided_
    assert fitted.family_ == "geometric"
    assert_allclose(np.log(fitted.learner_.curves.alpha), RATE, rtol=0.5)
    for name, (low, high) in fitted.intervals(0.999).items():
        assert low <= TRUTH[name] <= high, name
    assert any("how large weights and scatter are" in doubt for doubt in fitted.doubts_)


def test_the_likelihood_of_decisions_is_maximised():
    """Against a search over all numbers at once, without the model's machinery."""
    world = yes_no_world(2)
    log = log_of(np.random.default_rng(3), decided=True, rounds=250, people=2, world=world,
                 initial=[-0.4, 1.2], dial=0.0)  # fmt: skip
    answers = Answers.of(world, log)
    model = Model(answers, FAMILIES["geometric"], np.ones(2, bool), np.zeros(2), 0.0, True)
    fit = fit_limits(model)
    filled, signs = answers.imputed(0.0)[0], 2.0 * log.prediction - 1.0

    def minus(at):
        bias, first, rate, log_noise = at[0], at[1:3], at[3], at[4]
        left = np.exp(-rate * answers.counts)
        weights = world.coefficients - (world.coefficients - first) * left
        scores = world.base_score + bias + np.sum(filled * weights, axis=1)
        return -log_ndtr(signs * scores * np.exp(-log_noise)).sum()

    ours = np.array([fit.bias, *fit.initial, *fit.point, np.log(fit.noise_sd)])
    plain = minimize(minus, ours, method="Nelder-Mead",
                     options={"xatol": 1e-5, "fatol": 1e-6, "maxiter": 5_000})  # fmt: skip
    # A weak prior keeps weights finite; it moves them by next to nothing.
    assert_allclose(-fit.log_likelihood, plain.fun, atol=0.05)
    assert_allclose(ours[[0, 3, 4]], plain.x[[0, 3, 4]], atol=0.05)


def test_decisions_of_somebody_who_does_not_learn_tell_weights_over_scatter_only():
    rng = np.random.default_rng(4)
    log = log_of(rng, decided=True, rounds=600, people=2, retention=lambda m: 1.0, bias=0.0)
    fitted = fit_learner(yes_no_world(), log, families="none")
    assert_allclose(fitted.initial_, INITIAL / NOISE, atol=0.5)
    assert fitted.noise_sd_ == 1.0
    assert fitted.intervals_["noise"] == (0.0, np.inf)
    assert any("only weights over scatter can be told" in doubt for doubt in fitted.doubts_)


def test_decisions_without_a_mistake_leave_weights_finite():
    log = log_of(np.random.default_rng(5), decided=True, people=1, noise=0.0, rounds=80)
    fitted = fit_learner(yes_no_world(), log, families="geometric")
    assert np.all(np.isfinite(fitted.initial_))
    assert np.all(np.isfinite(fitted.predict(log)))


def rounded_to_percents(log):
    answers = np.round(log.prediction, 2)
    return Log(log.names, log.participant, log.rounds, log.shown, log.values, answers, log.outcome)


@pytest.mark.parametrize("decided", [False, True])
def test_slopes_of_the_likelihood_are_its_differences(decided):
    world, rng = yes_no_world(2), np.random.default_rng(11)
    log = log_of(rng, decided=decided, rounds=60, people=1, world=world, initial=[-0.4, 1.2])
    answers = Answers.of(world, log if decided else rounded_to_percents(log))
    assert answers.is_limited
    model = Model(answers, FAMILIES["geometric-floor"], np.ones(2, bool), np.zeros(2), None, True)
    at = np.array([0.1, -0.3, 0.9, 0.05, 0.1, 0.3, np.log(0.6)])

    def fit_at(numbers):
        bias, first, point, noise = numbers[0], numbers[1:3], numbers[3:6], np.exp(numbers[6])
        return LimitedFit(model, point, bias, first, noise, 0.0, True)

    def likely(numbers):
        fit = fit_at(numbers)
        away = (answers.limits - model.mean(fit.bias, fit.initial, fit.point)) / fit.noise_sd
        seen = answers.sides == 0.0
        sides = log_ndtr(-answers.sides * away)
        return np.where(seen, -0.5 * away**2 - np.log(fit.noise_sd), sides).sum()

    slopes = fit_at(at).row_scores.sum(axis=0)
    nudges = 1e-6 * np.eye(at.size)
    plain = [(likely(at + nudge) - likely(at - nudge)) / 2e-6 for nudge in nudges]
    assert_allclose(slopes, plain, rtol=1e-4, atol=1e-4)


def test_answers_of_0_and_100_percent_only_say_above_or_below():
    log = log_of(np.random.default_rng(6), decided=False, people=1)
    rounded = rounded_to_percents(log)
    fitted = fit_learner(yes_no_world(), rounded, families="geometric")
    certain = int(np.sum(np.isin(rounded.prediction, (0.0, 1.0))))
    assert certain > 5
    assert any(f"{certain} of 200 answers are 0% or 100%" in doubt for doubt in fitted.doubts_)
    assert_allclose(fitted.noise_sd_, NOISE, atol=0.1)


def test_single_people_are_found_from_rounded_answers_too():
    rng = np.random.default_rng(12)
    firsts = np.array([[-0.4, 1.5, 0.0], [0.6, 0.2, 0.8], [0.0, 1.0, 1.5]])
    log = log_of(rng, decided=False, people=3, rounds=150, initial=lambda person: firsts[person])
    fitted = fit_learner(
        yes_no_world(), rounded_to_percents(log), families="geometric", imputation=DIAL, folds=2
    )
    people = fitted.people_kinds_.values()
    found = np.array([[weight.mean for weight in each.initial] for each in people])
    assert np.corrcoef(found.ravel(), firsts.ravel())[0, 1] > 0.8


def test_a_log_of_numbers_is_refused():
    log = log_of(np.random.default_rng(7), decided=False, people=1, rounds=20)
    wrong = Log(log.names, log.participant, log.rounds, log.shown, log.values,
                log.prediction * 3.0, log.outcome)  # fmt: skip
    with pytest.raises(pr.InvalidInput, match="must be a probability from 0 to 1"):
        fit_learner(yes_no_world(), wrong)


def test_the_summary_and_the_data_speak_of_scores():
    log = log_of(np.random.default_rng(8), decided=False, people=1, rounds=80)
    fitted = fit_learner(yes_no_world(), log, families="geometric", imputation=DIAL)
    assert "Scores scatter by" in fitted.summary()
    assert fitted.cannot_tell_ == ()
    assert fitted.to_dict()["rows"] == 80


@pytest.mark.parametrize("risk", [pr.Brier(), pr.Decision(miss=2, false_alarm=1)])
def test_from_a_table_to_simulated_people_to_a_file_to_a_learner(tmp_path, risk):
    from preceptor.simulation import rollout

    rng = np.random.default_rng(10)
    table = {"age": rng.normal(60, 10, 300), "ward": rng.choice(["a", "b", "c"], 300)}
    score = 0.1 * (table["age"] - 60) + (table["ward"] == "c") + rng.normal(size=300)
    estimate = fit_world(table | {"died": np.where(score > 0.5, "yes", "no")}, "died")
    world = estimate.world
    person = pr.Learner(np.zeros(world.size), pr.Geometric(1.1))
    problem = pr.Problem(world, person, 2, horizon=60, risk=risk)
    ann = person.acting(world, response_noise=0.3, risk=risk)
    everything = pr.Stationary(tuple(range(world.size)))
    rollout(problem, everything, 60, people=4, rng=1, human=ann).log.write(tmp_path / "log.csv")
    log = Log.read(tmp_path / "log.csv", world)
    assert log.decided == risk.decides
    fitted = fit_learner(estimate, log, families="geometric", imputation=0.0, folds=2)
    assert r2_score(log.prediction, fitted.predict(log)) > 0.3


@pytest.mark.slow
@pytest.mark.parametrize("answers", ["exact", "percents", "decided"])
@pytest.mark.parametrize("link", LINKS)
def test_intervals_hold_the_truth_about_as_often_as_they_say(link, answers):
    decided = answers == "decided"
    rng, times = np.random.default_rng(9), 150 if answers == "exact" else 60
    world, found = yes_no_world(link=link), dict.fromkeys(TRUTH, 0)
    for _ in range(times):
        log = log_of(rng, decided=decided, rounds=250, people=4 if decided else 1, link=link)
        log = rounded_to_percents(log) if answers == "percents" else log
        fitted = fit_learner(world, log, families="geometric")
        if fitted.family_ == "none":  # hardly ever; then there is nothing to hold
            continue
        for name in TRUTH:
            found[name] += inside(fitted.intervals_, name)
    rates = {name: number / times for name, number in found.items()}
    # First weights show only in the first few rounds, and decisions say little about them.
    least = 0.95 - slack(times) - (0.04 if decided else 0.01)
    assert min(rates.values()) > least, rates
