"""Learners from probabilities and decisions: recovered, with intervals, and what is left open."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import preceptor as pr
from preceptor.data.log import Log
from preceptor.data.world_fitting import fit_world
from preceptor.learners.learner_estimator import fit_learner
from preceptor.model.outcomes import LINKS

from .yes_no_answers import answered, yes_no_world

INITIAL, RATE, DIAL, BIAS, NOISE = np.array([-0.4, 1.5, 0.0]), np.log(1.06), 0.3, 0.2, 0.5
FEW = {"families": ["none", "geometric", "delta rule"], "imputation": DIAL}


def log_of(rng, *, decided, link="probit", rounds=200, people=3, **how):
    known = {"initial": INITIAL, "dial": DIAL, "bias": BIAS, "noise": NOISE}
    retention = how.pop("retention", lambda m: np.exp(-RATE * m))
    world = how.pop("world", yes_no_world(link=link))
    return answered(world, decided=decided, retention=retention, rng=rng, rounds=rounds,
                    people=people, **{**known, **how})  # fmt: skip


@pytest.mark.few(1)
@pytest.mark.parametrize("link", LINKS)
def test_a_learner_is_found_again_from_probabilities(link):
    log = log_of(np.random.default_rng(1), decided=False, link=link)
    fitted = fit_learner(yes_no_world(link=link), log, **FEW)
    for each in fitted.people_kinds_.values():
        assert each.families["geometric"] > 0.95
        alpha = each.person("geometric", DIAL).curves.alpha
        assert_allclose(np.log(alpha), RATE, rtol=0.35)
    assert_allclose([each.mean for each in fitted.initial_], INITIAL, atol=0.35)
    assert_allclose([fitted.scatter_.mean, fitted.bias_.mean], [NOISE, BIAS], atol=0.08)
    assert not fitted.decided_


@pytest.mark.full
@pytest.mark.parametrize("link", LINKS)
def test_a_learner_is_found_again_from_decisions(link):
    log = log_of(np.random.default_rng(2), decided=True, link=link, rounds=250, people=4)
    fitted = fit_learner(yes_no_world(link=link), log, **FEW)
    assert fitted.decided_
    groups = fitted.kinds_.groups
    assert max(groups, key=lambda name: groups[name].mean) == "by showings"
    for (_, low, high), truth in zip(fitted.initial_, INITIAL, strict=True):
        assert low - 0.2 < truth < high + 0.2
    assert any("identify weights relative to the scatter" in doubt for doubt in fitted.doubts_)


def test_decisions_without_a_mistake_leave_weights_finite():
    log = log_of(np.random.default_rng(5), decided=True, people=1, noise=0.0, rounds=80)
    fitted = fit_learner(yes_no_world(), log, **FEW)
    assert np.all(np.isfinite(fitted.initial_))


def rounded_to_percents(log):
    answers = np.round(log.prediction, 2)
    return Log(log.names, log.participant, log.rounds, log.shown, log.values, answers, log.outcome)


def test_answers_of_0_and_100_percent_are_counted():
    log = log_of(np.random.default_rng(6), decided=False, people=1)
    rounded = rounded_to_percents(log)
    fitted = fit_learner(yes_no_world(), rounded, **FEW)
    certain = int(np.sum(np.isin(rounded.prediction, (0.0, 1.0))))
    assert certain > 5
    assert any(f"{certain} of 200 answers are 0% or 100%" in doubt for doubt in fitted.doubts_)


def test_single_people_are_found_from_rounded_answers_too():
    rng = np.random.default_rng(12)
    firsts = np.array([[-0.4, 1.5, 0.0], [0.6, 0.2, 0.8], [0.0, 1.0, 1.5]])
    log = log_of(rng, decided=False, people=3, rounds=150, initial=lambda person: firsts[person])
    fitted = fit_learner(
        yes_no_world(), rounded_to_percents(log), families="geometric", imputation=DIAL
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
    from preceptor.simulation.rollouts import rollout

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
    fitted = fit_learner(estimate, log, families="geometric", imputation=0.0)
    assert fitted.person_ is not None or fitted.refusal_
    assert fitted.decided_ == risk.decides
