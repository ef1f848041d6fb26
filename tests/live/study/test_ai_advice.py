"""Advice on the page of a case, as an arm has it: what it says, and that it is kept."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import preceptor as pr
from preceptor.errors import InvalidInput
from preceptor.live.ai_advice import WrongWeight, ai_advice
from preceptor.live.bots import StudyBots
from preceptor.live.study.arms import make_arms
from preceptor.live.study.opening import doubts
from preceptor.live.study.registration import freeze, markdown
from tests.live.service.servers import WORLD, small_problem
from tests.live.study.opened import SMALL, small_study
from tests.live.study.psych_ds import psych_ds_faults
from tests.live.study.test_export import rows

SHOWN, RESULTS = (0, 2), (0.7, -1.2)


def arms(*kinds: str) -> list[dict[str, object]]:
    return [
        {"name": kind, "policy": "best fixed", "advice": kind, "time_limit": 0.2} for kind in kinds
    ]


def study_with(*kinds: str, **changes: object):
    compare = {"compare": [*kinds[:2]], **dict(changes.pop("analysis", {}))}
    return small_study(arm=arms(*kinds), analysis=compare, **changes)


def test_a_prediction_is_the_regression_on_what_is_shown():
    rng = np.random.default_rng(1)
    tests = rng.multivariate_normal(np.zeros(WORLD.size), WORLD.covariance, 200_000)
    outcomes = tests @ WORLD.coefficients
    fitted = np.linalg.lstsq(tests[:, SHOWN], outcomes, rcond=None)[0]
    said = ai_advice(WORLD, "prediction", SHOWN, RESULTS, None)
    assert said["value"] == pytest.approx(float(fitted @ RESULTS), abs=0.02)


def test_a_chance_is_a_share_of_cases():
    world = pr.World(
        WORLD.coefficients, WORLD.covariance, names=WORLD.names, outcome=pr.Binary(0.4)
    )
    said = ai_advice(world, "prediction", SHOWN, RESULTS, None)
    # Given what is shown, hidden tests are normal; the rest is the link.
    shown, hidden = list(SHOWN), [i for i in range(world.size) if i not in SHOWN]
    across = world.covariance[np.ix_(hidden, shown)]
    towards = across @ np.linalg.inv(world.covariance[np.ix_(shown, shown)])
    left = world.covariance[np.ix_(hidden, hidden)] - towards @ across.T
    rng = np.random.default_rng(2)
    drawn = rng.multivariate_normal(towards @ RESULTS, left, 200_000)
    scores = world.base_score + np.dot(RESULTS, world.coefficients[shown])
    scores = scores + drawn @ world.coefficients[hidden]
    chances = world.outcome.from_score.mean_probability(scores, np.zeros(scores.shape))
    assert said["value"] == pytest.approx(float(chances.mean()), abs=0.005)


def test_weights_are_for_one_unit_more():
    problem = small_problem().to_dict()
    size = WORLD.size
    problem["world"]["units"] = {"means": [50.0] * size, "scales": [4.0] * size}
    world = pr.Problem.from_dict(problem).world
    said = ai_advice(world, "weights", SHOWN, (50.0, 50.0), None)
    assert said["weights"] == {
        WORLD.labels[i]: pytest.approx(WORLD.coefficients[i] / 4.0) for i in SHOWN
    }


def test_a_contrast_is_about_a_test_that_is_shown():
    wrong = [WrongWeight(WORLD.labels[1], 0.1), WrongWeight(WORLD.labels[2], 0.43)]
    said = ai_advice(WORLD, "contrast", SHOWN, RESULTS, wrong)
    assert said == {"kind": "contrast", "test": WORLD.labels[2], "share": 0.43}
    assert ai_advice(WORLD, "contrast", SHOWN, RESULTS, wrong[:1]) is None
    assert ai_advice(WORLD, "none", SHOWN, RESULTS, wrong) is None


def test_pages_say_it_in_training_only_and_the_export_has_it(site, registered, exported, somebody):
    kinds = ("prediction", "weights", "none")
    study = registered(arm=arms(*kinds), analysis={"compare": ["prediction", "weights"]})
    seen = {}
    for _ in kinds:
        who = somebody(study.id).join().until("Case 1 of 1")
        assert "The assistant says" not in who.text
        who.until("Case 1 of 3")
        found = re.findall(r'id="advice">.*?</div>', who.text, re.DOTALL)
        text = re.sub(r"<[^>]+>", "", found[0]) if found else ""
        seen["weights" if " more of " in text else "prediction" if text else "none"] = text
    assert seen.keys() == {*kinds}
    assert "It expects " in seen["prediction"]
    assert all(StudyBots(f"{site.address}/s/{study.id}", 3).play().finished)
    folder = exported(study, kind="bot")
    assert psych_ds_faults(folder) == []
    played = rows(next((folder / "data").glob("*training*")))
    assert {(row["arm"], row["advice"]) for row in played} == {(kind, kind) for kind in kinds}
    for row in played:
        if row["advice"] == "prediction":
            given = [float(value) for value in row["values"].split(";")]
            shown = study.columns(row["shown"].split(";"))
            assert json.loads(row["advice_content"]) == {
                "value": ai_advice(study.problem.world, "prediction", shown, given, None)["value"]
            }
    tested = rows(next((folder / "data").glob("*test1*")))
    assert {row["advice"] for row in tested} == {"none"}


def test_contrasts_come_after_enough_answers(site, registered, exported):
    blocks = [block for block in SMALL["block"] if block["kind"] in ("consent", "debrief")]
    blocks[1:1] = [{"kind": "training", "rounds": 14}]
    study = registered(
        arm=arms("contrast"), block=blocks,
        analysis={"compare": ["contrast"], "measure": "training error"},
    )  # fmt: skip
    bots = StudyBots(f"{site.address}/s/{study.id}", 2, pr.NoLearning([0.0] * WORLD.size))
    assert all(bots.play().finished)
    played = rows(next((exported(study, kind="bot") / "data").glob("*training*")))
    said = {int(row["round"]): row["advice_content"] for row in played}
    assert all(not said[number] for number in range(1, 11))
    # They give no test any weight, of which a few answers tell most.
    assert all(json.loads(said[number])["share"] < 0.5 for number in range(11, 15))


def test_what_advice_cannot_be_about():
    world = pr.World(WORLD.coefficients, WORLD.covariance, outcome=pr.Binary(0.4))
    problem = pr.Problem(world, small_problem().learner, 2, horizon=8, risk=pr.Brier()).to_dict()
    only = {"block": [{"kind": "training", "rounds": 3}], "analysis": {"measure": "training error"}}
    with pytest.raises(InvalidInput, match="the outcome is yes or no"):
        study_with("weights", problem=problem, tests={}, outcome={"unit": ""}, **only)


def test_the_registration_and_the_doubts_say_so():
    study = study_with("none", "prediction")
    made = make_arms(study)
    text = markdown(freeze(study, made))
    assert "shows the best single set in every round; says what it predicts" in text
    found = list(doubts(study, made))
    assert any("do not heed the advice of prediction" in each for each in found)
    assert not any("there is no contrast" in each for each in found)
