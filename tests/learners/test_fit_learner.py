"""`fit_learner` says which kind of person a log shows."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import preceptor as pr
from preceptor.data.log import Log
from preceptor.errors import InvalidInput
from preceptor.learners.learner_estimator import LearnerEstimator, fit_learner
from preceptor.learners.verdict import kinds_in_words
from preceptor.people.crowd import Crowd
from tests.learners.playing import WORLD, played, someone


def log_of(records):
    parts = {name: [] for name in ("who", "rounds", "shown", "values", "answers", "outcomes")}
    for name, record in records.items():
        parts["who"] += [name] * record.rounds
        parts["rounds"] += list(range(record.rounds))
        parts["shown"].append(record.shown)
        parts["values"].append(np.where(record.shown, record.values, np.nan))
        parts["answers"].append(record.answers)
        parts["outcomes"].append(np.where(record.told, record.outcomes, np.nan))
    arrays = [np.concatenate(parts[name]) for name in ("shown", "values", "answers", "outcomes")]
    return Log(WORLD.labels, parts["who"], parts["rounds"], *arrays)


def with_answers(log, answers):
    return Log(log.names, log.participant, log.rounds, log.shown, log.values, answers, log.outcome)


@pytest.fixture(scope="module")
def fitted():
    people = {
        f"p{i}": played(WORLD, someone(WORLD, "by outcomes", i, rate=0.1, kappa=1.0), 90, i)
        for i in range(4)
    }
    return fit_learner(WORLD, log_of(people), imputation=1.0)


def test_kinds_of_everybody(fitted):
    groups = fitted.kinds_.groups
    assert max(groups, key=lambda name: groups[name].mean) == "by outcomes"
    assert set(fitted.people_kinds_) == {"p0", "p1", "p2", "p3"}
    assert isinstance(fitted.person_, Crowd)
    assert not fitted.refusal_
    assert list(fitted.kinds_.dials) == [1.0]


def test_the_summary_says_it(fitted):
    said = fitted.summary()
    assert "How common each way of learning is" in said
    assert "Plan for a person who learns like one of these" in said
    # One model, and so one set of numbers.
    assert "curve" not in said
    assert "none of these" in said


def test_kinds_that_are_not_planned_for_are_named_with_their_shares(fitted):
    found, who = fitted.kinds_, fitted.verdict_
    more = {"none, knowing correlations": 0.03, "folding": 0.011, "indirect": 0.001}
    rest = {name: 0.958 * share for name, share in who.shares.items()}
    said = " ".join(kinds_in_words(found, dataclasses.replace(who, shares=rest | more)))
    assert "Left out, 0.04 together" in said
    assert "not learning, knowing correlations (0.03); folding (0.01)." in said
    assert "indirect" not in said
    assert "Left out" not in " ".join(kinds_in_words(found, who))
    written = fitted.to_dict()["shares"]
    assert set(written["people"]) == {"p0", "p1", "p2", "p3"}
    assert set(fitted.person_.names) <= set(written["everybody"])


def test_of_one_person_the_answer_is_about_that_person():
    record = played(WORLD, someone(WORLD, "by outcomes", 2, rate=0.1, kappa=1.0), 60, 5)
    fitted = fit_learner(WORLD, log_of({"ann": record}))
    said = fitted.summary()
    assert "How likely each way of learning is" in said
    assert any("60 told rounds" in doubt for doubt in fitted.verdict_.doubts)


def test_a_refusal_is_said():
    record = played(WORLD, pr.NoLearning([0.5, 0.2, 0.1]), 40, 1, told=0.0)
    fitted = fit_learner(WORLD, log_of({"ann": record}))
    assert fitted.person_ is None
    assert "told in 0 rounds" in fitted.refusal_
    assert "no person to plan for" in fitted.summary()


def test_an_unknown_way_to_answer_is_refused():
    record = played(WORLD, pr.NoLearning([0.5, 0.2, 0.1]), 40, 1)
    with pytest.raises(InvalidInput, match="answers"):
        LearnerEstimator(WORLD, answers="poisson").fit(log_of({"ann": record}))


def test_an_absurd_answer_is_named_by_its_row():
    log = log_of({"ann": played(WORLD, someone(WORLD, "by outcomes", 2), 40, 5)})
    answers = np.array(log.prediction)
    answers[5] = 1e12
    spoiled = with_answers(log, answers)
    doubts = fit_learner(WORLD, spoiled).doubts_
    assert f"{log.participant[5]}, round {log.rounds[5]}" in doubts[0]
    assert "1e+12" in doubts[0]


def test_answers_in_other_units_are_hinted_at():
    record = played(WORLD, someone(WORLD, "by outcomes", 2), 60, 5)
    log = log_of({"ann": record})
    rng = np.random.default_rng(0)
    wild = 500.0 * rng.standard_normal(len(log))
    found = fit_learner(WORLD, with_answers(log, wild)).verdict_
    said = found.refusal + " ".join(found.doubts)
    assert "perhaps they are in other units" in said
